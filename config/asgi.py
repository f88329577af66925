"""The ASGI application of the embedded and the production form."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")
django.setup()

from config.request_handling import handle_request as application  # noqa: E402

__all__ = ["application"]
