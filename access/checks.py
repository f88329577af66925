"""System checks of the admin key and of the limits of keys."""

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


KEY_LIMITS = (
    "STRATA_KEY_REQUESTS_PER_MINUTE",
    "STRATA_KEY_STREAMS",
    "STRATA_KEY_WAITING_JOBS",
    "STRATA_KEY_WAITING_UPLOADS",
    "STRATA_KEY_MODEL_CALLS_PER_DAY",
    "STRATA_KEY_MODEL_TOKENS_PER_DAY",
)


@register()
def check_key_limits(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    return [
        Error(
            f"{name} is {getattr(settings, name)}, which is no limit.",
            hint="Set it to the largest number that is allowed, or to 0 if there is none.",
            id="access.E003",
        )
        for name in KEY_LIMITS
        if getattr(settings, name) < 0
    ]
