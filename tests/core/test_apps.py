"""What apps say in their ``apps.py`` is checked when the service starts."""

from types import SimpleNamespace

import pytest

from core import app_checks
from core.app_checks import check_apps
from core.apps import PathObject, StrataApp, Task, WaitingRows, list_apps, list_queues
from documents.apps import DocumentsConfig
from indexing.apps import IndexingConfig
from indexing.kinds import KINDS
from indexing.providers import PROVIDERS

SEARCHES = {"structure": None}
TOOLS = [SimpleNamespace(name="draw")]


class Wrong(IndexingConfig):
    kinds = [KINDS["chunk"]]
    embedding_providers = [PROVIDERS["fastembed"]]
    tasks = [Task("embed_everything")]
    workers = ["another_worker"]
    waiting_rows = [WaitingRows("thinking", "Thought", ["due"])]
    path_objects = {"page_id": PathObject("Node")}
    spec_sections = {"drawings": "indexing.spec.AppSection"}
    searches = "tests.core.test_apps.SEARCHES"
    tools = "tests.core.test_apps.TOOLS"


class Same(DocumentsConfig):
    path_objects = {}
    waiting_rows = []
    spec_sections = Wrong.spec_sections
    searches = Wrong.searches
    tools = Wrong.tools


@pytest.fixture
def with_apps(monkeypatch):
    def install(*classes: type[StrataApp]) -> None:
        added = (cls.create(f"{cls.__module__}.{cls.__qualname__}") for cls in classes)
        given = (*list_apps(), *added)
        monkeypatch.setattr(app_checks, "list_apps", lambda: given)

    return install


def test_what_the_apps_say_is_right():
    assert check_apps() == []


def test_unknown_names_and_clashes_are_errors(with_apps):
    with_apps(Wrong, Same)

    assert [error.msg for error in check_apps()] == [
        "indexing has no model Thought.",
        "indexing.tasks has no embed_everything.",
        "indexing.tasks has no another_worker.",
        "The path parameter page_id is of indexing and of documents.",
        "The kind of node chunk is of indexing and of retrieval.",
        "The section of specs drawings is of documents and of indexing.",
        "The embedding provider fastembed is of indexing and of indexing.",
        "The search structure is of documents and of indexing.",
        "The tool draw is of documents and of indexing.",
    ]


def test_the_queues_are_those_of_all_tasks():
    assert set(list_queues()) == {"planning", "documents", "indexing", "llm", "webhooks", "sources"}
