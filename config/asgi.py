"""The ASGI application of both forms, for whatever server runs it."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")
django.setup()

from config.request_handling import handle_request as application  # noqa: E402

__all__ = ["application"]
