"""A source with its neighbours and chunks, and the passages of each kind that a page has."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet
from django.db.models.fields.json import KT
from django.utils.module_loading import import_string

from access.grants import Grant
from documents.models import TEXTS_OF_PAGE, Source
from indexing.kinds import KINDS
from indexing.models import Node
from retrieval.exceptions import UnknownSource

MAX_WINDOW = 10  # neighbours on each side
PASSAGE_KINDS = tuple(kind.name for kind in KINDS.values() if kind.list_on_page)
PLACE = ("source_id", "source_hash", "start_offset", "end_offset")


@dataclass(frozen=True, slots=True)
class SourceContext:
    """A source, its neighbours in order, and its chunks in the live build of its index."""

    source: Source
    neighbours: list[Source]
    chunks: list[Node]


def read_source_context(source_id: UUID, grant: Grant, *, window: int = 0) -> SourceContext:
    """Read a source with up to ``window`` neighbouring sources on each side. Raises
    ``UnknownSource``: there is no source with this id."""
    sources = Source.every_reading.select_related("artifact", "page").defer(*TEXTS_OF_PAGE)
    source = sources.filter(pk=source_id).first()
    if source is None or not source.artifact.is_visible_to(grant):
        raise UnknownSource(field="id")
    chunks = (
        Node.objects.in_live_builds()
        .filter(source=source.pk, kind="chunk")
        .exclude(state=Node.State.DELETING)
        .only("point_id", "strategy", "chunk_index", "start_offset", "end_offset", "state")
        .order_by("strategy", "chunk_index")
    )
    neighbours = load_adjacent_sources([source], window).get(source.pk, [])
    return SourceContext(source, neighbours, list(chunks))


def load_adjacent_sources(sources: Collection[Source], window: int) -> dict[UUID, list[Source]]:
    """The sources up to ``window`` places before and after each in its artifact, in order."""
    steps = [step for step in range(-window, window + 1) if step]
    if not steps or not sources:
        return {}
    rows = Source.every_reading.filter(
        artifact__in={source.artifact_id for source in sources},
        reading__in={source.reading for source in sources},
        ordinal__in={source.ordinal + step for source in sources for step in steps},
    )
    by_place = {
        (row.artifact_id, row.reading, row.ordinal): row
        for row in rows.select_related("page").defer(*TEXTS_OF_PAGE)
    }
    return {
        source.pk: [
            by_place[place]
            for step in steps
            if (place := (source.artifact_id, source.reading, source.ordinal + step)) in by_place
        ]
        for source in sources
    }


def list_passages(page_id: UUID, kind: str, grant: Grant) -> QuerySet[Any]:
    """Rows of one of ``PASSAGE_KINDS`` in the order of the page, for ``render_passage``."""
    list_rows: Callable[[UUID, Grant], QuerySet[Any]] = import_string(KINDS[kind].list_on_page)
    return list_rows(page_id, grant).order_by("source__ordinal", "start_offset", "passage_id")


def _list_nodes(page_id: UUID, grant: Grant, kind: str) -> QuerySet[Any]:
    nodes = Node.objects.in_live_builds().filter(kind=kind, source__page=page_id)
    return nodes.exclude(state=Node.State.DELETING).values(
        *PLACE, "text", passage_id=F("point_id"), current_hash=F("source__content_hash"),
        answered_id=KT("details__chunk_id"),
    )  # fmt: skip


list_chunks = partial(_list_nodes, kind="chunk")
list_questions = partial(_list_nodes, kind="question")


def render_passage(row: dict[str, Any]) -> dict[str, Any]:
    is_exact = row["source_hash"] == row["current_hash"]
    return {
        "id": str(row["passage_id"]),
        "text": row["text"],
        "source_id": str(row["source_id"]),
        "start_offset": row["start_offset"],
        "end_offset": row["end_offset"],
        "chunk_id": row.get("answered_id"),
        "verdict": "exact" if is_exact else "stale",
        "concept": {"id": str(row["concept_id"]), "label": row["label"]}
        if "concept_id" in row
        else None,
    }
