"""Sets nodes pending again: to re-embed them, or to retry failed ones."""

from typing import Any

from django.db.models import QuerySet

from indexing.models import IndexBuild, Node


def reembed_nodes(nodes: QuerySet[Node]) -> int:
    """Set these nodes pending so that they are embedded and written again; return how many.

    Nodes to delete stay so, and retired builds are left alone.
    """
    not_deleting = nodes.exclude(state=Node.State.DELETING)
    return _reset_to_pending(not_deleting, synced_input_hash="")


def retry_failed_nodes(nodes: QuerySet[Node]) -> int:
    """Set the failed ones of these nodes pending with new attempts; return how many."""
    return _reset_to_pending(nodes.filter(state=Node.State.FAILED))


def _reset_to_pending(nodes: QuerySet[Node], **values: Any) -> int:
    receiving = IndexBuild.objects.not_retired().values("pk")
    return nodes.filter(build__in=receiving).update(
        state=Node.State.PENDING, attempts=0, last_error="", lease_token=None, leased_until=None,
        **values,
    )  # fmt: skip
