"""System checks of what guards the API."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

SHORTEST_SECRET = 16  # characters


@register()
def check_admin_key(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    secret = settings.STRATA_ADMIN_KEY
    if not secret:
        return []
    is_visible = secret.isascii() and secret.isprintable() and " " not in secret
    if is_visible and len(secret) >= SHORTEST_SECRET:
        return []
    return [
        Error(
            f"STRATA_ADMIN_KEY must be at least {SHORTEST_SECRET} visible ASCII characters.",
            hint="It travels in a header, and its hash is only as strong as it is random: "
            "openssl rand -hex 32 makes a good one.",
            id="access.E001",
        )
    ]
