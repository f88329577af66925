"""Chunks that a language model cuts, with a fake model that finds the sentences of a new topic."""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from pydantic import BaseModel

from documents.index_catalog import get_catalog
from documents.models import Artifact, Source
from documents.serializers import render_artifacts
from documents.services import remove_artifact
from evidence.duplicates import embed_artifact
from indexing.estimates import estimate_build
from indexing.exceptions import InvalidSpec
from indexing.lifecycle import apply_spec, count_missing
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.regeneration import regenerate
from indexing.revisions import is_revision_visible
from indexing.services import DocumentPlanner, load_specs, sync_nodes
from indexing.spec import parse_spec
from indexing.spec.loaded import explain_missing_index, get_invalid_specs
from indexing.verification import verify_build
from language_models import llm
from language_models.exceptions import LanguageModelCost, LanguageModelUnavailable
from language_models.pace import Pace
from retrieval.retrievers import ChunkRetriever
from summaries import services
from summaries.models import Annotation, Segmentation
from summaries.segmenting import SegmentationInput, find_boundaries
from summaries.services.failures import retry_failed_work
from tests.factories import give, sync
from tests.summaries.conftest import nodes_of, write_all

SPEC = "chunks: {strategies: [{name: llm, max_chars: 400}]}\n"
HERONS = " ".join(f"Heron {n} stands in the shallows." for n in range(5))
TRAMS = " ".join(f"Tram {n} runs through the town." for n in range(5))
STONES = " ".join(f"Stone {n} lies on the mountain." for n in range(5))
TEXT = f"{HERONS} {TRAMS} {STONES}"
TOPICS = [HERONS, TRAMS, STONES]
NUMBERED = re.compile(r"^(\d+): (\w+)", re.M)


def find_topics(prompt: str) -> dict[str, Any]:
    """The numbers of the sentences whose first word differs from that of the sentence before."""
    sentences = NUMBERED.findall(prompt)
    pairs = pairwise(sentences)
    return {"starts": [int(number) for (_, before), (number, word) in pairs if word != before]}


class TopicModel:
    """Answers with what ``answer`` makes of the prompt, and is asked again about a fault."""

    name = "topical"
    pace = Pace()  # not measured

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.faults: list[str] = []
        self.answer: Callable[[str], dict[str, Any]] = find_topics
        self.outage: Exception | None = None

    def complete(
        self, system: str, user: str, schema: type[BaseModel], **options: Any
    ) -> llm.Completion:
        if self.outage is not None:
            raise self.outage
        calls = len(self.asked)
        for _ in range(2):
            self.asked.append(user)
            value = schema.model_validate(self.answer(user))
            fault = options["find_fault"](value)
            if fault is None:
                break
            self.faults.append(fault)
        cost = LanguageModelCost(
            call_count=len(self.asked) - calls, prompt_tokens=100, completion_tokens=10
        )
        return llm.Completion(value, self.name, cost)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, settings) -> TopicModel:
    fake = TopicModel()
    settings.STRATA_LLM_BASE_URL, settings.STRATA_LLM_MODEL = "http://127.0.0.1:9/v1", "m"
    monkeypatch.setattr(llm, "get_language_model", lambda name="": fake)
    return fake


@pytest.fixture
def build(model, wide, settings) -> IndexBuild:
    """The empty live build of the index ``cut``, beside another index."""
    return add_index(settings, "cut", SPEC)


def add_index(settings, name: str, text: str) -> IndexBuild:
    (settings.STRATA_SPECS_DIR / f"{name}.yaml").write_text(text)
    load_specs()
    return IndexBuild.objects.live().get(index=name)


def add(text: str = TEXT, index: str = "cut") -> Artifact:
    return give(text, index=index, title="Notes")


def change(artifact: Artifact, text: str) -> None:
    source = artifact.sources.get()
    source.text, source.end = text, source.start + len(text)
    source.save()


def chunks_of(build: IndexBuild) -> list[str]:
    nodes = nodes_of(build, "chunk").filter(state=Node.State.SYNCED)
    return list(nodes.order_by("artifact", "start_offset").values_list("text", flat=True))


def warnings_of(artifact: Artifact) -> list[dict[str, str]]:
    found = get_catalog().with_status(Artifact.objects.filter(pk=artifact.pk))
    warnings: list[dict[str, str]] = render_artifacts(list(found))[0]["warnings"]
    return warnings


def plan_due(build: IndexBuild) -> None:
    planner = DocumentPlanner()
    while planner.plan_next(build):
        pass
    while sync_nodes(build):
        pass


