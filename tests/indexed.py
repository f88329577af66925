"""Find what the ledger of a build lacks."""

from documents.models import Artifact
from indexing import services
from indexing.drafting import get_drafters
from indexing.models import IndexBuild, IndexedDocument


def list_unplanned(build: IndexBuild) -> list[Artifact]:
    """Parsed artifacts whose current state the ledger does not match."""
    parsed = Artifact.objects.filter(index=build.index_id, state=Artifact.State.PARSED)
    ids = services.find_unplanned_artifacts(build, set(parsed.values_list("pk", flat=True)))
    return list(parsed.filter(pk__in=ids).order_by("pk"))


def list_unwritten(build: IndexBuild) -> list[Artifact]:
    """Parsed artifacts with texts that are not written or nodes that are not planned yet."""
    parsed = Artifact.objects.filter(index=build.index_id, state=Artifact.State.PARSED)
    ids = set(parsed.values_list("pk", flat=True))
    due = IndexedDocument.objects.due(build).values_list("artifact_id", flat=True)
    drafters = get_drafters(build).values()
    unwritten = {pk for drafter in drafters for pk in drafter.find_unwritten(ids, build)}
    return list(parsed.filter(pk__in={*due, *unwritten}).order_by("pk"))
