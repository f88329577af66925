"""Write services: load specs as indexes, plan the ledger, and sync it to the store.

The ledger is the queue: every service can run twice, late, or on two machines at once, and the rows
keep the work that is left. Nothing here enqueues tasks.
"""

from indexing.services.auditing import audit_documents, find_unplanned_artifacts
from indexing.services.documents import (
    changing_nodes,
    make_artifact_due,
    make_documents_due,
    make_removed_artifact_due,
    make_unannounced_due,
    regenerate_documents,
)
from indexing.services.loading import (
    has_search_settings,
    has_store_settings,
    load_new_specs,
    load_specs,
    save_store_settings,
    store_search_settings,
)
from indexing.services.planning import DocumentPlanner, plan_nodes
from indexing.services.rereading import (
    follow_unseen_text,
    make_unread,
    read_next,
    remove_unseen_readings,
)
from indexing.services.resets import (
    reembed_nodes,
    retry_failed_documents,
    retry_failed_nodes,
    set_pending,
)
from indexing.services.rows import draft_rows, draft_standalone_rows
from indexing.services.standalone import (
    count_standalone_rows,
    count_unfinished_standalone_rows,
    find_unplanned_rows,
    plan_standalone_nodes,
    plan_standalone_rows,
    plan_unannounced_standalone_nodes,
)
from indexing.services.syncing import (
    claim_nodes,
    delete_removed_nodes,
    draft_points,
    ensure_collection,
    fail_exhausted_nodes,
    set_build_problem,
    sync_nodes,
    write_vectors,
)
