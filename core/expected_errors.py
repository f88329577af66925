"""Tells expected errors, after which work is tried again later, from defects.

Not in ``core.exceptions``, which the processes that read files import without Django.
"""

import errno
import logging
import sqlite3

from django.db import InterfaceError, InternalError, OperationalError

from core.exceptions import StrataError

# Errors that a request was answered with. A command whose own process answers prints them instead.
answered_errors = logging.getLogger(f"{__name__}.answered")

# The connection was lost; no resources; an administrator intervened; the system failed.
POSTGRESQL_OUTAGES = ("08", "53", "57P", "58", "25P03")
SQLITE_OUTAGES = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
}
MACHINE_FAULTS = {  # of a disk, or of a machine without resources; not of one file
    errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENODEV, errno.ENXIO, errno.ESTALE,
    errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN,
}  # fmt: skip


def is_database_unavailable(error: BaseException) -> bool:
    """Whether the database, its disk or the network failed. PostgreSQL also ends the connection of
    a process that was frozen within a transaction; the next query connects again."""
    if not isinstance(error, (OperationalError, InterfaceError, InternalError)):
        return False
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", 0) & 0xFF in SQLITE_OUTAGES  # the primary code
    state = getattr(cause, "sqlstate", "")  # None: the connection broke without a reason
    return state is None or state.startswith(POSTGRESQL_OUTAGES)


def is_expected(error: BaseException) -> bool:
    """Whether work that raises it is tried again later, without counting the attempt."""
    if isinstance(error, StrataError):
        return error.is_expected
    return is_database_unavailable(error) or (
        isinstance(error, OSError)
        and (isinstance(error, ConnectionError) or error.errno in MACHINE_FAULTS)
    )
