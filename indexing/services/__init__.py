"""Write services: load specs as indexes, plan the ledger, and sync it to the store.

The ledger is the queue: everything here can run twice, late, or beside itself on another
machine, and what it leaves undone the rows still say. Nothing here enqueues.
"""

from indexing.services.auditing import audit_documents, orphaned_artifacts
from indexing.services.loading import load_specs
from indexing.services.planning import draft_nodes, plan_nodes
from indexing.services.resets import reembed_nodes, retry_failed_nodes
from indexing.services.syncing import (
    NodeClaim,
    claim_nodes,
    delete_removed_nodes,
    ensure_collection,
    fail_exhausted_nodes,
    release_all_leases,
    release_claim,
    set_build_problem,
    sync_nodes,
)

__all__ = [
    "NodeClaim",
    "audit_documents",
    "claim_nodes",
    "delete_removed_nodes",
    "draft_nodes",
    "ensure_collection",
    "fail_exhausted_nodes",
    "load_specs",
    "orphaned_artifacts",
    "plan_nodes",
    "reembed_nodes",
    "release_all_leases",
    "release_claim",
    "retry_failed_nodes",
    "set_build_problem",
    "sync_nodes",
]
