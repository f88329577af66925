"""Rows of the audit log for commands that change data themselves; the others ask the API, whose
requests have rows, or change nothing."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from getpass import getuser
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError

from access.grants import list_index_names


@contextmanager
def audit_command(command: BaseCommand, options: Mapping[str, Any]) -> Iterator[None]:
    """Write the row of a command when it ends."""
    status = 1
    try:
        yield
        status = 0
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        raise
    finally:
        _write_row(command, options.get("index"), status)


class AuditedCommand(BaseCommand):
    """For a command of Django that changes data."""

    def execute(self, *args: Any, **options: Any) -> Any:
        with audit_command(self, options):
            return super().execute(*args, **options)


def _write_row(command: BaseCommand, index: str | None, status: int) -> None:
    from audit.models import Subject
    from audit.services import write_rows

    name = command.__module__.rpartition(".")[2]
    caller = (Subject.Kind.COMMAND, 0, _name_user(), None)
    # Without a database, the command has failed and said so.
    with suppress(DatabaseError) if status else nullcontext():
        shown = index if index in list_index_names() else ""
        write_rows(caller, ("COMMAND", f"strata {name}"), status, [(shown or "", "", None)])


def _name_user() -> str:
    """The user of the process; its id where it has no name, as in a container."""
    try:
        return getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
