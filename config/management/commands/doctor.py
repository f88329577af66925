import os
import socket
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from config.diagnostics import (
    DiagnosticResult,
    check_free_disk,
    check_indexes,
    check_installation,
    check_models,
)
from config.health import OK, check_workers
from config.views import LIVE
from core.commands import LocalCommand, has_embedded_store
from core.exceptions import StrataError
from core.running_server import RunningServer, ServerUnreachable, find_server
from indexing.stores import exclusive_store_access, get_store


class Command(LocalCommand):
    help = (
        "Check Python, disk, models, port, database and vector store; print a fix for each failure."
    )
    requires_system_checks = []
    prepares_database = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--port", type=int, help="Default: that of the running server or of STRATA_LISTEN."
        )

    def handle(self, *, port: int | None, **options: Any) -> None:
        is_ok = True
        for result in _run_diagnostics(_find_port() if port is None else port):
            is_ok &= result.is_ok
            mark = self.style.SUCCESS("ok  ") if result.is_ok else self.style.ERROR("fail")
            fix = f" -> {result.fix}" if result.fix else ""
            self.stdout.write(f"{mark} {result.subject:<9} {result.detail}{fix}")
        if not is_ok:
            raise SystemExit(1)


def _run_diagnostics(port: int) -> Iterator[DiagnosticResult]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield DiagnosticResult("python", True, f"Python {version}.")
    yield check_free_disk()
    yield from check_installation()
    yield from check_models()
    server = find_server()
    if server is not None:
        yield DiagnosticResult("port", True, f"The service runs at {server.url}.")
    else:
        yield _check_port(port)
    yield _check_database()
    yield from check_indexes()
    if server is not None:
        yield from _check_server(server)
        return
    yield _check_store()
    if not has_embedded_store():
        yield from _make_results(check_workers())


def _find_port() -> int:
    """The port on which gunicorn listens."""
    port = os.environ.get("STRATA_LISTEN", "").rpartition(":")[2]
    return int(port) if port.isdecimal() else 8000


def _check_server(server: RunningServer) -> Iterator[DiagnosticResult]:
    """What the running server says of its parts, without those that this process has checked."""
    try:
        checks = server.request("GET", "/health/ready").json()["checks"]
    except (ServerUnreachable, ValueError, KeyError) as error:
        yield DiagnosticResult("server", False, f"{server.url} is not well: {error}")
        return
    others = {name: state for name, state in checks.items() if name not in {"database", "disk"}}
    yield from _make_results(others)


def _make_results(checks: dict[str, str]) -> Iterator[DiagnosticResult]:
    for part, state in checks.items():
        yield DiagnosticResult(part, state == OK, "It works." if state == OK else state)


def _check_port(port: int) -> DiagnosticResult:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            problem = f"Port {port}: {error.strerror}."
        else:
            return DiagnosticResult("port", True, f"Port {port} is free.")
    if _is_served_by_strata(port):
        return DiagnosticResult("port", True, f"A Strata web server answers on port {port}.")
    return DiagnosticResult("port", False, problem, "Choose another port with PORT=.")


def _is_served_by_strata(port: int) -> bool:
    try:
        answer = httpx.get(f"http://127.0.0.1:{port}/health/live", timeout=2, trust_env=False)
        return bool(answer.json() == LIVE)
    except (httpx.HTTPError, ValueError):
        return False


def _check_database() -> DiagnosticResult:
    try:
        executor = MigrationExecutor(connection)
        missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError as error:
        return DiagnosticResult("database", False, f"{error}", "Check DATABASE_URL and the server.")
    if missing:
        problem = f"{len(missing)} migrations are missing."
        return DiagnosticResult("database", False, problem, "Run strata migrate.")
    if connection.vendor == "sqlite" and (damage := _find_damage()):
        problem = f"Its file is damaged: {damage}"
        return DiagnosticResult("database", False, problem, "Restore a backup.")
    return DiagnosticResult("database", True, f"{connection.vendor}, migrated.")


def _find_damage() -> str:
    """The first damage of the SQLite file; empty if there is none. Reads the whole file."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA quick_check(1)")
            found = str(cursor.fetchone()[0])
    except DatabaseError as error:
        return str(error)
    return "" if found == "ok" else found


def _check_store() -> DiagnosticResult:
    try:
        with exclusive_store_access() if has_embedded_store() else nullcontext():
            get_store().ping()
            counts_in_corpus = get_store().counts_terms_in_corpus()
    except StrataError as error:
        return DiagnosticResult("vectors", False, str(error), error.fix or "")
    answers, fixes = f"The {settings.STRATA_VECTOR_STORE} store answers.", list[str]()
    if not counts_in_corpus:
        answers += " The scores of keyword searches depend on documents of other groups."
        fixes.append("Use Qdrant 1.19 or later.")
    has_key = bool(getattr(settings, "QDRANT_API_KEY", ""))
    if has_key and not getattr(settings, "QDRANT_URL", "").startswith("https:"):
        answers += " The API key is sent to it unencrypted."
        fixes.append("Use https on a shared network.")
    return DiagnosticResult("vectors", True, answers, " ".join(fixes))
