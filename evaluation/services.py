"""Writes to judgements."""

from uuid import UUID

from django.core.exceptions import ValidationError

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput
from core.text import hash_text
from documents.exceptions import UnknownArtifact
from documents.groups import is_visible
from documents.models import Artifact, Page
from evaluation.exceptions import UnknownJudgement
from evaluation.models import Judgement
from indexing.models import Index, Node
from retrieval.search.request import check_query


def save_judgement(
    index: str,
    query: str,
    *,
    is_good: bool,
    judged_by: str,
    node_id: UUID | None = None,
    artifact_id: UUID | None = None,
    grant: Grant = EVERYTHING,
) -> tuple[Judgement, bool]:
    """Store a judgement of one hit or of a whole artifact; return it and whether it is new.

    A judged hit counts for its page if the artifact has several pages, else for the artifact.

    Raises:
        UnknownIndex, UnknownArtifact: there is no such index or artifact.
        InvalidInput: the query is missing, the hit does not exist, or not exactly one of hit and
            artifact is given.
    """
    check_query([index], query)
    Index.objects.require(index)
    if (node_id is None) == (artifact_id is None):
        raise InvalidInput("Give either node_id or artifact_id.", field="node_id")
    page_index = None
    if node_id is not None:
        artifact_id, page_index = _find_judged_page(index, node_id, grant)
    assert artifact_id is not None
    artifact = Artifact.objects.visible_to(grant).filter(pk=artifact_id, index=index).first()
    if artifact is None:
        raise UnknownArtifact(
            f"The index {index} has no artifact with this id.", field="artifact_id"
        )
    # If another request stores a judgement of the same page meanwhile, this replaces it.
    return Judgement.objects.update_or_create(
        index_id=index,
        query_hash=hash_text(query),
        artifact=artifact,
        page_index=page_index,
        defaults={
            "query": query,
            "is_good": is_good,
            "judged_by": judged_by[:150],
            "node_id": node_id,
        },
    )


def delete_judgement(judgement_id: str | UUID, grant: Grant = EVERYTHING) -> None:
    """Delete a judgement that the grant shows. Raises ``UnknownJudgement``: there is no judgement
    with this id."""
    try:
        judgements = Judgement.objects.filter(is_visible(grant, "artifact__"), pk=judgement_id)
    except ValidationError:  # it is not a UUID
        raise UnknownJudgement(field="id") from None
    if not grant.limit(judgements).delete()[0]:
        raise UnknownJudgement(field="id")


def _find_judged_page(index: str, node_id: UUID, grant: Grant) -> tuple[UUID, int | None]:
    """Return a hit's artifact id, and its page index if the artifact has several pages."""
    nodes = Node.objects.filter(is_visible(grant, "artifact__"), point_id=node_id)
    node = nodes.filter(build__index=index).first()
    if node is None or node.artifact_id is None:
        raise InvalidInput(
            f"The index {index} has no hit with this node_id.",
            field="node_id",
            fix="Send the node_id of a hit that a search of this index returned.",
        )
    pages = Page.every_reading.filter(artifact=node.artifact_id)
    page = None if node.page_id is None else pages.filter(pk=node.page_id).first()
    if page is None or pages.filter(reading=page.reading).count() < 2:
        return node.artifact_id, None
    return node.artifact_id, page.index
