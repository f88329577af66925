"""Tells expected errors, after which work is tried again later, from defects.

Not in ``core.exceptions``, which the processes that read files import without Django.
"""

from django.db import InterfaceError, InternalError, OperationalError

from core.exceptions import StrataError


def is_connection_lost(error: BaseException) -> bool:
    """Whether PostgreSQL or the network ended the connection to the database. PostgreSQL does so to
    a process that was frozen within a transaction. The next query connects again."""
    if not isinstance(error, (OperationalError, InterfaceError, InternalError)):
        return False
    state = getattr(error.__cause__, "sqlstate", "")  # None: the connection broke without a reason
    return state is None or state.startswith(("08", "57P")) or state == "25P03"


def is_expected(error: BaseException) -> bool:
    """Whether work that raises it is tried again later, without counting the attempt."""
    return is_connection_lost(error) or (isinstance(error, StrataError) and error.is_expected)
