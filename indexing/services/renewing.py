"""Nodes made due again, for people who ask."""

from typing import Any

from django.db.models import QuerySet

from indexing.models import IndexBuild, Node


def embed_again(nodes: QuerySet[Node]) -> int:
    """Have these nodes embedded and written anew, whatever the store holds of them; how many.

    Nodes to delete stay so, and retired builds are left alone.
    """
    standing = nodes.exclude(state=Node.State.DELETING)
    return _make_pending(standing, synced_input_hash="")


def retry_failed(nodes: QuerySet[Node]) -> int:
    """Give the failed ones of these nodes their attempts back; how many."""
    return _make_pending(nodes.filter(state=Node.State.FAILED))


def _make_pending(nodes: QuerySet[Node], **values: Any) -> int:
    receiving = IndexBuild.objects.receiving().values("pk")
    return nodes.filter(build__in=receiving).update(
        state=Node.State.PENDING, attempts=0, last_error="", lease_token=None, leased_until=None,
        **values,
    )  # fmt: skip
