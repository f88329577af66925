"""System check of what apps say in their ``apps.py``."""

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string

from core.apps import StrataApp, list_apps

# What no two apps may call by the same name -> the names of an app.
_NAMES: dict[str, Callable[[StrataApp], Iterable[str]]] = {
    "path parameter": lambda app: app.path_objects,
    "kind of node": lambda app: {kind.name for kind in app.kinds},
    "section of specs": lambda app: app.spec_sections,
    "embedding provider": lambda app: {each.name for each in app.embedding_providers},
    "search": lambda app: import_string(app.searches) if app.searches else (),
    "tool": lambda app: [tool.name for tool in import_string(app.tools)] if app.tools else (),
    "kind of work": lambda app: {rows.work for rows in app.waiting_rows},
}


@register("strata")
def check_apps(**kwargs: Any) -> list[CheckMessage]:
    problems = [problem for app in list_apps() for problem in _find_unknown_names(app)]
    for what, list_names in _NAMES.items():
        problems += _find_clashes(what, list_names)
    return [Error(problem, hint="Mend its apps.py.", id="core.E001") for problem in problems]


def _find_unknown_names(app: StrataApp) -> Iterator[str]:
    models = [*(rows.model for rows in app.waiting_rows), *app.exported]
    models += [named.model for named in app.path_objects.values()]
    for name in dict.fromkeys(models):
        try:
            app.find_model(name)
        except LookupError:
            yield f"{app.name} has no model {name}."
    names = [*(task.name for task in app.tasks), *app.workers]
    tasks = import_module(f"{app.name}.tasks") if names else None
    yield from (f"{app.name}.tasks has no {name}." for name in names if not hasattr(tasks, name))


def _find_clashes(what: str, list_names: Callable[[StrataApp], Iterable[str]]) -> list[str]:
    owners: dict[str, StrataApp] = {}
    return [
        f"The {what} {name} is of {app.name} and of {owners[name].name}."
        for app in list_apps()
        for name in list_names(app)
        if owners.setdefault(name, app) is not app
    ]
