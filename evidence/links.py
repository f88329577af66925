"""What refers to a finding: findings near it that say something else, and references, which repeat
it. References become findings when the stored one changes or is deleted."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput
from documents.groups import covers_groups, is_visible
from documents.identity import find_by_external_ids
from documents.models import Artifact
from documents.services import TextContent, add_artifact
from evidence.duplicates import StoredFinding
from evidence.models import EvidenceReference, RecentEvidence, SimilarFindings, vector_values
from indexing.models import Index

logger = logging.getLogger(__name__)

MAX_SIMILAR = 10  # links that a finding gets when it is added

# --- Similar findings ------------------------------------------------------------------------


def link_similar_findings(
    artifact: Artifact, near: Sequence[StoredFinding]
) -> Sequence[StoredFinding]:
    """Link an artifact, whose content is new, with the first of these findings; return those."""
    SimilarFindings.objects.filter(Q(newer=artifact) | Q(older=artifact)).delete()
    others = Artifact.objects.exclude(pk=artifact.pk)
    others = others.filter(pk__in=[each.artifact_id for each in near])
    hashes = dict(others.values_list("pk", "sha256"))
    linked = [each for each in near if each.artifact_id in hashes][:MAX_SIMILAR]
    SimilarFindings.objects.bulk_create(
        SimilarFindings(
            newer=artifact,
            older_id=each.artifact_id,
            newer_sha256=artifact.sha256,
            older_sha256=hashes[each.artifact_id],
            similarity=each.similarity,
        )
        for each in linked
    )
    return linked


def read_similar_findings(
    artifact_ids: Sequence[UUID], grant: Grant
) -> dict[UUID, list[StoredFinding]]:
    """The visible findings linked with these, most similar first."""
    found = defaultdict(list)
    for this, that in (("newer", "older"), ("older", "newer")):
        links = SimilarFindings.objects.current().filter(
            is_visible(grant, f"{that}__"), **{f"{this}__in": artifact_ids}
        )
        for this_id, that_id, similarity in links.values_list(this, that, "similarity"):
            found[this_id].append(StoredFinding(that_id, similarity))
    return {
        pk: sorted(each, key=lambda finding: finding.similarity, reverse=True)
        for pk, each in found.items()
    }


# --- References ------------------------------------------------------------------------------


def read_references(
    artifact_ids: Iterable[UUID], grant: Grant
) -> dict[UUID, list[EvidenceReference]]:
    """The visible references of these findings, oldest first."""
    rows = EvidenceReference.objects.visible_to(grant).filter(artifact__in=list(artifact_ids))
    found: dict[UUID, list[EvidenceReference]] = {}
    for row in rows.defer("vectors"):
        found.setdefault(row.artifact_id, []).append(row)
    return found


def delete_references(
    index: str, external_id: str, grant: Grant, except_for: EvidenceReference | None = None
) -> None:
    """Delete the visible references with this id, because their URL was added again."""
    rows = EvidenceReference.objects.visible_to(grant)
    rows = rows.filter(artifact__index=index, external_id=external_id)
    if except_for is not None:
        rows = rows.exclude(pk=except_for.pk)
    rows.delete()


def release_references(artifact: Artifact, *, only_outdated: bool) -> None:
    """Make the oldest reference of a finding a finding; the others become references to it.

    Nobody loses a finding: a reference that more people may see than the new finding becomes a
    finding, too. ``only_outdated``: only references that repeat an earlier content of the
    artifact, or that more people may see than the artifact as it is now.
    """
    references = list(
        EvidenceReference.objects.filter(artifact=artifact).defer("vectors", "content")
    )
    if only_outdated:
        references = [
            each
            for each in references
            if each.repeated_sha256 != artifact.sha256
            or not covers_groups(artifact.groups, each.groups)
        ]
    if not references:
        return
    if not Index.objects.filter(pk=artifact.index, removal_requested_at=None).exists():
        EvidenceReference.objects.filter(pk__in=[each.pk for each in references]).delete()
        return
    with transaction.atomic():
        released: list[Artifact] = []
        for reference in references:
            successors = (each for each in released if covers_groups(each.groups, reference.groups))
            successor = next(successors, None)
            if successor is not None:
                reference.artifact, reference.repeated_sha256 = successor, successor.sha256
                reference.save(update_fields=["artifact", "repeated_sha256"])
                continue
            if not find_by_external_ids(artifact.index, [reference.external_id]):
                released.append(_add_as_finding(artifact.index, reference))
            reference.delete()


def _add_as_finding(index: str, reference: EvidenceReference) -> Artifact:
    content = TextContent((reference.content,))
    fields: dict[str, Any] = {
        "title": reference.title,
        "external_id": reference.external_id,
        "url": reference.url,
        "groups": reference.groups,
        "grant": EVERYTHING,
    }
    try:
        artifact, _ = add_artifact(index, content, metadata=reference.citation, **fields)
    except InvalidInput as error:  # the index declares other fields by now
        logger.warning("The citation of %s is dropped: %s", reference.url, error)
        artifact, _ = add_artifact(index, content, metadata={}, **fields)
    vectors = vector_values(reference.read_vectors(), reference.vector_space_hash)
    RecentEvidence.objects.update_or_create(artifact=artifact, defaults=vectors)
    return artifact
