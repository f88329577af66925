"""What writing about a document would take in a build that is not begun: nothing is asked of
anyone, and nothing is written."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core.text import hash_text
from documents.models import Artifact, Page
from indexing.estimates import NodeEstimate
from indexing.models import IndexBuild, Node
from summaries import llm
from summaries.kinds import fill_context
from summaries.models import Summary, Writing
from summaries.reuse import reuse_annotations, reuse_artifact_summary, reuse_page_summaries
from summaries.services import draft_annotations, hash_inputs
from summaries.writers import AnnotationInput, Cost, DraftOutcome, LanguageModelWriter, SummaryInput

SENTENCE_TOKENS = 25
QUESTION_TOKENS = 14


@dataclass(slots=True)
class _Texts:
    """Summaries by page, None where the text is yet to be written."""

    of_pages: dict[Page, str | None] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)


def estimate_page_summaries(artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    about = build.spec.page_summaries
    assert about is not None
    texts = _page_texts(artifact, build)
    nodes = [
        Node(build=build, kind="page_summary", point_id=page.pk, artifact=artifact, text=text)
        for page, text in texts.of_pages.items()
        if text
    ]
    unwritten = [page for page, text in texts.of_pages.items() if text is None]
    return _estimate_of(
        fill_context(nodes, artifact.title, build),
        texts.cost,
        len(unwritten),
        len(unwritten) * about.sentences * SENTENCE_TOKENS,
    )


def estimate_artifact_summary(artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    about = build.spec.artifact_summaries
    assert about is not None
    pages = list(_page_texts(artifact, build).of_pages.values())
    if not pages:
        return NodeEstimate([])
    cost, text = Cost(), None
    row = Summary(build=build, artifact=artifact)
    known = [page for page in pages if page is not None]
    if len(known) == len(pages):
        row.input_hash = hash_inputs(known)
    if reuse_artifact_summary(build, row):
        text = row.text
    elif len(pages) == 1:
        text = pages[0]  # it says it all
    elif llm.is_configured():
        inputs = {0: SummaryInput([page or "" for page in pages], False)}
        [outcome] = LanguageModelWriter(asks=False).summarise(inputs, build.spec)
        cost, text = outcome.cost, _said(outcome) if len(known) == len(pages) else None
    if text is None:
        return _estimate_of([], cost, 1, about.sentences * SENTENCE_TOKENS)
    node = Node(
        build=build, kind="artifact_summary", point_id=artifact.pk, artifact=artifact, text=text
    )
    return _estimate_of(fill_context([node], artifact.title, build), cost)


def estimate_questions(artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    about = build.spec.questions
    assert about is not None
    rows = draft_annotations(artifact, build)
    reuse_annotations(build, rows)
    questions = {row.chunk_id: row.questions for row in rows if row.state == Writing.State.WRITTEN}
    due = {row.chunk_id: row for row in rows if row.state == Writing.State.DUE}
    cost = Cost()
    if due and llm.is_configured():
        inputs = {
            key: AnnotationInput(row.text, row.heading, artifact.title) for key, row in due.items()
        }
        for outcome in LanguageModelWriter(asks=False).annotate(inputs, build.spec):
            _add(cost, outcome.cost)
            draft: Any = outcome.draft
            if draft is not None:
                questions[outcome.key] = draft.questions
    nodes = [
        Node(
            build=build,
            kind="question",
            point_id=uuid.uuid5(chunk_id, f"question {question}"),
            artifact=artifact,
            text=question,
        )
        for chunk_id, asked in questions.items()
        for question in dict.fromkeys(asked)
    ]
    unwritten = (len(rows) - len(questions)) * about.count
    return _estimate_of(
        fill_context(nodes, "", build), cost, unwritten, unwritten * QUESTION_TOKENS
    )


def _page_texts(artifact: Artifact, build: IndexBuild) -> _Texts:
    pages = {page.pk: page for page in artifact.pages.all() if page.text.strip()}
    rows = [
        Summary(build=build, artifact=artifact, page=page, input_hash=hash_text(page.text))
        for page in pages.values()
    ]
    reuse_page_summaries(build, rows)
    texts = _Texts()
    inputs: dict[uuid.UUID, SummaryInput] = {}
    for page, row in zip(pages.values(), rows, strict=True):
        is_reused = row.state == Writing.State.WRITTEN
        texts.of_pages[page] = row.text if is_reused else None
        if not is_reused:
            inputs[page.pk] = SummaryInput([page.text], True)
    if inputs and llm.is_configured():
        for outcome in LanguageModelWriter(asks=False).summarise(inputs, build.spec):
            _add(texts.cost, outcome.cost)
            texts.of_pages[pages[outcome.key]] = _said(outcome)
    return texts


def _said(outcome: DraftOutcome[Any]) -> str | None:
    draft: Any = outcome.draft
    return None if draft is None else str(draft.text)


def _add(total: Cost, cost: Cost) -> None:
    for name in Cost.__slots__:
        setattr(total, name, getattr(total, name) + getattr(cost, name))


def _estimate_of(
    nodes: Sequence[Node], cost: Cost, unwritten_count: int = 0, unwritten_tokens: int = 0
) -> NodeEstimate:
    return NodeEstimate(
        list(nodes),
        unwritten_count,
        unwritten_tokens,
        cost.call_count,
        cost.prompt_tokens,
        cost.completion_tokens,
    )
