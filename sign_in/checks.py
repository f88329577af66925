"""System check of OpenID Connect."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register("strata")
def check_openid(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    names = ["STRATA_OIDC_ISSUER", "STRATA_OIDC_CLIENT_ID", "STRATA_OIDC_CLIENT_SECRET"]
    missing = [name for name in names if not getattr(settings, name)]
    if len(missing) == len(names):
        return []
    if missing:
        problem = f"OpenID Connect needs {', '.join(names)}; not set: {', '.join(missing)}."
        return [Error(problem, hint="Set all three, or none of them.", id="access.E003")]
    found: list[CheckMessage] = []
    issuer = urlsplit(settings.STRATA_OIDC_ISSUER)
    is_loopback = issuer.hostname in {"localhost", "127.0.0.1", "::1"}
    has_scheme = issuer.scheme == "https" or (issuer.scheme == "http" and is_loopback)
    if not issuer.hostname or not has_scheme or issuer.query or issuer.fragment:
        problem = (
            "STRATA_OIDC_ISSUER must be an https:// URL without query and fragment; http:// only "
            "on this machine."
        )
        hint = "Copy `issuer` from the provider's /.well-known/openid-configuration."
        found.append(Error(problem, hint=hint, id="access.E004"))
    if "openid" not in settings.STRATA_OIDC_SCOPES.split():
        problem = "STRATA_OIDC_SCOPES must include openid: without it, there is no ID token."
        hint = "The default is `openid profile email`."
        found.append(Error(problem, hint=hint, id="access.E005"))
    return found
