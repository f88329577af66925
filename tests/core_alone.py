"""Plugin of pytest: of the tests of the core, those that need no optional app. For a run without
these apps, with the settings ``tests.left_out``."""

import re
from pathlib import Path

import pytest

from tests.optional_apps import OPTIONAL

IMPORT = re.compile(rf"^\s*(from|import) ({'|'.join(map(re.escape, OPTIONAL))})\b", re.MULTILINE)
# Files and tests that name a kind, a search, a task or a page of an optional app, or that start a
# program with all apps.
NEED_OPTIONAL_APPS = (
    "tests/access/test_ids_of_another_index.py",
    "tests/access/test_passwords.py::TestLogin",
    "tests/core/test_apps.py::test_the_queues_are_those_of_all_tasks",
    "tests/core/test_import_lock.py",
    "tests/documents/test_groups.py::TestOverHttp::test_refuses_routes_about_a_whole_index",
    "tests/documents/test_viewsets.py::TestList::test_takes_as_many_queries",
    "tests/indexing/kinds/test_importing.py",
    "tests/indexing/test_kinds.py::TestKinds::test_are_enabled_by_a_setting_of_the_spec",
    "tests/indexing/test_regenerate_command.py",
    "tests/indexing/test_regeneration.py::TestRegenerate::test_names_the_available_types",
    "tests/indexing/test_regeneration.py::TestRegenerate::test_treats_all_as_every_type",
    "tests/indexing/test_stored_spec.py",
    "tests/indexing/test_unreadable_builds.py::test_an_error_of_another_index",
    "tests/indexing/viewsets/test_builds.py::TestStartedTasks",
    "tests/indexing/viewsets/test_regenerate.py::TestRegenerate::test_passes_on",
    "tests/retrieval/search/test_hit_checks.py::TestHitChecks::test_read_the_rows_of_twenty",
    "tests/retrieval/test_api_commands.py",
    "tests/retrieval/test_all_searches.py::TestRunSearch::test_hides_indexes_outside_the_grant",
)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    is_listed = collection_path.as_posix().endswith(NEED_OPTIONAL_APPS)
    return is_listed or bool(IMPORT.search(collection_path.read_text(encoding="utf-8"))) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if not item.nodeid.startswith(NEED_OPTIONAL_APPS)]
