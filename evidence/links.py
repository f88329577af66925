"""What refers to a finding: findings near it that say something else, and references, which repeat
it. References become findings when the stored one changes or is deleted."""

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput
from core.text import hash_text
from documents.groups import covers_groups, is_visible
from documents.identity import find_by_external_ids
from documents.models import Artifact
from documents.services import TextContent, add_artifact
from evidence.duplicates import StoredFinding, compare
from evidence.models import EvidenceReference, RecentEvidence, SimilarFindings, vector_values
from evidence.spec import EvidenceSpec
from evidence.wording import has_same_words
from indexing.models import Index, IndexBuild

logger = logging.getLogger(__name__)

MAX_SIMILAR = 10  # links that a finding gets when it is added, and findings that a hit shows

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
    index: str,
    external_id: str,
    grant: Grant,
    groups: Sequence[str],
    except_for: EvidenceReference | None = None,
) -> None:
    """Delete the visible references with this id, because their URL was added again, with these
    groups. Those that more people may see stay."""
    rows = EvidenceReference.objects.visible_to(grant)
    rows = rows.filter(artifact__index=index, external_id=external_id)
    if except_for is not None:
        rows = rows.exclude(pk=except_for.pk)
    found = rows.values_list("pk", "groups")
    rows.filter(pk__in=[pk for pk, others in found if covers_groups(groups, others)]).delete()


def release_references(artifact: Artifact, *, only_outdated: bool) -> None:
    """Make the oldest reference of a finding a finding; the others become references to it.

    Nobody loses a finding: a reference that more people may see than the new finding, or that does
    not repeat it, becomes a finding, too. ``only_outdated``: only references that repeat an earlier
    content of the artifact, or that more people may see than the artifact as it is now.
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
    evidence = _read_settings(artifact.index)
    with transaction.atomic():
        released: list[tuple[EvidenceReference, Artifact]] = []
        for reference in references:
            successors = (each for each in released if _repeats(reference, each[0], evidence))
            successor = next(successors, None)
            if successor is not None:
                _move_reference(reference, *successor)
                continue
            external_id = _choose_external_id(artifact.index, reference)
            if external_id is not None:
                finding = _add_as_finding(artifact.index, reference, external_id)
                released.append((reference, finding))
            reference.delete()


def _read_settings(index: str) -> EvidenceSpec:
    """The defaults where the index keeps no findings any more."""
    builds = IndexBuild.objects.live().filter(index=index).readable()
    found = EvidenceSpec.of(builds[0].spec) if builds else None
    return EvidenceSpec() if found is None else found


def _repeats(
    reference: EvidenceReference, other: EvidenceReference, evidence: EvidenceSpec
) -> bool:
    """Whether a reference can refer to the finding that the other one becomes: both repeat the same
    finding, but not necessarily each other."""
    if not covers_groups(other.groups, reference.groups):
        return False
    if has_same_words(reference.content, other.content):
        return True
    similarity = _compare(reference, other)
    is_near = similarity is not None and similarity >= evidence.threshold
    return is_near and evidence.duplicates == "similarity"


def _compare(reference: EvidenceReference, other: EvidenceReference) -> float | None:
    """Their similarity; None if they were embedded in different ways."""
    if reference.vector_space_hash != other.vector_space_hash:
        return None
    return min(compare(reference.read_vectors(), other.read_vectors()), 1.0)


def _move_reference(
    reference: EvidenceReference, other: EvidenceReference, finding: Artifact
) -> None:
    """Refer to the finding that the other reference has become."""
    similarity = _compare(reference, other)
    reference.artifact, reference.repeated_sha256 = finding, finding.sha256
    reference.similarity = reference.similarity if similarity is None else similarity
    reference.save(update_fields=["artifact", "repeated_sha256", "similarity"])


def _choose_external_id(index: str, reference: EvidenceReference) -> str | None:
    """That of its URL; another one if a finding has it already, perhaps one that not all see who
    see the reference. None if that finding is the same."""
    parts = [reference.url, *reference.groups, reference.content]
    other_id = f"sha256 {hash_text(json.dumps(parts))}"
    found = find_by_external_ids(index, [reference.external_id, other_id])
    free = (each for each in (reference.external_id, other_id) if each not in found)
    return next(free, None)


def _add_as_finding(index: str, reference: EvidenceReference, external_id: str) -> Artifact:
    content = TextContent((reference.content,))
    fields: dict[str, Any] = {
        "title": reference.title,
        "external_id": external_id,
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
