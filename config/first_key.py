"""The key of ``STRATA_ADMIN_KEY``, which the first start of a web process on servers makes. In the
embedded form, ``serve`` makes the first key, also without that setting."""

import logging

from django.conf import settings
from django.db import DatabaseError, connection

from access.checks import check_admin_key
from access.models import ApiKey
from core.exceptions import InvalidInput

logger = logging.getLogger(__name__)


def make_first_key() -> None:
    """Make the key if there has never been one. Several processes may start at once."""
    if not settings.STRATA_ADMIN_KEY:
        return
    if faults := check_admin_key(None):
        logger.error("No key was made: %s", faults[0].msg)
        return
    try:
        if not ApiKey.objects.exists():
            ApiKey.issue("admin", secret=settings.STRATA_ADMIN_KEY)
    except InvalidInput:
        pass  # another process has just made it
    except DatabaseError as error:  # the process serves, and reports it
        logger.error("The key of STRATA_ADMIN_KEY could not be looked up: %s", error)
    finally:
        connection.close()
