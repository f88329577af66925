"""Writes to indexes: mirroring specs, planning the ledger, syncing it.

The ledger is the queue: everything here can run twice, late, or beside itself on another
machine, and what it leaves undone the rows still say. Nothing here enqueues.
"""

from indexing.services.auditing import audit_documents, orphaned_artifacts
from indexing.services.loading import sync_indexes
from indexing.services.planning import draft_nodes, plan_nodes
from indexing.services.renewing import embed_again, retry_failed
from indexing.services.syncing import (
    NodeClaim,
    claim_nodes,
    delete_removed_nodes,
    ensure_collection,
    give_up_exhausted,
    note_problem,
    release_claim,
    release_leases,
    sync_nodes,
)

__all__ = [
    "NodeClaim",
    "audit_documents",
    "claim_nodes",
    "delete_removed_nodes",
    "draft_nodes",
    "embed_again",
    "ensure_collection",
    "give_up_exhausted",
    "note_problem",
    "orphaned_artifacts",
    "plan_nodes",
    "release_claim",
    "release_leases",
    "retry_failed",
    "sync_indexes",
    "sync_nodes",
]
