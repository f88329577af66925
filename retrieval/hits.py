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
    check: str  # a ``CheckFunction``; kinds that share it are checked together
    render: str  # a ``HitRenderer``


HIT_KINDS: dict[str, HitKind] = {
    "chunk": HitKind(
        "pages",
        "retrieval.search.hit_checks.check_chunks",
        "retrieval.serializers.answers.render_chunk",
    ),
    "page_summary": HitKind(
        "summaries",
        "retrieval.search.hit_checks.check_summaries",
        "retrieval.serializers.answers.render_summary",
    ),
    "artifact_summary": HitKind(
        "summaries",
        "retrieval.search.hit_checks.check_summaries",
        "retrieval.serializers.answers.render_summary",
    ),
    "question": HitKind(
        "questions",
        "retrieval.search.hit_checks.check_questions",
        "retrieval.serializers.answers.render_question",
    ),
    "concept": HitKind(
        "concepts",
        "retrieval.search.hit_checks.check_concepts",
        "retrieval.serializers.answers.render_node_without_position",
    ),
    "relationship_type": HitKind(
        "relationships",
        "retrieval.search.hit_checks.check_relationship_types",
        "retrieval.serializers.answers.render_node_without_position",
    ),
    "compound": HitKind(
        "structures",
        "retrieval.search.hit_checks.check_drafts",
        "retrieval.serializers.answers.render_node_without_position",
    ),
    "image": HitKind(
        "images",
        "retrieval.search.hit_checks.check_drafts",
        "retrieval.serializers.answers.render_node_without_position",
    ),
}


def get_hit_check(kind: str) -> Callable[..., Any]:
    return _import(HIT_KINDS[kind].check)


def get_hit_renderer(kind: str) -> Callable[..., dict[str, Any]]:
    return _import(HIT_KINDS[kind].render)


@cache
def _import(path: str) -> Callable[..., Any]:
    function: Callable[..., Any] = import_string(path)
    return function
