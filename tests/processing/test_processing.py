"""A file is processed stage by stage, edited between stages, and added to an index."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from core import api_client
from core.exceptions import StrataError
from core.text import clean_text, hash_text
from documents.models import Artifact, Source
from documents.parsing import ParsedPage
from documents.parsing.document import clean_label
from documents.reading import parse_artifact
from documents.services import TextContent, add_artifact, update_artifact
from indexing import services as indexing
from indexing.models import IndexBuild, Node
from indexing.verification import verify_build
from language_models import llm
from language_models.exceptions import LanguageModelCost
from processing import stages
from processing.chunks import CHUNKS_FILE_NAME
from processing.folder import MANIFEST_FILE_NAME
from processing.management.commands import process as command
from processing.pages import PARSED_FILE_NAME, format_pages, read_pages
from processing.stages import FileInspection
from summaries import services
from summaries.models import Annotation
from summaries.writers import AnnotationDraft, DraftOutcome, Outcome
from tests.clients import RecordingServer
from tests.factories import load_index, original_path
from tests.faults.armed import ArmedService, armed
from tests.indexed import list_unplanned, list_unwritten
from tests.serving import Service

KNEE = """\
# Knee rehabilitation

Straight leg raises keep the quadriceps awake. The brace stays on at night.

# Page 7 of the leaflet

