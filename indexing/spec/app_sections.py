"""The sections of a spec that apps add: ``spec_sections`` of their ``apps.py``."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.utils.module_loading import import_string
from pydantic import create_model

from core.apps import list_apps
from indexing.spec.optional_apps import APP_BY_SECTION, require_app
from indexing.spec.sections import AppSection, FrozenModel, StoredIn

SECTIONS: dict[str, type[AppSection]] = {
    name: import_string(path) for app in list_apps() for name, path in app.spec_sections.items()
}
MISSING_APPS = {name: app for name, app in APP_BY_SECTION.items() if name not in SECTIONS}

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
            require_app(app, name)
    return {name: each for name, each in content.items() if name not in MISSING_APPS}
