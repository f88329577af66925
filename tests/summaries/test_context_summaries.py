"""Chunks that are embedded with the summary of their page."""

import pytest

from core.exceptions import StrataError
from documents.models import Artifact
from indexing.estimates import estimate_build
from indexing.exceptions import InvalidSpec
from indexing.lifecycle import apply_spec
from indexing.models import IndexBuild, Node
from indexing.services import load_specs
from indexing.spec import parse_spec
from language_models.exceptions import LanguageModelUnavailable
from summaries.models import Summary
from summaries.services import edit_summary
from tests.factories import give, sync
from tests.summaries.conftest import nodes_of, write_all

SPEC = "page_summaries: true\nchunks: {context: [title, heading, summary]}\n"
PARAGRAPH = "Herons stand in the shallows and wait for fish. "
LONG = PARAGRAPH * 300  # its contexts are added as vectors
SUMMARY = f"About: {PARAGRAPH[:40]}"


@pytest.fixture
def build(wide, settings) -> IndexBuild:
    (settings.STRATA_SPECS_DIR / "summed.yaml").write_text(SPEC)
    load_specs()
    return IndexBuild.objects.live().get(index="summed")


def add(text: str = LONG) -> Artifact:
    return give(text, index="summed", title="Birds")


def contexts() -> set[str]:
    return set(Node.objects.filter(kind="chunk").values_list("context", flat=True))


class TestContextSummaries:
    def test_stand_last_in_the_context_once_they_are_written(self, build, writer):
        artifact = add()
        sync(build, artifact)
        before = set(nodes_of(build, "chunk").values_list("point_id", flat=True))
        assert contexts() == {"Birds"}  # searchable, although the summary is not written yet

        write_all(build, artifact)

        assert contexts() == {f"Birds\n{SUMMARY}"}
        assert before == set(nodes_of(build, "chunk").values_list("point_id", flat=True))

    def test_are_embedded_without_the_chunks_in_a_long_document(self, build, writer, embedder):
        artifact = add()
        sync(build, artifact)
        embedder.embedded.clear()

        write_all(build, artifact)

        chunks = set(nodes_of(build, "chunk").values_list("text", flat=True))
        assert SUMMARY in embedder.embedded
        assert chunks.isdisjoint(embedder.embedded)

    def test_are_left_out_if_rules_wrote_them(self, build):
        write_all(build, add())

        assert Summary.objects.of_pages().not_empty().exists()
        assert contexts() == {"Birds"}

    def test_follow_an_edit_by_hand(self, build, writer):
        artifact = add("Herons wait.")
        write_all(build, artifact)
        page = artifact.pages.get()

        edit_summary(artifact.pk, page.pk, "It is\nabout birds.")
        write_all(build, artifact)

        assert contexts() == {"Birds\nIt is about birds."}

    def test_of_an_earlier_text_are_left_out(self, build, writer):
        artifact = add("Herons wait.")
        write_all(build, artifact)
        page = artifact.pages.get()
        page.text = "Gulls cry."
        page.save()
        writer.outage = LanguageModelUnavailable("It is away.")

        with pytest.raises(StrataError):
            write_all(build, artifact)
        sync(build, artifact)

        assert contexts() == {"Birds"}

    def test_are_left_out_where_the_chunk_would_not_fit_the_window(self, build, writer, settings):
        (settings.STRATA_SPECS_DIR / "summed.yaml").write_text(f"{SPEC}embedding: {{window: 16}}\n")
        load_specs()
        begun = apply_spec("summed")

        write_all(begun, add("One heron stands and waits there for fish all day."))

        assert {node.context for node in nodes_of(begun, "chunk")} == {"Birds"}


def test_need_page_summaries():
    with pytest.raises(InvalidSpec, match="page_summaries must be switched on"):
        parse_spec("summed", SPEC.replace("true", "false"))


class TestEstimate:
    @pytest.fixture(autouse=True)
    def without_context(self, wide, settings, writer):
        settings.STRATA_LLM_BASE_URL, settings.STRATA_LLM_MODEL = "http://127.0.0.1:9/v1", "m"
        path = settings.STRATA_SPECS_DIR / "summed.yaml"
        path.write_text(SPEC.replace(", summary", ""))
        load_specs()
        write_all(IndexBuild.objects.live().get(index="summed"), add("Herons wait."), add())
        path.write_text(SPEC)

    def test_counts_chunks_of_short_documents_as_embedded_again(self, embedder):
        chunk = estimate_build("summed").kinds["chunk"]

        assert chunk.reembedded == 1
        assert chunk.kept == Node.objects.filter(kind="chunk").count() - 1
        [without_summary] = embedder.count_tokens(["Birds\nHerons wait."])
        assert chunk.tokens > without_summary

    def test_counts_the_calls_for_summaries(self):
        estimate = estimate_build("summed")

        assert estimate.kinds["page_summary"].calls == 2
        assert estimate.changes == ["chunks.context: [title, heading] -> [title, heading, summary]"]
