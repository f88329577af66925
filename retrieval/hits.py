"""How to search, check and render each kind of node: the read side of ``indexing/kinds.py``."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.utils.module_loading import import_string


@dataclass(frozen=True, slots=True)
class HitKind:
    """Functions are dotted paths, imported on first use."""

    search: str  # a key of ``retrieval.search_table.SEARCHES``
    # A ``CheckFunction``; kinds that share it are checked together. By default, for a kind that is
    # made of its document alone.
    check: str = "retrieval.search.hit_checks.check_drafts"
    # A ``HitRenderer``; by default, of a node without a position in a text.
    render: str = "retrieval.serializers.answers.render_node_without_position"


_SUMMARY = HitKind(
    "summaries",
    "retrieval.search.hit_checks.check_summaries",
    "retrieval.serializers.answers.render_summary",
)

HIT_KINDS: dict[str, HitKind] = {
    "chunk": HitKind(
        "pages",
        "retrieval.search.hit_checks.check_chunks",
        "retrieval.serializers.answers.render_chunk",
    ),
    "page_summary": _SUMMARY,
    "artifact_summary": _SUMMARY,
    "question": HitKind(
        "questions",
        "retrieval.search.hit_checks.check_questions",
        "retrieval.serializers.answers.render_question",
    ),
    "concept": HitKind("concepts", "retrieval.search.hit_checks.check_concepts"),
    "relationship_type": HitKind(
        "relationships", "retrieval.search.hit_checks.check_relationship_types"
    ),
    "relationship": HitKind("relationships", "retrieval.search.hit_checks.check_relationships"),
    "compound": HitKind("structures"),
    "image": HitKind("images"),
}


def get_hit_check(kind: str) -> Callable[..., Any]:
    return _import(HIT_KINDS[kind].check)


def get_hit_renderer(kind: str) -> Callable[..., dict[str, Any]]:
    return _import(HIT_KINDS[kind].render)


@cache
def _import(path: str) -> Callable[..., Any]:
    function: Callable[..., Any] = import_string(path)
    return function
