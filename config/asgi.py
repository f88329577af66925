"""The ASGI application of the embedded and the production form."""

import django

from config.environment import load_environment

load_environment()
django.setup()

from config.request_handling import handle_request as application  # noqa: E402

__all__ = ["application"]