Tennis elbow is a degeneration of the wrist extensors. Load them slowly and heavily.
"""
# Enough sentences for several chunks; some are equal.
LONG = "\n\n".join(
    f"Paragraph {n % 5}. The nordic curl loads the hamstrings eccentrically, and the calf raise "
    "loads the calves. Lower yourself as slowly as you can, in three sets of six repetitions. "
    "Pain above four of ten means stop, rest for a day, and begin again with half of the load."
    for n in range(8)
)


class ScriptedWriter:
    """Writes one question per chunk, or returns the error scripted for its text."""

    def __init__(self, **errors: StrataError) -> None:
        self.errors = errors
        self.asked: list[str] = []

    def annotate(self, inputs: Any, spec: Any) -> Iterator[DraftOutcome]:
        for key, given_ in inputs.items():
            self.asked.append(given_.text)
            error = next((e for word, e in self.errors.items() if word in given_.text), None)
            draft = AnnotationDraft(
                ["What then?"], "In short.", {}, "some-model", dropped_value_count=2
            )
            cost = LanguageModelCost(call_count=1, prompt_tokens=10, completion_tokens=5)
            yield Outcome(key, None if error else draft, error, cost)


@pytest.fixture
def physio(build) -> IndexBuild:
    """The empty live build of the physiotherapy index."""
    return load_index("physio")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "knee.md"
    path.write_text(KNEE, encoding="utf-8")
    return path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> RecordingServer:
    """A fake running server, which does not sync, and for which no command waits."""
    fake = RecordingServer()
    monkeypatch.setattr(api_client, "find_server", lambda: fake)
    monkeypatch.setattr(command, "wait_for_artifacts", lambda *of: fake.awaited.append(of))
    return fake


def process(file: Path, out: Path, *flags: str, index: str = "physio") -> None:
    call_command("process", str(file), "--index", index, "--out", str(out), *flags)


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def edit(out: Path, change: Any) -> None:
    """Change the objects of ``chunks.json`` by hand."""
    chunks = load(out / CHUNKS_FILE_NAME)
    chunks = change(chunks) or chunks
    text = json.dumps(chunks, indent=2, ensure_ascii=False)
    (out / CHUNKS_FILE_NAME).write_text(text, encoding="utf-8")


def line_of(out: Path, part: str) -> int:
    lines = (out / CHUNKS_FILE_NAME).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, start=1) if part in line)


def sync(build: IndexBuild) -> None:
    while indexing.sync_nodes(build):
        pass


def questions_in(build: IndexBuild) -> set[str]:
    nodes = Node.objects.filter(build=build, kind="question")
    return set(nodes.exclude(state=Node.State.DELETING).values_list("text", flat=True))


LABELS = st.text(max_size=30).map(clean_label)
HARD_TEXTS = st.lists(
    st.sampled_from(
        ["# Page 1", "# Page 2: x", "\\# Page 1", "\\\\# Page 3", "# Page", "a", "", " ", "\r",
         "\u2028", "\x0c", "#", "# Page 1 of 2", "ü", "```"]
    )
).map("\n".join)  # fmt: skip
TEXTS = st.one_of(HARD_TEXTS, st.text(max_size=60)).map(clean_text)
PAGES = st.lists(st.builds(ParsedPage, text=TEXTS, label=LABELS), max_size=5)


class TestReadPages:
    @given(PAGES)
    def test_returns_the_formatted_pages(self, pages):
        text = format_pages(pages)

        assert read_pages(text) == pages

    def test_reads_markdown_with_a_heading_for_each_page(self):
        pages = [ParsedPage("Rest.\n# Page 3\nIce.", "Slide 1"), ParsedPage("")]

        text = format_pages(pages)

        assert text == "# Page 1: Slide 1\n\nRest.\n\\# Page 3\nIce.\n\n# Page 2\n\n\n"

    def test_accepts_pages_without_blank_lines(self):
        assert read_pages("# Page 1:  Ice \nRest.\n# Page 2\nMove.") == [
            ParsedPage("Rest.", "Ice"),
            ParsedPage("Move."),
        ]

    def test_accepts_windows_line_endings(self):
        pages = [ParsedPage("Rest.\n\nIce."), ParsedPage("Move.")]

        assert read_pages(format_pages(pages).replace("\n", "\r\n")) == pages

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (
                "# Page 1\n\nRest.\n\n# Page 3\n\nIce.\n",
                "line 5: the heading says page 3 instead of page 2",
            ),
            ("# Page 1\n\n# Page 1\n", "line 3: the heading says page 1 instead of page 2"),
            ("\n\nRest.\n\n# Page 1\n", "line 3: the text comes before the first page"),
            ("Rest.", "line 1: the text comes before the first page"),
        ],
    )
    def test_names_the_line_of_a_page_out_of_order(self, text, said):
        with pytest.raises(StrataError, match=said):
            read_pages(text)


class TestParse:
    def test_writes_only_the_text_and_the_manifest(self, physio, file, out):
        process(file, out, "--parse-only")

        assert sorted(path.name for path in out.iterdir()) == [MANIFEST_FILE_NAME, PARSED_FILE_NAME]
        assert [page.label for page in read_pages((out / PARSED_FILE_NAME).read_text())] == [
            "Knee rehabilitation",
            "Page 7 of the leaflet",
        ]
        assert not Artifact.objects.exists()

    def test_describes_the_file_in_the_manifest(self, physio, file, out):
        process(file, out, "--parse-only")

        manifest = load(out / MANIFEST_FILE_NAME)
        assert manifest["file"] == {
            "name": "knee.md",
            "byte_count": file.stat().st_size,
            "sha256": hash_text(KNEE),
        }
        assert manifest["index"] == "physio"
        assert manifest["spec_fingerprint"] == physio.fingerprint
        assert manifest["embedding_model"] == physio.spec.embedding.model
        assert manifest["document"]["title"] == ""  # the file has several top headings
        assert manifest["files"][PARSED_FILE_NAME]["sha256"] == hash_text(
            (out / PARSED_FILE_NAME).read_text()
        )
        assert (manifest["counts"]["pages"], manifest["counts"]["sources"]) == (2, 2)
        assert manifest["seconds"]["parse"] >= 0

    def test_writes_the_same_bytes_when_run_again(self, physio, file, out):
        process(file, out, "--parse-only")
        before = (out / PARSED_FILE_NAME).read_bytes()

        process(file, out, "--parse-only")

        assert (out / PARSED_FILE_NAME).read_bytes() == before

    def test_never_overwrites_edited_text(self, physio, file, out):
        process(file, out, "--parse-only")
        (out / PARSED_FILE_NAME).write_text("# Page 1\n\nBetter.\n")

        with pytest.raises(CommandError, match="edited by hand"):
            process(file, out, "--parse-only")

        assert (out / PARSED_FILE_NAME).read_text() == "# Page 1\n\nBetter.\n"

    def test_prints_and_stores_warnings(self, physio, tmp_path, out, capsys):
        file = tmp_path / "blank.txt"
        file.write_text(" \n")

        process(file, out, "--parse-only")

        assert "no_text" in capsys.readouterr().err
        assert "no_text" in load(out / MANIFEST_FILE_NAME)["warnings"]["parse"][0]


class TestCut:
    def test_leaves_summaries_and_questions_empty(self, physio, file, out):
        process(file, out, "--chunk-only")

        chunks = load(out / CHUNKS_FILE_NAME)
        assert [chunk["page_index"] for chunk in chunks] == [0, 1]
        for chunk in chunks:
            assert (chunk["hypothetical_questions"], chunk["summary"]) == ([], "")
            assert (chunk["muscle_groups"], chunk["content_type"]) == ([], None)
        assert load(out / MANIFEST_FILE_NAME)["writer"] is None
        assert not Artifact.objects.exists()

    def test_has_every_key_in_its_order(self, physio, file, out):
        process(file, out, "--chunk-only")

        assert list(load(out / CHUNKS_FILE_NAME)[0]) == [
            "chunk_id", "text", "muscle_groups", "content_type", "conditions", "exercises",
            "hypothetical_questions", "summary", "page_index", "source_ordinal", "start_offset",
            "end_offset", "strategy", "chunk_index", "heading",
        ]  # fmt: skip

    def test_splits_the_edited_text_with_a_warning(self, physio, file, out, monkeypatch):
        process(file, out, "--parse-only")
        monkeypatch.setattr(stages, "parse_file", None)  # not read again
        text = (out / PARSED_FILE_NAME).read_text().replace("at night", "all day")
        (out / PARSED_FILE_NAME).write_text(text)

        process(file, out, "--chunk-only")

        assert "stays on all day" in load(out / CHUNKS_FILE_NAME)[0]["text"]
        kept = load(out / MANIFEST_FILE_NAME)["files"][PARSED_FILE_NAME]
        assert kept["edited_sha256"] == hash_text(text) != kept["sha256"]
        assert "edited by hand" in load(out / MANIFEST_FILE_NAME)["warnings"]["cut"][0]

    @pytest.mark.parametrize("overlap", [0, 30])
    def test_uses_the_chunk_and_source_ids_of_the_index(
        self, physio, tmp_path, out, settings, overlap
    ):
        settings.STRATA_SOURCE_OVERLAP_WORDS = overlap
        file = tmp_path / "long.txt"
        file.write_text("\n\n".join([LONG] * 5))
        path = tmp_path / "copy"
        path.write_bytes(file.read_bytes())
        content = stages.save_incoming_file(file.name, [file.read_bytes()])
        artifact, _ = add_artifact("physio", content)
        parse_artifact(artifact.pk)
        services.plan_written_texts(artifact.pk, physio)

        process(file, out, "--chunk-only")

        rows = Annotation.objects.order_by("source__ordinal", "chunk_index")
        assert [
            (chunk["chunk_id"], chunk["start_offset"], chunk["heading"])
            for chunk in load(out / CHUNKS_FILE_NAME)
        ] == [(str(row.chunk_id), row.start_offset, row.heading) for row in rows]
        assert rows.count() > 3

    def test_parses_a_changed_file_again(self, physio, file, out):
        process(file, out, "--chunk-only")
        file.write_text("Only the calf raise is left.")

        process(file, out, "--chunk-only")

        assert [chunk["text"] for chunk in load(out / CHUNKS_FILE_NAME)] == [
            "Only the calf raise is left."
        ]

    def test_keeps_edited_text_of_a_changed_file(self, physio, file, out):
        process(file, out, "--parse-only")
        (out / PARSED_FILE_NAME).write_text("# Page 1\n\nBetter.\n")
        file.write_text("Only the calf raise is left.")

        with pytest.raises(CommandError, match="content differs from that of knee"):
            process(file, out, "--chunk-only")

        assert (out / PARSED_FILE_NAME).read_text() == "# Page 1\n\nBetter.\n"

    def test_never_overwrites_edited_questions(self, physio, file, out):
        process(file, out)
        edit(out, lambda chunks: chunks[:1])

        for flags in (["--chunk-only"], []):
            with pytest.raises(CommandError, match="edited by hand"):
                process(file, out, *flags)

        assert len(load(out / CHUNKS_FILE_NAME)) == 1


class TestWrite:
    def test_writes_summaries_and_fields_but_no_questions_by_rules(self, physio, file, out):
        process(file, out)

        first, second = load(out / CHUNKS_FILE_NAME)
        assert first["hypothetical_questions"] == second["hypothetical_questions"] == []
        assert first["muscle_groups"] == ["quads"]
        assert second["conditions"] == ["tennis elbow"]
        assert second["summary"]
        assert load(out / MANIFEST_FILE_NAME)["writer"] == {
            "model_name": "extractive",
            "prompt": None,
            "prompt_fingerprint": None,
        }

    def test_does_not_change_the_index_or_the_ledger(self, physio, file, out, embedder):
        process(file, out)

        assert not Artifact.objects.exists()
        assert not Annotation.objects.exists()
        assert not Node.objects.exists()

    def test_writes_the_same_bytes_when_run_again(self, physio, file, out):
        process(file, out)
        before = (out / CHUNKS_FILE_NAME).read_bytes()

        process(file, out)

        assert (out / CHUNKS_FILE_NAME).read_bytes() == before

    def test_stores_the_cost_of_the_language_model(self, physio, file, out, monkeypatch):
        monkeypatch.setattr(stages, "get_writer", ScriptedWriter)

        process(file, out)

        manifest = load(out / MANIFEST_FILE_NAME)
        assert manifest["cost"] == {
            "calls": 2, "reused": 0, "failures": 0, "prompt_tokens": 20, "completion_tokens": 10,
        }  # fmt: skip
        assert manifest["counts"]["dropped_values"] == 4
        assert manifest["counts"]["questions"] == 2
        assert manifest["writer"]["model_name"] == "some-model"
        assert manifest["writer"]["prompt"] == "questions"
        assert len(manifest["writer"]["prompt_fingerprint"]) == 64

    def test_continues_if_the_model_refuses_one_chunk(self, physio, file, out, monkeypatch):
        class Refusal(StrataError):
            """The model refuses."""

        writer = ScriptedWriter(elbow=Refusal())
        monkeypatch.setattr(stages, "get_writer", lambda: writer)

        process(file, out)

        assert [len(chunk["hypothetical_questions"]) for chunk in load(out / CHUNKS_FILE_NAME)] == [
            1,
            0,
        ]
        assert "The model refuses." in load(out / MANIFEST_FILE_NAME)["warnings"]["write"][0]

    def test_writes_nothing_if_the_model_is_unavailable(self, physio, file, out, monkeypatch):
        class Outage(StrataError):
            """The model does not respond."""

            is_retryable = True

        monkeypatch.setattr(stages, "get_writer", lambda: ScriptedWriter(elbow=Outage()))

        with pytest.raises(CommandError, match="The model does not respond"):
            process(file, out)

        assert not (out / CHUNKS_FILE_NAME).exists()


@pytest.mark.usefixtures("server")
class TestEmbed:
    def test_embeds_the_questions_of_the_file(self, physio, file, out, monkeypatch):
        monkeypatch.setattr(stages, "get_writer", ScriptedWriter)
        process(file, out)

        process(file, out, "--embed")
        sync(physio)

        written = {
            q for chunk in load(out / CHUNKS_FILE_NAME) for q in chunk["hypothetical_questions"]
        }
        assert questions_in(physio) == written
        assert verify_build(physio).is_sound
        assert not list_unwritten(physio)
        assert not list_unplanned(physio)
        assert {row.model_name for row in Annotation.objects.all()} == {"some-model"}

    def test_runs_the_missing_stages_first(self, physio, file, out):
        process(file, out, "--embed")

        assert (out / CHUNKS_FILE_NAME).exists()
        artifact = Artifact.objects.get()
        assert (artifact.state, artifact.title) == ("parsed", "knee")
        assert original_path(artifact).read_text() == KNEE
        assert load(out / MANIFEST_FILE_NAME)["embedded"]["artifact_id"] == str(artifact.pk)

    def test_notifies_a_running_server_and_waits_for_it(self, physio, file, out, server, capsys):
        process(file, out, "--embed")

        pk = Artifact.objects.get().pk
        assert server.asked == ["POST reconcile/"]
        assert server.awaited == [("physio", {pk})]
        assert f"as artifact {pk}" in capsys.readouterr().out

    def test_embeds_edited_questions_and_fields(self, physio, file, out):
        process(file, out)

        def ask_otherwise(chunks):
            chunks[0] |= {"hypothetical_questions": ["Brace at night?"], "muscle_groups": ["Core"]}

        edit(out, ask_otherwise)
        process(file, out, "--embed")

        row = Annotation.objects.get(questions=["Brace at night?"])
        assert (row.model_name, row.is_by_hand, row.state) == ("by hand", True, "written")
        assert row.fields["muscle_groups"] == ["core"]
        assert "Brace at night?" in questions_in(physio)

    def test_does_not_replace_the_pages_of_a_held_document(self, physio, file, out):
        process(file, out, "--embed")
        artifact = Artifact.objects.get()
        before = list(artifact.pages.values_list("text", flat=True))
        update_artifact(artifact.pk, is_held=True)
        (out / CHUNKS_FILE_NAME).unlink()
        parsed = out / PARSED_FILE_NAME
        parsed.write_text(parsed.read_text().replace("at night", "all day"))

        with pytest.raises(CommandError, match="legal hold"):
            process(file, out, "--embed")

        assert list(artifact.pages.values_list("text", flat=True)) == before

    def test_is_not_undone_by_later_planning(self, physio, file, out):
        process(file, out)
        edit(out, lambda chunks: chunks[1:])  # removes the only chunk of the first source
        process(file, out, "--embed")
        before = list(Annotation.objects.order_by("pk").values())

        services.plan_written_texts(Artifact.objects.get().pk, physio)

        assert list(Annotation.objects.order_by("pk").values()) == before
        assert not services.has_claimable_texts(physio)
        assert not list_unwritten(physio)

    def test_deletes_chunks_that_were_removed_from_the_file(self, physio, file, out):
        process(file, out, "--embed")
        sync(physio)
        edit(out, lambda chunks: chunks[1:])

        process(file, out, "--embed")
        sync(physio)

        [kept] = load(out / CHUNKS_FILE_NAME)
        assert questions_in(physio) == {kept["text"]}  # it has no questions
        assert verify_build(physio).is_sound

    def test_changes_nothing_when_run_again(self, physio, file, out, embedder):
        process(file, out, "--embed")
        sync(physio)
        embedded = len(embedder.embedded)
        revision = Artifact.objects.get().revision

        process(file, out, "--embed")
        sync(physio)

        assert len(embedder.embedded) == embedded
        assert Artifact.objects.get().revision == revision
        assert not Node.objects.exclude(state=Node.State.SYNCED).exists()

    def test_embeds_the_edited_text(self, physio, file, out):
        process(file, out, "--parse-only")
        text = (out / PARSED_FILE_NAME).read_text().replace("at night", "all day")
        (out / PARSED_FILE_NAME).write_text(text)

        process(file, out, "--embed")

        assert "stays on all day" in Source.objects.get(ordinal=0).text
        assert Annotation.objects.filter(text__contains="stays on all day").exists()

    def test_replaces_the_text_of_an_existing_document(self, physio, file, out):
        process(file, out, "--embed")
        sync(physio)
        before = Artifact.objects.get().revision
        other = out.with_name("other")
        process(file, other, "--parse-only")
        text = (other / PARSED_FILE_NAME).read_text().replace("at night", "all day")
        (other / PARSED_FILE_NAME).write_text(text)

        process(file, other, "--embed")
        sync(physio)

        artifact = Artifact.objects.get()
        assert artifact.revision > before
        assert "stays on all day" in artifact.sources.get(ordinal=0).text
        assert verify_build(physio).is_sound

    def test_replaces_the_work_of_a_running_writer(self, physio, file, out, embedder):
        content = stages.save_incoming_file(file.name, [file.read_bytes()])
        artifact, _ = add_artifact("physio", content)
        parse_artifact(artifact.pk)
        services.plan_written_texts(artifact.pk, physio)

        process(file, out, "--embed")

        assert Artifact.objects.get() == artifact
        assert {row.state for row in Annotation.objects.all()} == {"written"}
        assert not services.has_claimable_texts(physio)

    def test_keeps_the_ids_of_equal_passages(self, physio, tmp_path, out):
        file = tmp_path / "long.txt"
        file.write_text(LONG)
        process(file, out)
        texts = [chunk["text"] for chunk in load(out / CHUNKS_FILE_NAME)]
        again = next(text for text in texts if texts.count(text) > 1)
        process(file, out, "--embed")
        last = Annotation.objects.filter(text=again).order_by("-start_offset")[0].chunk_id

        def drop_first(chunks):
            chunks.pop(texts.index(again))

        edit(out, drop_first)
        process(file, out, "--embed")

        asked = Annotation.objects.filter(text=again).exclude(model_name="")
        assert asked.order_by("-start_offset")[0].chunk_id == last

    def test_accepts_chunks_of_another_writer(self, physio, file, out):
        process(file, out)
        other = out.with_name("other")
        other.mkdir()
        (other / CHUNKS_FILE_NAME).write_bytes((out / CHUNKS_FILE_NAME).read_bytes())

        process(file, other, "--embed")

        assert {row.model_name for row in Annotation.objects.all()} == {"by hand"}

    def test_refuses_chunks_without_any_question_if_a_model_can_write_them(
        self, physio, file, out, monkeypatch
    ):
        monkeypatch.setattr(llm, "is_configured", lambda: True)
        process(file, out, "--chunk-only")

        with pytest.raises(CommandError, match="holds no question"):
            process(file, out, "--embed")

        assert not Artifact.objects.exists()

    def test_refuses_chunks_of_other_content(self, physio, file, out):
        process(file, out)
        file.write_text("Only the calf raise is left.")

        with pytest.raises(CommandError, match="content differs"):
            process(file, out, "--embed")

        assert not Artifact.objects.exists()

    def test_adds_a_document_without_text(self, physio, tmp_path, out):
        file = tmp_path / "blank.txt"
        file.write_text(" \n")

        process(file, out, "--embed")

        assert Artifact.objects.get().warnings[0]["code"] == "no_text"
        assert not list_unplanned(physio)

    def test_keeps_a_given_title(self, physio, file, out):
        content = stages.save_incoming_file(file.name, [file.read_bytes()])
        add_artifact("physio", content, title="Mine", metadata={"muscle_groups": ["core"]})

        process(file, out, "--embed")

        assert Artifact.objects.get().title == "Mine"
        node = Node.objects.filter(kind="question").first()
        assert "core" in node.details["fields"]["muscle_groups"]

    def test_shows_the_name_of_the_file_where_the_spec_says_so(
        self, physio, file, out, monkeypatch
    ):
        monkeypatch.setattr("core.commands.load_specs", list)
        titled_by_file = physio.spec.model_copy(update={"document_titles": "file"})
        indexing.store_search_settings(physio.index, titled_by_file)

        process(file, out, "--embed")

        assert Artifact.objects.get().title == file.name

    def test_refuses_a_file_that_changes_meanwhile(self, physio, file, out, settings):
        process(file, out)
        inspection = FileInspection.open(file, "physio", out)
        file.write_text("Only the calf raise is left.")

        with pytest.raises(StrataError, match="changed while it was processed"):
            inspection.add_to_index()

        assert not Artifact.objects.exists()
        assert not list(Path(settings.STRATA_FILES_DIR).glob("incoming-*"))


def change(**values: Any) -> Any:
    return lambda chunks: chunks[0].update(values)


def repeat(chunks: list) -> None:
    chunks.append(chunks[0])


@pytest.mark.usefixtures("server")
class TestCheckedChunks:
    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (change(muscle_groups=["core", "elbow"]),
             "muscle_groups: 'elbow' is not an allowed value; allowed: adductors, biceps"),
            (change(muscle_groups="core"), "muscle_groups: .* must be a list"),
            (change(muscle_groups=[7]), "muscle_groups: .* must be of type keyword"),
            (change(content_type=["anatomy"]), "content_type: .* must be of"),
            (change(conditions=[" "]), "conditions: a value is blank"),
            (change(muscles=[]), "muscles: there is no such key; allowed: chunk_id"),
            (change(text="Of whales."), "text: it differs from the document's"),
            (change(start_offset=5), "start_offset: it differs from the document's"),
            (change(heading="Old"), "heading: it differs from the document's"),
            (change(summary=None), "summary: it must be a string"),
            (change(summary="x" * 1001), "it may have at most 1000 characters"),
            (change(hypothetical_questions="Why?"), "a list of strings"),
            (change(hypothetical_questions=["Why?", ""]), "a question is blank"),
            (change(hypothetical_questions=["Why?", 7]), "a list of strings"),
            (change(hypothetical_questions=["y" * 501]), "may have at most 500 characters"),
            (change(hypothetical_questions=[f"{n}?" for n in range(21)]),
             "21 questions; at most 20 are allowed"),
            (repeat, "chunk_id: it is given twice"),
        ],
    )  # fmt: skip
    def test_are_refused_by_id_and_key(self, physio, file, out, change, said):
        process(file, out)
        first = load(out / CHUNKS_FILE_NAME)[0]["chunk_id"]
        edit(out, change)

        with pytest.raises(CommandError, match=f"chunks.json, chunk {first}: .*{said}"):
            process(file, out, "--embed")

        assert not Artifact.objects.exists()

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"[\n{,}\n]", r"chunks.json: The text is not valid JSON: .* \(line 2"),
            (b'{"chunks": []}', "the file must hold a list of objects"),
            (b"[\n  {},\n  7]", "the file must hold a list of objects"),
            (b"[\n  {}]", "object 1: chunk_id: the document has no chunk None"),
            (b'[{"chunk_id": "mine"}]', "object 1: chunk_id: the document has no chunk 'mine'"),
            (b'[{"chunk_id": []}]', r"object 1: chunk_id: the document has no chunk \[\]"),
            (b"[\n\xff]", "line 2: the text is not UTF-8"),
            (b"[" * 100_000, "nested too deeply"),
            (b'[{"chunk_index": NaN}]', "NaN"),
            (b"", "The text is not valid JSON"),
        ],
    )
    def test_are_refused_if_the_file_is_invalid(self, physio, file, out, content, said):
        process(file, out)
        (out / CHUNKS_FILE_NAME).write_bytes(content)

        with pytest.raises(CommandError, match=said):
            process(file, out, "--embed")

    def test_may_contain_characters_that_cannot_be_stored(self, physio, file, out):
        process(file, out)
        edit(out, change(summary="a\x00b", hypothetical_questions=["Why?"]))
        text = (out / CHUNKS_FILE_NAME).read_text().replace("Why?", "Why \\ud800?")
        (out / CHUNKS_FILE_NAME).write_text(text)

        process(file, out, "--embed")

        row = Annotation.objects.get(source__ordinal=0)
        assert (row.summary, row.questions) == ("a\ufffdb", ["Why \ufffd?"])

    def test_may_omit_optional_keys(self, physio, file, out):
        process(file, out)
        edit(out, lambda chunks: [chunk.pop(k) for chunk in chunks for k in (
            "summary", "page_index", "heading", "muscle_groups")] and None)  # fmt: skip

        process(file, out, "--embed")

        assert Annotation.objects.get(source__ordinal=1).heading == "Page 7 of the leaflet"


class TestFolder:
    def test_is_refused_if_it_contains_only_other_files(self, physio, file, out):
        out.mkdir()
        (out / "thesis.tex").write_text("mine")

        with pytest.raises(CommandError, match="holds thesis"):
            process(file, out, "--parse-only")

        assert [path.name for path in out.iterdir()] == ["thesis.tex"]

    def test_keeps_other_files(self, physio, file, out):
        process(file, out, "--parse-only")
        (out / "notes.txt").write_text("mine")

        process(file, out)

        assert (out / "notes.txt").read_text() == "mine"

    @pytest.mark.parametrize("content", ["{}", "[]", "nonsense", '{"file": 1}'])
    def test_is_refused_if_its_manifest_belongs_to_another_program(
        self, physio, file, out, content
    ):
        out.mkdir()
        (out / MANIFEST_FILE_NAME).write_text(content)

        with pytest.raises(CommandError, match="was not written by process"):
            process(file, out)

        assert (out / MANIFEST_FILE_NAME).read_text() == content

    def test_belongs_to_one_index(self, physio, file, out):
        process(file, out)

        with pytest.raises(CommandError, match="was made for the index 'physio'"):
            process(file, out, "--parse-only", index="plain")

    def test_must_not_be_a_file(self, physio, file):
        with pytest.raises(CommandError, match="is not a folder"):
            process(file, file)

    def test_keeps_the_old_file_if_writing_fails(self, physio, file, out, monkeypatch):
        process(file, out)
        before = (out / CHUNKS_FILE_NAME).read_bytes()
        process(file, out, "--parse-only")

        def fail(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.fsync", fail)
        with pytest.raises(CommandError, match="No space left on device"):
            process(file, out, "--chunk-only")

        assert (out / CHUNKS_FILE_NAME).read_bytes() == before
        assert sorted(path.name for path in out.iterdir()) == [
            CHUNKS_FILE_NAME,
            MANIFEST_FILE_NAME,
            PARSED_FILE_NAME,
        ]


class TestAnIndexWithoutQuestions:
    def test_supports_text_and_chunks(self, build, file, out):
        process(file, out, "--parse-only", index="plain")
        process(file, out, "--chunk-only", index="plain")

        assert len(load(out / CHUNKS_FILE_NAME)) == 2

    @pytest.mark.parametrize("flags", [[], ["--embed"]])
    def test_is_refused_for_writing_and_embedding(self, build, file, out, flags):
        with pytest.raises(CommandError, match=r"^plain.yaml has no questions"):
            process(file, out, *flags, index="plain")

        assert not out.exists()


class TestTheCommand:
    @pytest.mark.parametrize(
        ("name", "index", "said"),
        [
            ("nowhere.md", "physio", "nowhere.md does not exist"),
            ("", "physio", "is a folder"),
            ("broken.pdf", "physio", "its content is something else"),
            ("knee.md", "nil", "There is no index named 'nil'. Allowed: "),
        ],
    )
    def test_reports_wrong_files_and_indexes(self, physio, file, tmp_path, out, name, index, said):
        (tmp_path / "broken.pdf").write_text("this is no PDF")

        with pytest.raises(CommandError, match=said):
            process(tmp_path / name, out, index=index)

    def test_refuses_two_stages_at_once(self, physio, file, out):
        with pytest.raises(CommandError, match="not allowed with"):
            process(file, out, "--parse-only", "--embed")

    def test_does_not_load_a_model_for_parsing(self, physio, file, out, embedder):
        FileInspection.open(file, "physio", out).parse()

        assert embedder.embedded == []


def check_embedding(service: Service, file: Path, out: Path) -> None:
    done = service.manage("process", str(file), "--index", "physio", "--out", str(out), "--embed")
    assert done.returncode == 0, done.stderr
    given_ = service.manage("add", str(file), "--index", "physio", "--wait")
    assert "1 unchanged" in given_.stdout, given_.stderr
    assert "1 ready, 0 failed" in given_.stdout
    count = load(out / MANIFEST_FILE_NAME)["counts"]["chunks"]
    said = service.verify("--index", "physio")
    assert f"1 artifacts, {count} nodes (0 failed), {count} points" in said


class TestRealProcesses:
    def test_embed_without_a_running_server(self, tmp_path, file, out):
        data = tmp_path / "data"
        data.mkdir()

        check_embedding(ArmedService(data), file, out)

    def test_embed_beside_a_running_server(self, tmp_path, file, out):
        data = tmp_path / "data"
        data.mkdir()

        with armed(data) as service:
            check_embedding(service, file, out)


def test_an_artifact_without_a_file_is_not_treated_as_the_processed_file(physio, file, out):
    """An artifact without a file is never mistaken for the processed file's artifact."""
    add_artifact("physio", TextContent(("Straight leg raises.",)), title="Knee rehabilitation")

    process(file, out, "--chunk-only")

    assert len(load(out / CHUNKS_FILE_NAME)) == 2
