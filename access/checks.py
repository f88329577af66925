"""System checks of the admin key."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

MIN_SECRET_CHARS = 16  # characters


@register()
def check_admin_key(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    secret = settings.STRATA_ADMIN_KEY
    if not secret:
        return []
    if not (secret.isascii() and secret.isprintable() and " " not in secret):
        return [
            Error(
                "STRATA_ADMIN_KEY may hold visible ASCII characters only, because it is sent in a "
                "header.",
                hint="openssl rand -hex 32 makes a good one.",
                id="access.E001",
            )
        ]
    if len(secret) < MIN_SECRET_CHARS:
        return [
            Error(
                f"STRATA_ADMIN_KEY is shorter than {MIN_SECRET_CHARS} characters and can be "
                "guessed.",
                hint="openssl rand -hex 32 makes a good one.",
                id="access.E002",
            )
        ]
    return []
