"""Template context about signing in."""

import logging
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

logger = logging.getLogger(__name__)


def sign_in(request: HttpRequest) -> dict[str, Any]:
    """A context processor; it queries the database only for pages that use the value."""
    return {"can_people_sign_in": SimpleLazyObject(can_people_sign_in)}


def can_people_sign_in() -> bool:
    """Whether anyone but superusers, who use ``/admin/``, can sign in. False if the database does
    not answer: pages are shown even then."""
    if settings.STRATA_OIDC_ISSUER:
        return True
    try:
        return User.objects.filter(is_active=True, is_superuser=False).exists()
    except DatabaseError as error:
        logger.error("The database did not answer: %s", error)
        return False
