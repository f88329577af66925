"""System check of the admin key."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

MIN_SECRET_CHARS = 16


@register("strata")
def check_admin_key(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    secret = settings.STRATA_ADMIN_KEY
    hint = "openssl rand -hex 32 makes a good one."
    if not (secret.isascii() and secret.isprintable() and " " not in secret):
        problem = "may hold visible ASCII characters only, because it is sent in a header."
        return [Error(f"STRATA_ADMIN_KEY {problem}", hint=hint, id="access.E001")]
    if 0 < len(secret) < MIN_SECRET_CHARS:
        problem = f"is shorter than {MIN_SECRET_CHARS} characters and can be guessed."
        return [Error(f"STRATA_ADMIN_KEY {problem}", hint=hint, id="access.E002")]
    return []
