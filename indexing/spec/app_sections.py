"""The sections of a spec that apps add: ``spec_sections`` of their ``apps.py``."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.utils.module_loading import import_string
from pydantic import create_model

from core.apps import list_apps
from indexing.spec.sections import AppSection, FrozenModel, StoredIn

SECTIONS: dict[str, type[AppSection]] = {
    name: import_string(path) for app in list_apps() for name, path in app.spec_sections.items()
}
# Of apps that may be left out of ``INSTALLED_APPS``: a spec is told which one its section needs.
OPTIONAL_APPS = {
    "compounds": "spaces", "concepts": "concepts", "evidence": "evidence", "images": "spaces",
}  # fmt: skip
MISSING_APPS = {name: app for name, app in OPTIONAL_APPS.items() if name not in SECTIONS}
# Settings of the core that only such an app reads.
APP_BY_SETTING = {"identifiers": "answers", "search.pipeline": "answers"}

if TYPE_CHECKING:

    class AppSections(FrozenModel): ...

else:
    AppSections = create_model(
        "AppSections",
        __base__=FrozenModel,
        **{name: (section | None, None) for name, section in SECTIONS.items()},
    )


def list_sections(stored_in: StoredIn) -> tuple[str, ...]:
    return tuple(name for name, each in SECTIONS.items() if each.stored_in == stored_in)


def leave_out_missing(content: Mapping[str, Any], *, is_stored: bool) -> dict[str, Any]:
    """The content without the sections of apps that are not installed.

    What is stored stays readable: nodes of such an app are not served.

    Raises:
        ValueError: the content is of a file, and has one of them.
    """
    for name, app in MISSING_APPS.items():
        if not is_stored and content.get(name) not in (None, False):
            raise ValueError(_describe_missing(name, app))
    return {name: each for name, each in content.items() if name not in MISSING_APPS}


def require_app_of(setting: str) -> None:
    """Raises ``ValueError``: the app that alone reads the setting is not installed."""
    app = APP_BY_SETTING[setting]
    if app not in {installed.name for installed in list_apps()}:
        raise ValueError(_describe_missing(setting, app))


def _describe_missing(setting: str, app: str) -> str:
    return f"{setting}: the app {app} is not installed: it is missing in INSTALLED_APPS"
