"""What every page needs to know about signing in."""

from collections.abc import Callable

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest


def sign_in(request: HttpRequest) -> dict[str, Callable[[], bool]]:
    """A context processor; templates call the function."""
    return {"can_people_sign_in": can_people_sign_in}


def can_people_sign_in() -> bool:
    """Whether anyone can who is not a superuser, for whom ``/admin/`` is enough."""
    return bool(settings.STRATA_OIDC_ISSUER) or (
        User.objects.filter(is_active=True, is_superuser=False).exists()
    )
