"""Which tests are slow, and which also run on PostgreSQL, Redis and Qdrant."""

import pytest

# They start services and browsers, kill them, wait for them, or send many generated requests. Those
# measured take 0.3 to 2.4 seconds of processor time each, the other tests 0.06 on average.
# ``pytest.mark.slow`` marks single tests of other files.
SLOW = (
    "tests/backup/test_backup.py",
    "tests/backup/test_encryption.py",
    "tests/backup/test_export.py",
    "tests/browser/",
    "tests/config/test_commands.py",
    "tests/config/test_dashboard.py",
    "tests/config/test_limits.py",
    "tests/config/test_tracing.py",
    "tests/faults/",
    "tests/image/",
    "tests/openapi/",
    "tests/presets/test_examples.py",
    "tests/retrieval/test_presets.py",
    "tests/tenants/",
    "tests/test_left_out_apps.py",
    "tests/upgrade/",
)

# Where tests that ask the database or the store run on servers, too.
ON_SERVERS = (
    "tests/access/",
    "tests/answers/",
    "tests/audit/",
    "tests/concepts/",
    "tests/core/",
    "tests/curation/",
    "tests/documents/test_",
    "tests/evaluation/",
    "tests/evidence/",
    "tests/feeds/",
    "tests/guests/test_views.py",
    "tests/indexing/test_estimates.py",
    "tests/indexing/test_lifecycle.py",
    "tests/indexing/test_revisions.py",
    "tests/indexing/test_services.py",
    "tests/presets/papers/test_importing.py",
    "tests/retrieval/",
    "tests/spaces/images/",
    "tests/spaces/test_compound.py",
    "tests/spaces/test_image.py",
    "tests/summaries/test_admin.py",
    "tests/summaries/test_services.py",
    "tests/summaries/test_writers.py",
    "tests/webhooks/",
)
NOT_ON_SERVERS = (
    "tests/access/test_ids_of_another_index.py",
    "tests/access/test_matrix.py",
    "tests/audit/test_auditing.py",
    "tests/concepts/test_update_emergent_pairs_command.py",
    "tests/evaluation/test_evaluate_command.py",
)
ASKS_A_SERVER = {"db", "transactional_db", "store", "shared_store", "qdrant_url"}  # fixtures


def mark(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SLOW):
            item.add_marker("slow")
        if _runs_on_servers(item):
            item.add_marker("servers")


def _runs_on_servers(item: pytest.Item) -> bool:
    if item.nodeid.startswith("tests/servers/"):
        return True
    asks = item.get_closest_marker("django_db") or ASKS_A_SERVER.intersection(
        getattr(item, "fixturenames", ())
    )
    return (
        bool(asks)
        and item.nodeid.startswith(ON_SERVERS)
        and not item.nodeid.startswith(NOT_ON_SERVERS)
    )
