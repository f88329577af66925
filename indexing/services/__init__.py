"""Writes to indexes: mirroring specs, planning the ledger, settling it.

The ledger is the queue: everything here can run twice, late, or beside itself on another
machine, and what it leaves undone the rows still say. Nothing here enqueues.
"""

from indexing.services.auditing import audit_documents, bereft_artifacts
from indexing.services.loading import sync_indexes
from indexing.services.planning import draft_nodes, plan_nodes
from indexing.services.renewing import embed_again, retry_failed
from indexing.services.syncing import (
    Claim,
    claim_nodes,
    ensure_collection,
    give_up_exhausted,
    note_problem,
    release_claim,
    release_leases,
    remove_doomed,
    settle_nodes,
)

__all__ = [
    "Claim",
    "audit_documents",
    "bereft_artifacts",
    "claim_nodes",
    "draft_nodes",
    "embed_again",
    "ensure_collection",
    "give_up_exhausted",
    "note_problem",
    "plan_nodes",
    "release_claim",
    "release_leases",
    "remove_doomed",
    "retry_failed",
    "settle_nodes",
    "sync_indexes",
]
