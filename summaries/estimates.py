"""Estimate the nodes and language model calls of a document's summaries and questions in a build
that does not exist yet. Calls no language model and writes nothing."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.text import hash_text
from documents.models import Artifact, Page
from indexing.estimates import NodeEstimate
from indexing.models import IndexBuild
from indexing.text_nodes import make_text_node
from summaries import llm
from summaries.exceptions import LanguageModelCost
from summaries.models import Summary, WrittenText
from summaries.reuse import reuse_annotations, reuse_artifact_summary, reuse_page_summaries
from summaries.services import draft_annotations, hash_inputs
from summaries.text_nodes import make_question_id, measure_texts
from summaries.writers import (
    AnnotationInput,
    DraftOutcome,
    LanguageModelWriter,
    SummaryInput,
)

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

TOKENS_PER_SENTENCE = 25
TOKENS_PER_QUESTION = 14


@dataclass(slots=True)
class _PageTexts:
    """Page summaries by page (None: not written yet), and the cost of writing those missing."""

    text_by_page: dict[Page, str | None] = field(default_factory=dict)
    cost: LanguageModelCost = field(default_factory=LanguageModelCost)


def estimate_page_summaries(artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    summary_spec = build.spec.page_summaries
    assert summary_spec is not None
    texts = _estimate_page_texts(artifact, build)
    written = {page.pk: text for page, text in texts.text_by_page.items() if text}
    unwritten = [page for page, text in texts.text_by_page.items() if text is None]
    return _make_node_estimate(
        _make_nodes("page_summary", written, artifact, build, title=artifact.title),
        texts.cost,
        len(unwritten),
        len(unwritten) * summary_spec.sentences * TOKENS_PER_SENTENCE,
    )


def estimate_artifact_summary(artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    summary_spec = build.spec.artifact_summaries
    assert summary_spec is not None
    page_texts = list(_estimate_page_texts(artifact, build).text_by_page.values())
    if not page_texts:
        return NodeEstimate([])
    cost, text = LanguageModelCost(), None
    row = Summary(build=build, artifact=artifact)
    written_texts = [page for page in page_texts if page is not None]
    if len(written_texts) == len(page_texts):
        row.input_hash = hash_inputs(written_texts)
    if reuse_artifact_summary(build, row):
        text = row.text
    elif len(page_texts) == 1:
        text = page_texts[0]  # the summary of a single page serves as the artifact's
    elif llm.is_configured():
        inputs = {0: SummaryInput([page or "" for page in page_texts], False)}
        [outcome] = LanguageModelWriter(may_call_model=False).summarise(inputs, build.spec)
        cost, text = (
            outcome.cost,
            _get_draft_text(outcome) if len(written_texts) == len(page_texts) else None,
        )
    if text is None:
        return _make_node_estimate([], cost, 1, summary_spec.sentences * TOKENS_PER_SENTENCE)
    nodes = _make_nodes(
        "artifact_summary", {artifact.pk: text}, artifact, build, title=artifact.title
    )
    return _make_node_estimate(nodes, cost)


def estimate_questions(artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    question_spec = build.spec.questions
    assert question_spec is not None
    rows = draft_annotations(artifact, build)
    reuse_annotations(build, rows)
    texts = {
        row.chunk_id: row.searched_texts for row in rows if row.state == WrittenText.State.WRITTEN
    }
    due = {row.chunk_id: row for row in rows if row.state == WrittenText.State.DUE}
    cost = LanguageModelCost()
    if due and llm.is_configured():
        inputs = {
            key: AnnotationInput(row.text, row.heading, artifact.title) for key, row in due.items()
        }
        for outcome in LanguageModelWriter(may_call_model=False).annotate(inputs, build.spec):
            cost += outcome.cost
            draft: Any = outcome.draft
            if draft is not None:
                texts[outcome.key] = draft.questions
    if not llm.is_configured():  # each chunk is found by its own words
        texts |= {row.chunk_id: [row.text] for row in due.values()}
    text_by_id = {
        make_question_id(chunk_id, text): text
        for chunk_id, of_chunk in texts.items()
        for text in of_chunk
    }
    unwritten = (len(rows) - len(texts)) * question_spec.count
    return _make_node_estimate(
        _make_nodes("question", text_by_id, artifact, build),
        cost,
        unwritten,
        unwritten * TOKENS_PER_QUESTION,
    )


def _estimate_page_texts(artifact: Artifact, build: IndexBuild) -> _PageTexts:
    pages = {page.pk: page for page in artifact.pages.all() if page.text.strip()}
    rows = [
        Summary(build=build, artifact=artifact, page=page, input_hash=hash_text(page.text))
        for page in pages.values()
    ]
    reuse_page_summaries(build, rows)
    texts = _PageTexts()
    inputs: dict[uuid.UUID, SummaryInput] = {}
    for page, row in zip(pages.values(), rows, strict=True):
        is_reused = row.state == WrittenText.State.WRITTEN
        texts.text_by_page[page] = row.text if is_reused else None
        if not is_reused:
            inputs[page.pk] = SummaryInput([page.text], True)
    if inputs and llm.is_configured():
        for outcome in LanguageModelWriter(may_call_model=False).summarise(inputs, build.spec):
            texts.cost += outcome.cost
            texts.text_by_page[pages[outcome.key]] = _get_draft_text(outcome)
    return texts


def _get_draft_text(outcome: DraftOutcome[Any]) -> str | None:
    draft: Any = outcome.draft
    return None if draft is None else str(draft.text)


def _make_nodes(
    kind: str,
    text_by_id: Mapping[uuid.UUID, str],
    artifact: Artifact,
    build: IndexBuild,
    *,
    title: str = "",
) -> list["TextNode"]:
    context, token_counts = measure_texts(list(text_by_id.values()), title, build)
    return [
        make_text_node(
            kind=kind,
            point_id=point_id,
            artifact_id=artifact.pk,
            text=text,
            text_hash=hash_text(text),
            source_hash=None,
            context=context,
            token_count=token_count,
        )
        for (point_id, text), token_count in zip(text_by_id.items(), token_counts, strict=True)
    ]


def _make_node_estimate(
    nodes: Sequence["TextNode"],
    cost: LanguageModelCost,
    unwritten_count: int = 0,
    unwritten_tokens: int = 0,
) -> NodeEstimate:
    return NodeEstimate(
        list(nodes),
        unwritten_count,
        unwritten_tokens,
        cost.call_count,
        cost.prompt_tokens,
        cost.completion_tokens,
    )
