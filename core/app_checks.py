"""System check of what apps say in their ``apps.py``."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from django.core.checks import CheckMessage, Error, register

from core.apps import StrataApp, list_apps


@register("strata")
def check_apps(**kwargs: Any) -> list[CheckMessage]:
    problems = [problem for app in list_apps() for problem in _find_unknown_names(app)]
    problems += _find_clashes("path parameter", lambda app: app.path_objects)
    problems += _find_clashes("kind of node", lambda app: {kind.name for kind in app.kinds})
    problems += _find_clashes("section of specs", lambda app: app.spec_sections)
    problems += _find_clashes(
        "embedding provider", lambda app: {each.name for each in app.embedding_providers}
    )
    problems += _find_clashes("kind of work", lambda app: {rows.work for rows in app.waiting_rows})
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


def _find_clashes(what: str, list_names: Any) -> list[str]:
    owners: dict[str, StrataApp] = {}
    return [
        f"The {what} {name} is of {app.name} and of {owners[name].name}."
        for app in list_apps()
        for name in list_names(app)
        if owners.setdefault(name, app) is not app
    ]
