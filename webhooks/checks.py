"""System checks of the webhook URLs and secret."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from webhooks.sending import decode_secret

GENERATE_COMMAND = (
    "python -c \"import base64, os; print('whsec_' + base64.b64encode(os.urandom(32)).decode())\""
)


@register("strata")
def check_urls(**kwargs: Any) -> list[CheckMessage]:
    return [
        Error(
            f"STRATA_WEBHOOK_URLS holds {url!r}, which is not an http or https URL.",
            hint="Put commas between URLs, and write a comma inside one as %2C.",
            id="webhooks.E001",
        )
        for url in settings.STRATA_WEBHOOK_URLS
        if not _is_http_url(url)
    ]


@register("strata")
def check_secret(**kwargs: Any) -> list[CheckMessage]:
    if not settings.STRATA_WEBHOOK_URLS:
        return []
    if not settings.STRATA_WEBHOOK_SECRET:
        return [
            Error(
                "STRATA_WEBHOOK_URLS is set but STRATA_WEBHOOK_SECRET is not, so receivers could "
                "not verify the sender.",
                hint=f"{GENERATE_COMMAND} makes one.",
                id="webhooks.E002",
            )
        ]
    try:
        decode_secret(settings.STRATA_WEBHOOK_SECRET)
    except ValueError as error:
        return [
            Error(
                f"STRATA_WEBHOOK_SECRET is not well formed. {error}",
                hint=f"{GENERATE_COMMAND} makes one.",
                id="webhooks.E003",
            )
        ]
    return []


def _is_http_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and len(url) <= 2_000
