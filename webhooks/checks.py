"""System check of the secret of webhooks."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from webhooks.sending import decode_secret

GENERATE_COMMAND = (
    "python -c \"import base64, os; print('whsec_' + base64.b64encode(os.urandom(32)).decode())\""
)


@register("strata")
def check_secret(**kwargs: Any) -> list[CheckMessage]:
    if not settings.STRATA_WEBHOOK_URLS:
        return []
    hint = f"{GENERATE_COMMAND} makes one."
    if not settings.STRATA_WEBHOOK_SECRET:
        problem = (
            "STRATA_WEBHOOK_URLS is set but STRATA_WEBHOOK_SECRET is not, so receivers could not "
            "verify the sender."
        )
        return [Error(problem, hint=hint, id="webhooks.E002")]
    try:
        decode_secret(settings.STRATA_WEBHOOK_SECRET)
    except ValueError as error:
        problem = f"STRATA_WEBHOOK_SECRET is not well formed. {error}"
        return [Error(problem, hint=hint, id="webhooks.E003")]
    return []
