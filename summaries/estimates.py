"""Estimate the nodes and language model calls of a document's summaries and questions in a build
that does not exist yet. Calls no language model and writes nothing."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from core.text import hash_text
from documents.models import Artifact
from indexing.drafting.chunk import ChunkDrafter
from indexing.estimates import NodeEstimate
from indexing.hooks import Boundaries
from indexing.models import IndexBuild
from language_models import llm
from language_models.exceptions import LanguageModelCost
from summaries.models import EXTRACTIVE_MODEL_NAME, Summary, WrittenText
from summaries.reuse import reuse_annotations, reuse_artifact_summary, reuse_page_summaries
from summaries.segmenting import SegmentationInput, can_be_cut, find_boundaries
from summaries.services import draft_annotations, hash_inputs
from summaries.text_nodes import ArtifactSummaryDrafter, PageSummaryDrafter, QuestionDrafter
from summaries.writers import (
    AnnotationDraft,
    AnnotationInput,
    DraftOutcome,
    LanguageModelWriter,
    SummaryDraft,
    SummaryInput,
)

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

TOKENS_PER_SENTENCE = 25
CHARS_PER_SENTENCE = 100
TOKENS_PER_QUESTION = 14

WRITER = LanguageModelWriter(may_call_model=False)
State = WrittenText.State


def estimate_chunks(artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    """The beginning of a page stands for its summary if that must be written first, and sentences
    for the topics that a language model must find first."""
    summary_spec, summaries = build.spec.page_summaries, {}
    if "summary" in build.spec.chunks.context and summary_spec is not None:
        rows, _ = _draft_page_summaries(artifact, build)
        for row in rows:
            assert row.page is not None
            if row.state == State.DUE and llm.is_configured():
                summaries[row.page.pk] = row.page.text[
                    : summary_spec.sentences * CHARS_PER_SENTENCE
                ]
            elif row.model_name != EXTRACTIVE_MODEL_NAME:
                summaries[row.page.pk] = row.text
    boundaries, cost = _find_boundaries(artifact, build)
    nodes = list(ChunkDrafter().make_nodes(artifact, build, summaries, boundaries))
    return _make_estimate(nodes, cost)


def estimate_page_summaries(artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    summary_spec = build.spec.page_summaries
    assert summary_spec is not None
    rows, cost = _draft_page_summaries(artifact, build)
    written = [row for row in rows if row.text]
    unwritten_count = sum(row.state == State.DUE for row in rows)
    return _make_estimate(
        PageSummaryDrafter().make_nodes(written, artifact, build),
        cost,
        unwritten_count,
        unwritten_count * summary_spec.sentences * TOKENS_PER_SENTENCE,
    )


def estimate_artifact_summary(artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    summary_spec = build.spec.artifact_summaries
    assert summary_spec is not None
    pages, _ = _draft_page_summaries(artifact, build)
    if not pages:
        return NodeEstimate([])
    row, cost = Summary(build=build, artifact=artifact), LanguageModelCost()
    are_pages_written = all(page.state == State.WRITTEN for page in pages)
    if are_pages_written:
        row.input_hash = hash_inputs([page.text for page in pages])
    if reuse_artifact_summary(build, row):
        pass
    elif len(pages) == 1:  # the summary of a single page serves as the artifact's
        row.text, row.state = pages[0].text, pages[0].state
    elif llm.is_configured():
        inputs = {0: SummaryInput([page.text for page in pages], False)}
        cost = _fill_from_stored([row], WRITER.summarise(inputs, build.spec))
        if not are_pages_written:
            row.state = State.DUE
    if row.state == State.DUE:
        return _make_estimate([], cost, 1, summary_spec.sentences * TOKENS_PER_SENTENCE)
    return _make_estimate(ArtifactSummaryDrafter().make_nodes([row], artifact, build), cost)


def estimate_questions(artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    question_spec = build.spec.questions
    assert question_spec is not None
    boundaries, cutting_cost = _find_boundaries(artifact, build)
    rows, cost = draft_annotations(artifact, build, boundaries), LanguageModelCost()
    reuse_annotations(build, rows)
    due = [row for row in rows if row.state == State.DUE]
    if llm.is_configured():
        inputs = {
            number: AnnotationInput(row.text, row.heading, artifact.title)
            for number, row in enumerate(due)
        }
        cost = _fill_from_stored(due, WRITER.annotate(inputs, build.spec))
    else:  # each chunk is found by its own words
        for row in due:
            row.state, row.model_name = State.WRITTEN, EXTRACTIVE_MODEL_NAME
    written = [row for row in rows if row.state == State.WRITTEN]
    if not build.spec.chunks.embed:
        cost += cutting_cost  # otherwise it is counted for the chunks
    unwritten_count = (len(rows) - len(written)) * question_spec.count
    return _make_estimate(
        QuestionDrafter().make_nodes(written, artifact, build),
        cost,
        unwritten_count,
        unwritten_count * TOKENS_PER_QUESTION,
    )


def _find_boundaries(artifact: Artifact, build: IndexBuild) -> tuple[Boundaries, LanguageModelCost]:
    """Those of stored completions; the others must be found first."""
    boundaries: dict[str, list[int]] = {}
    cost, strategy = LanguageModelCost(), build.spec.chunks.llm
    if strategy is None:
        return boundaries, cost
    inputs = {
        hash_text(source.text): SegmentationInput(source.text)
        for source in artifact.sources.all()
        if can_be_cut(source.text, strategy)
    }
    for outcome in find_boundaries(inputs, strategy, may_call_model=False):
        cost += outcome.cost
        if outcome.value is not None:
            boundaries[outcome.key] = outcome.value.boundaries
    return boundaries, cost


def _draft_page_summaries(
    artifact: Artifact, build: IndexBuild
) -> tuple[list[Summary], LanguageModelCost]:
    """The summaries of the pages that have text; those that are due must be written first."""
    rows = [
        Summary(build=build, artifact=artifact, page=page, input_hash=hash_text(page.text))
        for page in artifact.pages.all()
        if page.text.strip()
    ]
    reuse_page_summaries(build, rows)
    if not llm.is_configured():
        return rows, LanguageModelCost()
    due: list[Any] = [row for row in rows if row.state == State.DUE]
    inputs = {number: SummaryInput([row.page.text], True) for number, row in enumerate(due)}
    return rows, _fill_from_stored(due, WRITER.summarise(inputs, build.spec))


def _fill_from_stored(
    rows: Sequence[Any], outcomes: Iterable[DraftOutcome[int]]
) -> LanguageModelCost:
    """Give the rows what stored completions say of them; return what the other ones would cost."""
    total = LanguageModelCost()
    for outcome in outcomes:
        total += outcome.cost
        if outcome.value is None:
            continue
        row = rows[outcome.key]
        row.state, row.model_name = State.WRITTEN, outcome.value.model_name
        if isinstance(outcome.value, AnnotationDraft):
            row.questions = outcome.value.questions
        elif isinstance(outcome.value, SummaryDraft):
            row.text = outcome.value.text
    return total


def _make_estimate(
    nodes: list["TextNode"],
    cost: LanguageModelCost,
    unwritten_count: int = 0,
    unwritten_tokens: int = 0,
) -> NodeEstimate:
    return NodeEstimate(
        nodes,
        unwritten_count,
        unwritten_tokens,
        cost.call_count,
        cost.prompt_tokens,
        cost.completion_tokens,
    )
