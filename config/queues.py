"""The queues, which task waits in which, and the tasks that beat starts."""

QUEUES = (
    "planning",  # planning the ledger, reconciliations: short, many; they wait for no files
    "documents",  # reading files: a second each, or a minute, many
    "indexing",  # embedding and writing points: long, few
    "llm",  # waiting for a language model: long, many
    "webhooks",  # waiting for receivers: seconds each, few
)
TASK_QUEUES = {  # the others are in the first queue
    "documents.tasks.parse_artifact": "documents",
    "indexing.tasks.read_anew": "documents",
    "indexing.tasks.sync_nodes": "indexing",
    "indexing.tasks.erase_deleted": "indexing",
    "summaries.tasks.write_due_texts": "llm",
    "concepts.tasks.extract_concepts": "llm",
    "webhooks.tasks.send_due_deliveries": "webhooks",
    "concepts.tasks.update_emergent_pairs": "indexing",
    # These search, so they run where the embedding model is loaded.
    "evaluation.tasks.promote_builds": "indexing",
    "evaluation.tasks.measure_run": "indexing",
}
PERIODIC_TASKS = {  # seconds between two runs
    "documents.tasks.reconcile_documents": 60.0,
    "indexing.tasks.load_new_specs": 60.0,  # costs one query if there is none
    "indexing.tasks.reconcile_indexes": 60.0,
    "indexing.tasks.erase_deleted": 600.0,
    "summaries.tasks.reconcile_written_texts": 60.0,
    "concepts.tasks.reconcile_concepts": 60.0,
    "webhooks.tasks.reconcile_deliveries": 60.0,
    "audit.tasks.seal_and_prune": 60.0,
    "evaluation.tasks.promote_builds": 10.0,  # costs one query if no promotion is requested
    "evaluation.tasks.reconcile_runs": 60.0,
}
