"""Erases deleted text from the files of the embedded form. Servers do so by their own vacuum."""

import logging
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.utils import timezone

from indexing.stores import get_store

logger = logging.getLogger(__name__)


def erase_deleted() -> None:
    """Rewrite the collections in which something was deleted ``STRATA_ERASE_SECONDS`` ago, and
    empty SQLite's write-ahead log, which holds earlier versions of rows. SQLite overwrites deleted
    rows by itself (``secure_delete``).

    Raises:
        StoreUnavailable, DiskFull: the next call tries again.
    """
    deleted_before = timezone.now() - timedelta(seconds=settings.STRATA_ERASE_SECONDS)
    for collection in get_store().erase_deleted(deleted_before):
        logger.info("Erased what was deleted in %s.", collection)
    if Path(f"{connection.settings_dict['NAME']}-wal").exists():  # SQLite's log
        with connection.cursor() as cursor:
            # Does nothing while others read; the next call tries again.
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