class TestChunks:
    def test_are_cut_at_the_stored_boundaries(self, build, model):
        artifact = add()

        write_all(build, artifact)

        assert chunks_of(build) == TOPICS
        row = Segmentation.objects.get()
        assert row.boundaries == [TEXT.index(TRAMS), TEXT.index(STONES)]
        assert (row.state, row.model_name, row.last_error) == ("written", "topical", "")
        assert len(model.asked) == 1
        assert verify_build(build).is_sound

    def test_are_cut_by_sentences_until_the_model_has_answered(self, build, model):
        artifact = add()
        sync(build, artifact)

        waiting = chunks_of(build)

        assert "".join(waiting).replace(" ", "") == TEXT.replace(" ", "")
        assert waiting != TOPICS
        document = IndexedDocument.objects.get(build=build, artifact=artifact)
        assert (document.state, document.unwritten_kinds) == ("waiting", ["chunk"])
        assert not model.asked
        # Those who wait for their write need not wait for the model.
        assert is_revision_visible("cut", build.pk, ["chunk"], artifact.revision)

    def test_are_not_longer_than_the_limit(self, build, model):
        long = " ".join(f"Heron {n} stands in the shallows." for n in range(60))

        write_all(build, add(f"{long} {TRAMS}"))

        assert all(len(text) <= 400 for text in chunks_of(build))
        assert TRAMS in chunks_of(build)
        assert len(chunks_of(build)) > 3

    def test_of_a_short_source_cost_no_call(self, build, model):
        write_all(build, add(HERONS[:95]))

        assert not model.asked
        assert not Segmentation.objects.exists()
        assert chunks_of(build) == [HERONS[:95]]

    def test_are_found_at_their_offsets(self, build):
        write_all(build, add())

        hits = ChunkRetriever("cut").search("tram through the town").hits

        assert hits[0].payload["text"] == TRAMS
        assert hits[0].verdict == "exact"
        assert hits[0].payload["start_offset"] == TEXT.index(TRAMS)

    def test_are_cut_again_after_an_edit(self, build, model):
        artifact = add()
        write_all(build, artifact)
        before = set(chunks_of(build))

        change(artifact, f"Prelude comes first. {TEXT}")
        services.plan_written_texts(artifact.pk, build)
        sync(build, artifact)

        row = Segmentation.objects.get()
        assert row.state == "due"
        assert "Prelude" in "".join(chunks_of(build))  # by sentences meanwhile
        write_all(build, artifact)
        assert {TRAMS, STONES} <= set(chunks_of(build)) & before
        assert len(model.asked) == 2
        assert verify_build(build).is_sound

    def test_keep_their_boundaries_if_only_the_title_changes(self, build, model):
        artifact = add()
        write_all(build, artifact)

        artifact.title = "Other notes"
        artifact.save()
        write_all(build, artifact)

        assert chunks_of(build) == TOPICS
        assert len(model.asked) == 1

    def test_go_with_their_document(self, build, model):
        artifact = add()
        write_all(build, artifact)

        remove_artifact(artifact.pk)
        plan_due(build)

        assert not Segmentation.objects.exists()
        assert chunks_of(build) == []

    def test_of_two_indexes_are_cut_for_each(self, build, model, settings):
        other = add_index(settings, "other", SPEC.replace("400", "300"))
        plain = add_index(settings, "sentences", "title: By sentences\n")

        for each in (build, other, plain):
            write_all(each, add(index=each.index_id))

        assert chunks_of(build) == chunks_of(other) == TOPICS
        assert chunks_of(plain) != TOPICS
        assert set(Segmentation.objects.values_list("build", flat=True)) == {build.pk, other.pk}

    def test_of_a_new_build_reuse_the_answers(self, build, model, settings):
        artifact = add()
        write_all(build, artifact)
        (settings.STRATA_SPECS_DIR / "cut.yaml").write_text(SPEC + "sparse: {language: none}\n")

        begun = apply_spec("cut")
        sync(begun, artifact)
        assert count_missing(begun) == 1  # it waits for the boundaries
        write_all(begun, artifact)

        assert count_missing(begun) == 0

        assert chunks_of(begun) == TOPICS
        assert len(model.asked) == 1

    def test_are_cut_anew_if_they_are_regenerated(self, build, model):
        artifact = add()
        write_all(build, artifact)
        model.answer = lambda prompt: {"starts": [11]}

        regenerate(["chunk"], index="cut")
        plan_due(build)
        write_all(build, artifact)

        assert chunks_of(build)[-1] == STONES
        assert TRAMS not in chunks_of(build)
        assert len(model.asked) == 2

    def test_are_verified_against_the_boundaries(self, build):
        artifact = add()
        write_all(build, artifact)
        Segmentation.objects.update(boundaries=[TEXT.index(STONES)])

        report = verify_build(build, repair=True)

        assert report.examples["unplanned"] == [str(artifact.pk)]
        while sync_nodes(build):
            pass
        assert TRAMS not in chunks_of(build)
        assert verify_build(build).is_sound

    def test_stay_while_the_model_is_away(self, build, model):
        model.outage = LanguageModelUnavailable("It is away.")
        artifact = add()

        with pytest.raises(LanguageModelUnavailable):
            write_all(build, artifact)
        plan_due(build)

        assert "".join(chunks_of(build)).replace(" ", "") == TEXT.replace(" ", "")
        assert Segmentation.objects.get().attempts == 0


