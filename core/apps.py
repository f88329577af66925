"""What each app adds to the service.

An app says it once, in the class of its ``apps.py``. What serves, runs, shows or exports it reads
it here. An app that is not in ``INSTALLED_APPS`` adds nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from django.apps import AppConfig, apps
from django.conf import settings
from django.core.management.base import BaseCommand
from django.db.models import Model, Q
from django.utils.module_loading import import_string, module_has_submodule

from core.embedding_providers import EmbeddingProvider
from core.node_kinds import Kind

DEFAULT_QUEUE = "planning"
ALL = Q()


@dataclass(frozen=True, slots=True)
class Task:
    """A task of the app's module ``tasks`` that is started each ``every`` seconds, or waits in a
    queue of its own. All others wait in the default queue. ``purpose``: what it is also started
    for at once, such as ``promotion``."""

    name: str
    queue: str = DEFAULT_QUEUE
    every: float | None = None
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class WaitingRows:
    """Rows that wait for one kind of work, as the page *Work* and the metrics show them.

    ``model``: a name in the app, of a ``LeasedRow``. ``since``: the field that says how long a row
    waits, empty if none does. ``condition``: that of a partial index.
    """

    work: str
    model: str
    states: Sequence[str]
    failed: str = "failed"  # the state; empty if the work does not fail for good
    since: str = ""
    error: str = "last_error"
    code: str = ""  # the field with the error's code, empty if it is not stored
    condition: Q = ALL


@dataclass(frozen=True, slots=True)
class PathObject:
    """The rows that an id in the path of a request names. ``model``: a name in the app."""

    model: str
    field: str = "pk"
    condition: Q = ALL


class StrataApp(AppConfig):
    """An app of the service. Names are those of its own modules and models."""

    urls: ClassVar[str] = ""  # a module of URLs, below the root
    api_urls: ClassVar[str] = ""  # a module of URLs, below ``/api/v1/``
    # Paths whose views are asynchronous, those of them whose answers are sent while they are made,
    # and those that wait for a host that is not the operator's.
    asynchronous_paths: ClassVar[frozenset[str]] = frozenset()
    streaming_paths: ClassVar[frozenset[str]] = frozenset()
    slow_paths: ClassVar[frozenset[str]] = frozenset()
    page: ClassVar[str] = ""  # its address, the folder of its template, and its name in the menu
    search_choices: ClassVar[str] = ""  # a template: further choices of the page *Search*
    documents_part: ClassVar[str] = ""  # a template: a further part of the page *Documents*
    document_part: ClassVar[str] = ""  # a template: a further part of the page of a document
    # A function that yields what ``doctor`` reports of it besides failures: a subject, what is
    # there, and what helps.
    diagnostics: ClassVar[str] = ""
    preload: ClassVar[str] = ""  # a function that loads what requests should not wait for
    kinds: ClassVar[Sequence[Kind]] = ()
    embedding_providers: ClassVar[Sequence[EmbeddingProvider]] = ()
    # Sections of specs: the name of each, and its class, an ``indexing.spec.AppSection``.
    spec_sections: ClassVar[Mapping[str, str]] = {}
    searches: ClassVar[str] = ""  # a table such as ``retrieval.searches.SEARCHES``
    tools: ClassVar[str] = ""  # of agents: a list of ``retrieval.agent_tools.Tool``
    tasks: ClassVar[Sequence[Task]] = ()
    workers: ClassVar[Sequence[str]] = ()  # variables of the module ``tasks`` that can be stopped
    waiting_rows: ClassVar[Sequence[WaitingRows]] = ()
    path_objects: ClassVar[Mapping[str, PathObject]] = {}  # by the parameter of the path
    # Folders with what people write for the app, each named by a setting, such as
    # ``STRATA_SPECS_DIR``. A folder in one that has the name of an index is exported with it.
    project_folders: ClassVar[Sequence[str]] = ()
    exported: ClassVar[Sequence[str]] = ()  # models whose rows an import adds, in that order
    # A context manager of the app in which commands run that change data themselves, given the
    # command and its options.
    around_change: ClassVar[str] = ""

    def ready(self) -> None:
        """Import what registers itself when it is imported."""
        for name in ("checks", "signals", "tasks"):
            if module_has_submodule(self.module, name):
                import_module(f"{self.name}.{name}")

    def find_model(self, name: str) -> type[Model]:
        return apps.get_model(self.label, name)


@cache
def list_apps() -> tuple[StrataApp, ...]:
    """The installed apps of the service, in the order of ``INSTALLED_APPS``. They can be read
    before Django has started."""
    created = map(AppConfig.create, settings.INSTALLED_APPS)
    return tuple(app for app in created if isinstance(app, StrataApp))


def list_queues() -> list[str]:
    """The queues of all tasks."""
    queues = (task.queue for app in list_apps() for task in app.tasks)
    return list(dict.fromkeys([DEFAULT_QUEUE, *queues]))


def iter_tasks() -> Iterator[tuple[str, Task]]:
    """Each declared task with its full name."""
    for app in list_apps():
        for task in app.tasks:
            yield f"{app.name}.tasks.{task.name}", task


@cache
def list_workers() -> tuple[Any, ...]:
    """All background workers of the process, so that they can be stopped."""
    return tuple(
        getattr(import_module(f"{app.name}.tasks"), name)
        for app in list_apps()
        for name in app.workers
    )


def list_project_folders() -> dict[str, Path]:
    """Name -> where it is."""
    names = (name for app in list_apps() for name in app.project_folders)
    return {name: Path(getattr(settings, f"STRATA_{name.upper()}_DIR")) for name in names}


def list_exported_models() -> list[type[Model]]:
    """The models whose rows belong to an index, in the order in which an import adds them."""
    return [app.find_model(name) for app in list_apps() for name in app.exported]


@contextmanager
def around_change(command: BaseCommand, options: Mapping[str, Any]) -> Iterator[None]:
    """Run a command that changes data in the context managers of all apps."""
    with ExitStack() as entered:
        for app in list_apps():
            if app.around_change:
                entered.enter_context(import_string(app.around_change)(command, options))
        yield
