"""The WSGI application.

A program that shows a key is no browser: what Django does for cookies, forms and frames would
take half a millisecond of each of its requests, and is left out of their way.
"""

import os
from typing import Any, Final

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application
from django.utils.module_loading import import_string

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")

API: Final = "/api/"


class KeyedHandler(WSGIHandler):
    """Answers with ``KEYED_MIDDLEWARE`` only, none of which may have more than ``__call__``."""

    def load_middleware(self, is_async: bool = False) -> None:
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        handler = convert_exception_to_response(self._get_response)  # type: ignore[attr-defined]
        for name in reversed(settings.KEYED_MIDDLEWARE):
            handler = convert_exception_to_response(import_string(name)(handler))
        self._middleware_chain = handler


answer = get_wsgi_application()
answer_keyed = KeyedHandler()


def application(environ: dict[str, Any], start_response: Any) -> Any:
    shows_key = environ.get("HTTP_AUTHORIZATION", "")[:7].lower() == "bearer "
    is_keyed = shows_key and environ.get("PATH_INFO", "").startswith(API)
    return (answer_keyed if is_keyed else answer)(environ, start_response)
