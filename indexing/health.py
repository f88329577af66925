"""Finds documents that indexing has given up, and documents that wait while nothing is done."""

from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from documents.models import Artifact
from indexing.models import NOT_SYNCED, IndexBuild, IndexedDocument, Node, Throughput

STALLED_MINUTES = 15
RETRY_FIX = "strata verify --repair tries them again."

# For the partial index, which SQLite uses only with its own condition.
_NOT_READY = ~Q(state=IndexedDocument.State.READY)


def describe_failures(name: str | None = None) -> list[str]:
    """A sentence for each build, of this index or of all, in which documents, or nodes that are
    made from none, were given up."""
    builds = IndexBuild.objects.not_retired()
    sentences = []
    for build in builds if name is None else builds.filter(index=name):
        nodes = Node.objects.filter(NOT_SYNCED, build=build, state=Node.State.FAILED)
        documents = IndexedDocument.objects.filter(
            _NOT_READY, build=build, state=IndexedDocument.State.FAILED
        )
        counts = {
            "failed documents": documents.count(),
            "failed nodes of no document": nodes.filter(artifact=None).count(),
        }
        failed = ", ".join(f"{noun}: {count:,}" for noun, count in counts.items() if count)
        if failed:
            errors = [
                rows.exclude(last_error="").values_list("last_error", flat=True).first()
                for rows in (nodes, documents)
            ]
            cause = next((f" One error: {error}" for error in errors if error), "")
            sentences.append(f"{build} has {failed}.{cause}")
    return sentences


def has_failures() -> bool:
    """Whether ``describe_failures`` has something to say; costs three queries at most."""
    builds = list(IndexBuild.objects.not_retired().values_list("pk", flat=True))
    documents = IndexedDocument.objects.filter(
        _NOT_READY, build__in=builds, state=IndexedDocument.State.FAILED
    )
    nodes = Node.objects.filter(
        NOT_SYNCED, build__in=builds, state=Node.State.FAILED, artifact=None
    )
    return documents.exists() or nodes.exists()


def is_stalled() -> bool:
    """Whether documents have waited for ``STALLED_MINUTES`` in which nothing was embedded or
    written. A long import is not stalled."""
    since = timezone.now() - timedelta(minutes=STALLED_MINUTES)
    if Throughput.objects.filter(updated_at__gt=since).exists():
        return False
    builds = list(IndexBuild.objects.not_paused().values_list("pk", flat=True))
    waiting = IndexedDocument.objects.filter(_NOT_READY, build__in=builds, due_at__lt=since)
    unparsed = Artifact.objects.unparsed().filter(updated_at__lt=since)
    return waiting.unfinished().exists() or unparsed.exists()
