"""Writes to what is written about documents: planning it, having it written, taking it by hand.

Its rows are its queue, as the ledger's are: everything here can run twice, late, or beside
itself on another machine. Nothing here enqueues.
"""

from summaries.services.by_hand import (
    clean_fields,
    retry_failed,
    take_annotation,
    take_summary,
    write_again,
)
from summaries.services.planning import draft_annotations, plan_writing
from summaries.services.rows import KINDS_OF, ROWS_PER_STATEMENT, annotation_values, hash_inputs
from summaries.services.writing import (
    LEASE_SECONDS,
    SUSPECT_ATTEMPTS,
    Written,
    due_count,
    has_writable,
    release_leases,
    spend,
    unplanned_artifacts,
    writable,
    write_due,
)

__all__ = [
    "KINDS_OF",
    "LEASE_SECONDS",
    "ROWS_PER_STATEMENT",
    "SUSPECT_ATTEMPTS",
    "Written",
    "annotation_values",
    "clean_fields",
    "draft_annotations",
    "due_count",
    "has_writable",
    "hash_inputs",
    "plan_writing",
    "release_leases",
    "retry_failed",
    "spend",
    "take_annotation",
    "take_summary",
    "unplanned_artifacts",
    "writable",
    "write_again",
    "write_due",
]
