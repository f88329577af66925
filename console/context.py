"""Template context of all pages."""

from typing import Any

from django.http import HttpRequest

from core.apps import list_apps


def list_app_pages() -> list[str]:
    """The pages of optional apps, in the order of the menu."""
    return [app.page for app in list_apps() if app.page]


def menu(request: HttpRequest) -> dict[str, Any]:
    """A context processor."""
    choices = [app.search_choices for app in list_apps() if app.search_choices]
    parts = [app.documents_part for app in list_apps() if app.documents_part]
    document = [app.document_part for app in list_apps() if app.document_part]
    return {
        "app_pages": list_app_pages(), "search_choices": choices, "documents_parts": parts,
        "document_parts": document,
    }  # fmt: skip
