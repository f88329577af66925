"""Rows of the audit log for commands that write to the database themselves; others ask the API or
change nothing. It imports no models before a command has loaded them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from getpass import getuser
from itertools import takewhile

from core.apps import list_apps


@contextmanager
def audit_command(arguments: Sequence[str]) -> Iterator[None]:
    """Write the row of a command when it ends."""
    status = 0
    try:
        yield
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        raise
    finally:
        if _may_change_data(arguments):
            _write_row(arguments, status)


def list_commands_that_write() -> set[str]:
    return {name for app in list_apps() for name in app.commands_that_write}


def _may_change_data(arguments: Sequence[str]) -> bool:
    if not arguments or arguments[0] not in list_commands_that_write():
        return False
    named = takewhile(lambda argument: argument != "--", arguments)  # what follows are no options
    options = {argument.partition("=")[0] for argument in named}
    # Options may be abbreviated; no other option of the command begins with this letter.
    if arguments[0] == "evaluate" and not any(option.startswith("--i") for option in options):
        return False  # it measures in a temporary data folder
    return not any(
        option == "-h"
        or (len(option) > 2 and ("--help".startswith(option) or "--version".startswith(option)))
        for option in options
    )


def _write_row(arguments: Sequence[str], status: int) -> None:
    from django.db import DatabaseError

    from access.grants import list_index_names
    from audit.models import Subject
    from audit.services import write_rows

    caller = (Subject.Kind.COMMAND, 0, getuser(), None)
    given = {argument.rpartition("=")[2] for argument in arguments[1:]}
    # Without a database, the command has failed and said so.
    with suppress(DatabaseError) if status else nullcontext():
        index = next(iter(given.intersection(list_index_names())), "")
        write_rows(caller, ("COMMAND", f"strata {arguments[0]}"), status, [(index, "", None)])
