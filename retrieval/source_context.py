"""A source with its neighbours and chunks."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from access.grants import Grant
from documents.models import Source
from indexing.models import Node
from retrieval.exceptions import UnknownSource

MAX_WINDOW = 10  # neighbours on each side


@dataclass(frozen=True, slots=True)
class SourceContext:
    """A source, its neighbours in order, and its chunks in the live build of its index."""

    source: Source
    neighbours: list[Source]
    chunks: list[Node]


def read_source_context(source_id: UUID, grant: Grant, *, window: int = 0) -> SourceContext:
    """Read a source with up to ``window`` neighbouring sources on each side. Raises
    ``UnknownSource``: there is no source with this id."""
    sources = Source.objects.select_related("artifact", "page").defer("page__text")
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
    rows = Source.objects.filter(
        artifact__in={source.artifact_id for source in sources},
        ordinal__in={source.ordinal + step for source in sources for step in steps},
    )
    by_place = {
        (row.artifact_id, row.ordinal): row
        for row in rows.select_related("page").defer("page__text")
    }
    return {
        source.pk: [
            by_place[place]
            for step in steps
            if (place := (source.artifact_id, source.ordinal + step)) in by_place
        ]
        for source in sources
    }
