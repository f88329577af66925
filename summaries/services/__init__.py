"""Services that plan summaries and questions, have them written, and save edits by people.

The rows are the queue, as in the ledger: every service may run twice, late, or at the same time
on another machine. Nothing here enqueues tasks.
"""

from summaries.services.by_hand import delete_summary, edit_questions, edit_summary
from summaries.services.failures import Retried, retry_failed_work
from summaries.services.planning import draft_annotations, make_annotation, plan_written_texts
from summaries.services.rows import (
    ROWS_PER_STATEMENT,
    annotation_field_values,
    hash_inputs,
    make_texts_due,
)
from summaries.services.writing import (
    WriteBatchResult,
    add_cost_to_build,
    count_due_texts,
    delete_completions_without_document,
    describe_due_texts,
    has_claimable_texts,
    limit_to_calls_left,
    save_outcomes,
    write_due_texts,
)
