"""A source with its neighbours and chunks."""

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
    """Read a source with up to ``window`` neighbouring sources on each side.

    Raises:
        UnknownSource: there is no source with this id.
    """
    sources = Source.objects.select_related("artifact", "page").defer("page__text")
    source = sources.filter(pk=source_id).first()
    if source is None or not source.artifact.is_visible_to(grant):
        raise UnknownSource(field="id")
    neighbours = (
        Source.objects.filter(
            artifact=source.artifact_id,
            ordinal__range=(max(0, source.ordinal - window), source.ordinal + window),
        )
        .exclude(pk=source.pk)
        .select_related("page")
        .defer("page__text")
        .order_by("ordinal")
    )
    chunks = (
        Node.objects.in_live_builds()
        .filter(source=source.pk, kind="chunk")
        .exclude(state=Node.State.DELETING)
        .only("point_id", "strategy", "chunk_index", "start_offset", "end_offset", "state")
        .order_by("strategy", "chunk_index")
    )
    return SourceContext(source, list(neighbours) if window else [], list(chunks))
