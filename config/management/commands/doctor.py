import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from core.exceptions import StrataError
from core.running_server import find_server
from indexing.embedding import examine_model
from indexing.spec.loaded import get_specs
from indexing.stores import get_store
from indexing.stores.ownership import is_embedded, owning_store


@dataclass(frozen=True, slots=True)
class Finding:
    subject: str
    is_well: bool
    detail: str
    fix: str = ""


class Command(BaseCommand):
    help = "Look at all the service stands on; each line says what to do."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000)

    def handle(self, *, port: int, **options: Any) -> None:
        is_well = True
        for finding in _examine(port):
            is_well &= finding.is_well
            mark = self.style.SUCCESS("ok  ") if finding.is_well else self.style.ERROR("fail")
            fix = f" -> {finding.fix}" if finding.fix else ""
            self.stdout.write(f"{mark} {finding.subject:<9} {finding.detail}{fix}")
        if not is_well:
            raise SystemExit(1)


def _examine(port: int) -> Iterator[Finding]:
    yield _python()
    yield _disk()
    yield from _models()
    server = find_server()
    if server is not None:
        yield Finding("port", True, f"The service runs at {server.url}.")
    else:
        yield _port(port)
    yield _database()
    if server is not None:
        yield Finding("vectors", True, "The running service owns the vector store.")
    else:
        yield _store()


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    is_well = sys.version_info >= (3, 11)
    return Finding("python", is_well, f"Python {version}.", "" if is_well else "Use 3.11 or later.")


def _disk() -> Finding:
    folder = Path(settings.STRATA_DATA_DIR)
    free = shutil.disk_usage(folder).free
    is_well = free > settings.STRATA_MIN_FREE_BYTES
    return Finding(
        "disk",
        is_well,
        f"{free // 2**20:,} MiB free under {folder}.",
        "" if is_well else f"Keep {settings.STRATA_MIN_FREE_BYTES // 2**20} MiB free.",
    )


def _models() -> Iterator[Finding]:
    try:
        embeddings = {model for spec in get_specs().values() for model in spec.embeddings}
    except StrataError as error:
        yield Finding("specs", False, str(error), "manage.py check names the field.")
        return
    for embedding in sorted(embeddings, key=lambda e: e.model):
        name = f"{embedding.model} ({embedding.provider}, {embedding.precision})"
        try:
            detail = examine_model(embedding)
        except StrataError as error:
            yield Finding("model", False, f"{name}: {error}", error.fix or "")
        else:
            yield Finding("model", True, f"{name}: {detail}")


def _port(port: int) -> Finding:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            return Finding(
                "port", False, f"Port {port}: {error.strerror}.", "Choose another with PORT=."
            )
    return Finding("port", True, f"Port {port} is free.")


def _database() -> Finding:
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        return Finding("database", False, f"{error}", "Check DATABASE_URL and the server.")
    if missing:
        return Finding(
            "database", False, f"{len(missing)} migrations are missing.", "manage.py migrate"
        )
    return Finding("database", True, f"{connection.vendor}, migrated.")


def _store() -> Finding:
    try:
        if is_embedded():
            with owning_store():
                get_store().ping()
        else:
            get_store().ping()
    except StrataError as error:
        return Finding("vectors", False, str(error), error.fix or "")
    return Finding("vectors", True, f"The {settings.STRATA_VECTOR_STORE} store answers.")