class TestUnusableAnswers:
    @pytest.mark.parametrize(
        "starts",
        [
            pytest.param([11, 6], id="falling"),
            pytest.param([6, 6], id="repeated"),
            pytest.param([6, 99], id="out of range"),
            pytest.param([0, 6], id="zero"),
            pytest.param(list(range(1, 16)), id="every sentence"),
            pytest.param([], id="none of a long text"),
        ],
    )
    def test_are_asked_for_again_and_then_cut_by_sentences(self, build, model, starts):
        model.answer = lambda prompt: {"starts": starts}
        artifact = add()

        write_all(build, artifact)

        assert len(model.asked) == 2
        assert len(model.faults) == 2
        row = Segmentation.objects.get()
        assert (row.state, row.model_name, row.boundaries) == ("written", "extractive", [])
        [warning] = warnings_of(artifact)
        assert warning["code"] == "texts_by_rules"
        assert "Cut by sentences instead" in warning["detail"]
        assert "".join(chunks_of(build)).replace(" ", "") == TEXT.replace(" ", "")
        assert IndexedDocument.objects.get(artifact=artifact).state == "ready"
        assert verify_build(build).is_sound

    def test_can_be_tried_again(self, build, model):
        model.answer = lambda prompt: {"starts": [99]}
        artifact = add()
        write_all(build, artifact)
        model.answer = find_topics

        retried = retry_failed_work(Artifact.objects.filter(pk=artifact.pk), Node.objects.none())
        assert retried.texts == 1
        Segmentation.objects.update(is_cache_bypassed=True)
        write_all(build, artifact)

        assert chunks_of(build) == TOPICS

    def test_leave_what_the_model_wrote_before(self, build, model):
        artifact = add()
        write_all(build, artifact)
        model.answer = lambda prompt: {"starts": [99]}

        regenerate(["chunk"], index="cut")
        plan_due(build)
        write_all(build, artifact)

        assert chunks_of(build) == TOPICS

    def test_may_name_the_first_sentence(self, build, model):
        model.answer = lambda prompt: {"starts": [1, 6, 11]}

        write_all(build, add())

        assert chunks_of(build) == TOPICS

    def test_of_a_model_that_used_its_attempts_are_no_missing_texts(self, build, model):
        artifact = add()
        sync(build, artifact)
        Segmentation.objects.update(state="failed", last_error="It died.")
        plan_due(build)

        [warning] = warnings_of(artifact)

        assert warning["code"] == "texts_by_rules"
        assert "It died." in warning["detail"]


class TestWindows:
    def test_judge_each_sentence_once(self, build, model, settings):
        settings.STRATA_LLM_CONTEXT_CHARS = 160  # a window ends with the herons
        given = SegmentationInput(TEXT)

        [outcome] = find_boundaries({1: given}, build.spec.chunks.llm)

        assert outcome.value.boundaries == [TEXT.index(TRAMS), TEXT.index(STONES)]
        assert len(model.asked) > 2
        assert outcome.cost.call_count == len(model.asked)
        assert all(len(prompt) < 800 for prompt in model.asked)

    def test_fence_the_text(self, build, model):
        [_] = find_boundaries({1: SegmentationInput(TEXT)}, build.spec.chunks.llm)

        fences = re.findall(r"^--- [0-9a-f]{24} ---$", model.asked[0], re.M)
        assert len(fences) == 2


