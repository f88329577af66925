"""Renders the answers of searches.

Answers are plain dicts of the shapes in ``strata_types``: rendering them with serializers would
take a sixth of the time of a search.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from documents.models import Source
from documents.serializers import render_reference
from retrieval.fusion import Explanation
from retrieval.relevance import Relevance
from retrieval.search import (
    ArtifactGroup,
    HierarchicalAnswer,
    Hit,
    PageGroup,
    SearchAnswer,
)
from retrieval.search.run import AnyAnswer
from retrieval.search.targets import Folded, get_passage_text
from retrieval.source_context import SourceContext
from retrieval.tools import FilterStep, ToolCall
from summaries.writers import QUESTIONS_FIX

SNIPPET_CHARS = 300
MAX_FOLDED = 20  # passages that a hit names beside its own

HitRenderer = Callable[[Hit, str], dict[str, Any]]


# --- Searches --------------------------------------------------------------------------------


def render_question_answer(answer: SearchAnswer) -> dict[str, Any]:
    content = render_search_answer(answer, render_question)
    missing_count = sum(hit["question"] is None for hit in content["hits"])
    if missing_count:
        content["notes"] = [*answer.notes, _note_missing_questions(missing_count)]
    return content


def _note_missing_questions(count: int) -> str:
    found = "1 hit has no questions and was" if count == 1 else f"{count} hits have no questions"
    found += "" if count == 1 else " and were"
    return f"{found} found by the passage's own words. {QUESTIONS_FIX}"


def render_search_answer(answer: SearchAnswer, render_hit: HitRenderer) -> dict[str, Any]:
    """``index`` and ``build`` are lists, and hits name their index, if several were searched."""
    hits = [render_hit(hit, answer.score_kind) for hit in answer.hits]
    return render_answer(answer, "hits", hits, [hit.index for hit in answer.hits])


def render_hierarchical_answer(answer: HierarchicalAnswer) -> dict[str, Any]:
    """As ``render_search_answer``, with artifacts in place of hits."""
    groups = [_render_artifact_group(each, answer.score_kind) for each in answer.artifacts]
    return render_answer(answer, "artifacts", groups, [each.index for each in answer.artifacts])


def render_answer_head(
    builds: Mapping[str, int | None], took_ms: Mapping[str, float]
) -> dict[str, Any]:
    names, numbers = list(builds), list(builds.values())
    is_several = len(names) > 1
    return {
        "index": names if is_several else names[0],
        "build": numbers if is_several else numbers[0],
        "took_ms": took_ms,
    }


def render_answer(
    answer: AnyAnswer,
    name: str,
    rows: list[dict[str, Any]],
    indexes: Iterable[str],
) -> dict[str, Any]:
    """``rows``: what was found, each in the index of the same place in ``indexes``."""
    if len(answer.builds) > 1:
        for row, index in zip(rows, indexes, strict=True):
            row["index"] = index
    head = render_answer_head(answer.builds, answer.took_ms)
    return {**head, name: rows, "notes": answer.notes, "dropped": asdict(answer.dropped)}


def add_relevance(content: dict[str, Any], relevance: Relevance) -> None:
    """Say in an answer whether passages are about the query, and first of its notes, why not."""
    content["relevant"] = relevance.is_relevant
    if relevance.is_relevant is False:
        note = f"Nothing here seems to be about the query: {relevance.reason}."
        content["notes"] = [note, *content["notes"]]


def _render_artifact_group(artifact: ArtifactGroup, score_kind: str) -> dict[str, Any]:
    summary = artifact.summary
    text = None if summary is None else summary.payload.get("summary_text") or ""
    return {
        "artifact_id": artifact.artifact_id,
        "artifact_title": artifact.title,
        "file_name": artifact.file_name,
        "score": artifact.score,
        "summary_snippet": _make_snippet(text),
        "pages": [_render_page_group(page, score_kind) for page in artifact.pages],
    }


def _render_page_group(page: PageGroup, score_kind: str) -> dict[str, Any]:
    return {
        "page_id": page.page_id,
        "page_index": page.page_index,
        "score": page.score,
        "summary_snippet": _make_snippet(page.summary_text),
        "supporting_chunks": [render_chunk(hit, score_kind) for hit in page.chunks],
    }


def _make_snippet(text: str | None) -> str | None:
    return None if text is None else clip_text(text)


def clip_text(text: str, limit: int = SNIPPET_CHARS) -> str:
    """Clip a text to ``limit`` characters: its first words and an ellipsis. Cut a longer word."""
    if len(text) <= limit:
        return text
    cut = text[:limit]
    # Drop the last word, which may be cut, to make room for the ellipsis.
    end = max(cut.rfind(" "), cut.rfind("\n"))
    return f"{cut[: end if end > 0 else limit - 1].rstrip()}…"


# --- Hits ------------------------------------------------------------------------------------


def render_chunk(hit: Hit, score_kind: str) -> dict[str, Any]:
    payload = hit.payload
    return _render_common_fields(
        hit,
        score_kind,
        text=payload.get("text"),
        page=render_page_reference(payload),
        source=_render_source_reference(payload),
    )


def _render_folded(folded: Sequence[Folded]) -> dict[str, Any]:
    copies = sum(each.is_copy for each in folded)
    return {
        "versions": len(folded) - copies,
        "copies": copies,
        "passages": [
            {
                "node_id": str(candidate.point.id),
                "artifact": render_artifact_reference(candidate.point.payload),
                "page": render_page_reference(candidate.point.payload)
                if candidate.point.payload.get("page_id")
                else None,
                "text": None if is_copy else get_passage_text(candidate.point.payload),
            }
            for candidate, is_copy in folded[:MAX_FOLDED]
        ],
    }


def render_summary(hit: Hit, score_kind: str) -> dict[str, Any]:
    payload = hit.payload
    is_page_summary = payload.get("page_id") is not None
    content = _render_common_fields(
        hit,
        score_kind,
        text=payload.get("summary_text"),
        page=render_page_reference(payload) if is_page_summary else None,
        source=None,
    )
    names = [
        "type", "entity_id", "artifact_id", "artifact_title", "summary_text", "model_name",
        "date_embedded", *(("page_id", "page_index") if is_page_summary else ("page_count",)),
    ]  # fmt: skip
    return content | {name: payload.get(name) for name in names}


def render_question(hit: Hit, score_kind: str) -> dict[str, Any]:
    """Render the chunk that answers, with the question that found it. ``source`` is the file name
    here; ``passage`` is the source. The declared fields are fields of the hit, too, except those
    with the name of another field."""
    payload = hit.payload
    common = _render_common_fields(
        hit,
        score_kind,
        text=payload.get("chunk_text"),
        page=render_page_reference(payload),
        source=payload.get("source"),
    )
    written = {
        name: payload.get(name, [] if field.many else None)
        for name, field in hit.spec.metadata.items()
    }
    of_question = {
        "metadata": common["metadata"] | written,
        "passage": _render_source_reference(payload),
        "id": str(hit.node_id),
        "chunk_id": payload.get("chunk_id"),
        "question": _get_question(payload),
        "similarity": hit.similarity,
        "summary": payload.get("summary"),
    }
    return written | common | of_question


def _get_question(payload: Mapping[str, Any]) -> str | None:
    """None for the point of a passage without questions, which holds the passage itself."""
    question: str | None = payload.get("question")
    return None if question == payload.get("chunk_text") else question


def render_node_without_position(hit: Hit, score_kind: str) -> dict[str, Any]:
    """Render a node without a position in a text."""
    text = hit.payload.get("text")
    return _render_common_fields(hit, score_kind, text=text, page=None, source=None)


def _render_common_fields(
    hit: Hit, score_kind: str, *, text: str | None, page: Any, source: Any
) -> dict[str, Any]:
    payload = hit.payload
    content = {
        "score": hit.score,
        "score_kind": score_kind,
        "node_id": str(hit.node_id),
        "kind": payload.get("kind"),
        "text": text,
        "start_offset": payload.get("start_offset"),
        "end_offset": payload.get("end_offset"),
        "verdict": hit.verdict,
        "warnings": payload.get("page_warnings", []),
        "artifact": render_artifact_reference(payload),
        "page": page,
        "source": source,
        "metadata": payload.get("metadata") or {},
    }
    if hit.explanation is not None:
        content["explain"] = _render_explanation(hit.explanation)
    if hit.folded:
        content["folded"] = _render_folded(hit.folded)
    return content


def render_artifact_reference(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": payload.get("artifact_id"),
        "title": payload.get("artifact_title"),
        "external_id": payload.get("external_id"),
        "file_name": payload.get("file_name"),
    }


def render_page_reference(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": payload.get("page_id"), "index": payload.get("page_index")}


def _render_source_reference(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": payload.get("source_id"), "ordinal": payload.get("source_ordinal")}


def _render_explanation(explanation: Explanation) -> dict[str, Any]:
    fusion = explanation.fusion
    content: dict[str, Any] = {
        "dense": explanation.dense and asdict(explanation.dense),
        "sparse": explanation.sparse and asdict(explanation.sparse),
        "fusion": None
        if fusion is None
        else {
            "method": fusion.method,
            "k": fusion.k,
            "weights": {"dense": fusion.dense_weight, "sparse": fusion.sparse_weight},
        },
    }
    if explanation.words:
        content["words"] = dict(explanation.words)
    if explanation.second_passage:
        content["second_passage"] = explanation.second_passage
    return content


# --- Tools -----------------------------------------------------------------------------------


def render_tool_answer(
    call: ToolCall, answer: SearchAnswer, step: FilterStep | None, relevance: Relevance
) -> dict[str, Any]:
    """As the search that the tool runs, with the cosine of each hit and the filter's step."""
    if call.is_question_search:
        content = render_question_answer(answer)
    else:
        content = render_search_answer(answer, render_chunk)
    content["filter_applied"] = step
    for rendered, hit in zip(content["hits"], answer.hits, strict=True):
        rendered["similarity"] = hit.similarity
    add_relevance(content, relevance)
    return content


# --- Passages --------------------------------------------------------------------------------


def render_source_context(context: SourceContext) -> dict[str, Any]:
    source = context.source
    return {
        **render_source(source),
        "start": source.start,
        "end": source.end,
        "content_hash": source.content_hash,
        "artifact": {**render_reference(source.artifact), "index": source.artifact.index},
        "page": {"id": str(source.page_id), "index": source.page.index, "label": source.page.label},
        "chunks": [
            {
                "node_id": str(node.point_id),
                "strategy": node.strategy,
                "chunk_index": node.chunk_index,
                "start_offset": node.start_offset,
                "end_offset": node.end_offset,
                "state": node.state,
            }
            for node in context.chunks
        ],
        "neighbours": [render_source(neighbour) for neighbour in context.neighbours],
    }


def render_source(source: Source) -> dict[str, Any]:
    return {
        "id": str(source.pk),
        "ordinal": source.ordinal,
        "heading": source.heading,
        "text": source.text,
        "page": {"id": str(source.page_id), "index": source.page.index},
    }
