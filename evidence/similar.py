"""Links between findings that are near each other and say something else."""

from collections import defaultdict
from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from access.grants import Grant
from documents.groups import is_visible
from documents.models import Artifact
from evidence.duplicates import StoredFinding
from evidence.models import SimilarFindings

MAX_SIMILAR = 10  # links that a finding gets when it is added


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
