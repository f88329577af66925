"""The WSGI application.

API requests with a bearer token skip the middleware for cookies, forms and frames, which would
take half a millisecond of each request.
"""

import os
from typing import Any, Final

from django.conf import settings
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application
from django.utils.module_loading import import_string

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")

API_PREFIX: Final = "/api/"


class ApiKeyHandler(WSGIHandler):
    """Answers with ``API_KEY_MIDDLEWARE`` only, none of which may have more than ``__call__``."""

    def load_middleware(self, is_async: bool = False) -> None:
        self._view_middleware: list[Any] = []
        self._template_response_middleware: list[Any] = []
        self._exception_middleware: list[Any] = []
        handler = convert_exception_to_response(self._get_response)  # type: ignore[attr-defined]
        for name in reversed(settings.API_KEY_MIDDLEWARE):
            handler = convert_exception_to_response(import_string(name)(handler))
        self._middleware_chain = handler


django_application = get_wsgi_application()
api_key_application = ApiKeyHandler()


def application(environ: dict[str, Any], start_response: Any) -> Any:
    has_key = environ.get("HTTP_AUTHORIZATION", "")[:7].lower() == "bearer "
    is_api_key_request = has_key and environ.get("PATH_INFO", "").startswith(API_PREFIX)
    return (api_key_application if is_api_key_request else django_application)(
        environ, start_response
    )