class TestQuestions:
    SPEC = f"{SPEC}questions: {{count: 1}}\n"

    @pytest.fixture
    def asked(self, model) -> list[str]:
        """The passages that questions were written about."""
        passages: list[str] = []

        def answer(prompt: str) -> dict[str, Any]:
            if NUMBERED.search(prompt):
                return find_topics(prompt)
            passages.append(prompt)
            return {"questions": ["Which of them is it?"], "summary": "It is about them."}

        model.answer = answer
        return passages

    @pytest.mark.parametrize("embed", ["true", "false"])
    def test_are_asked_about_the_chunks_of_the_model_only(self, build, asked, settings, embed):
        spec = self.SPEC.replace("400}]", f"400}}], embed: {embed}")
        asking = add_index(settings, "asking", spec)
        artifact = add(index="asking")
        sync(asking, artifact)
        document = IndexedDocument.objects.get(artifact=artifact)
        assert (document.state, "question" in document.unwritten_kinds) == ("waiting", True)
        assert not Annotation.objects.exists()

        write_all(asking, artifact)

        assert set(Annotation.objects.values_list("text", flat=True)) == set(TOPICS)
        assert len(asked) == 3
        assert IndexedDocument.objects.get(artifact=artifact).state == "ready"

    def test_follow_other_boundaries(self, build, asked, model, settings):
        asking = add_index(settings, "asking", self.SPEC)
        artifact = add(index="asking")
        write_all(asking, artifact)
        answer = model.answer
        model.answer = lambda prompt: {"starts": [6]} if NUMBERED.search(prompt) else answer(prompt)

        regenerate(["chunk"], index="asking")
        plan_due(asking)
        write_all(asking, artifact)

        assert set(Annotation.objects.values_list("text", flat=True)) == {
            HERONS, f"{TRAMS} {STONES}"
        }  # fmt: skip


class TestSpec:
    def test_is_refused_without_a_language_model(self):
        with pytest.raises(InvalidSpec, match=r"cut\.yaml: .*language model") as refused:
            parse_spec("cut", SPEC)

        assert refused.value.field == "chunks.strategies"
        assert refused.value.code == "invalid_spec"
        assert "STRATA_LLM_BASE_URL and STRATA_LLM_MODEL" in refused.value.fix

    def test_says_what_to_do_where_its_index_is_looked_for(self, wide, settings):
        (settings.STRATA_SPECS_DIR / "cut.yaml").write_text(SPEC)

        assert "Set STRATA_LLM_BASE_URL" in get_invalid_specs()["cut"]
        assert "Set STRATA_LLM_BASE_URL" in (explain_missing_index("cut") or "")

    def test_decides_the_recipe(self, model):
        first = parse_spec("cut", SPEC)

        assert first.chunks.llm is not None
        for changed in ("max_chars: 500", "prompt: other", "model: large"):
            other = SPEC.replace("max_chars: 400", changed)
            assert parse_spec("cut", other).fingerprint != first.fingerprint

    def test_of_a_build_is_read_without_a_language_model(self, build, settings, monkeypatch):
        settings.STRATA_LLM_BASE_URL = ""
        artifact = add()

        write_all(build, artifact)

        assert build.spec.chunks.llm is not None
        assert "".join(chunks_of(build)).replace(" ", "") == TEXT.replace(" ", "")
        row = Segmentation.objects.get()
        assert "No language model is set" in row.last_error


class TestEstimate:
    def test_counts_the_calls(self, build, model, settings):
        add_index(settings, "sentences", "title: By sentences\n")
        add(index="sentences")
        (settings.STRATA_SPECS_DIR / "sentences.yaml").write_text(SPEC)

        chunk = estimate_build("sentences").kinds["chunk"]

        assert chunk.calls == 1
        assert chunk.prompt_tokens > 0
        assert not model.asked

    def test_knows_the_chunks_of_stored_answers(self, build, model, settings):
        write_all(build, add())
        (settings.STRATA_SPECS_DIR / "cut.yaml").write_text(SPEC + "sparse: {language: none}\n")

        chunk = estimate_build("cut").kinds["chunk"]

        assert (chunk.calls, chunk.kept, chunk.rebuilt) == (0, 3, 0)


def test_findings_are_compared_by_the_same_chunks(build):
    artifact = add()
    write_all(build, artifact)

    vectors = embed_artifact(Artifact.objects.with_sources().get(pk=artifact.pk), build)

    assert len(vectors) == len(TOPICS)


def test_sources_have_at_most_one_segmentation(build):
    write_all(build, add())

    assert Segmentation.objects.count() == Source.objects.filter(artifact__index="cut").count()
