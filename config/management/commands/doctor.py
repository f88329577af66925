import os
import shutil
import socket
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from config.health import OK, check_workers
from config.views import LIVE
from core.exceptions import StrataError
from core.running_server import RunningServer, ServerUnreachable, find_server
from documents.parsing import read_confinement
from documents.virus_scan import is_scanner_configured, ping_scanner
from indexing.embedding import describe_model_availability
from indexing.health import RETRY_FIX, describe_failures
from indexing.models import IndexBuild
from indexing.spec.loaded import get_invalid_specs, get_specs
from indexing.stores import exclusive_store_access, get_store, has_embedded_store
from indexing.text_faults import describe_text_faults
from retrieval.text_languages import UNREAD_TEXTS_FIX, describe_unread_texts
from summaries import llm
from summaries.writers import QUESTIONS_FIX, describe_missing_texts


@dataclass(frozen=True, slots=True)
class DiagnosticResult:
    subject: str
    is_ok: bool
    detail: str
    fix: str = ""


class Command(BaseCommand):
    help = (
        "Check Python, disk, models, port, database and vector store; print a fix for each failure."
    )
    requires_system_checks = ()

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
    yield _check_python()
    yield _check_free_disk()
    yield from _check_models()
    yield _check_language_model()
    yield _check_confinement()
    if is_scanner_configured():
        yield _check_scanner()
    server = find_server()
    if server is not None:
        yield DiagnosticResult("port", True, f"The service runs at {server.url}.")
    else:
        yield _check_port(port)
    yield _check_database()
    yield from _check_builds()
    yield from _check_texts()
    yield from _check_text_languages()
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
    """What the running server says of its parts; its documents are checked in the database."""
    try:
        checks = server.request("GET", "/health/ready").json()["checks"]
    except (ServerUnreachable, ValueError, KeyError) as error:
        yield DiagnosticResult("server", False, f"{server.url} is not well: {error}")
        return
    yield from _make_results({name: state for name, state in checks.items() if name != "database"})


def _make_results(checks: dict[str, str]) -> Iterator[DiagnosticResult]:
    for part, state in checks.items():
        yield DiagnosticResult(part, state == OK, "It works." if state == OK else state)


def _check_python() -> DiagnosticResult:
    version = ".".join(map(str, sys.version_info[:3]))
    is_ok = sys.version_info >= (3, 11)
    return DiagnosticResult(
        "python", is_ok, f"Python {version}.", "" if is_ok else "Use 3.11 or later."
    )


def _check_confinement() -> DiagnosticResult:
    if in_force := read_confinement():
        return DiagnosticResult("readers", True, f"Files are read with {' and '.join(in_force)}.")
    return DiagnosticResult(
        "readers", True, "Files are read with limits only: the system cannot confine processes."
    )


def _check_scanner() -> DiagnosticResult:
    try:
        ping_scanner()
    except StrataError as error:
        return DiagnosticResult("viruses", False, str(error), error.fix or "")
    return DiagnosticResult("viruses", True, f"The scanner at {settings.STRATA_CLAMD} answers.")


def _check_free_disk() -> DiagnosticResult:
    folder = Path(settings.STRATA_DATA_DIR)
    free = shutil.disk_usage(folder).free
    is_ok = free > settings.STRATA_MIN_FREE_BYTES
    return DiagnosticResult(
        "disk",
        is_ok,
        f"{free // 2**20:,} MiB free under {folder}.",
        "" if is_ok else f"Keep {settings.STRATA_MIN_FREE_BYTES // 2**20} MiB free.",
    )


def _check_models() -> Iterator[DiagnosticResult]:
    for problem in get_invalid_specs().values():
        yield DiagnosticResult("specs", False, problem, "Mend the file; the other indexes work.")
    embeddings = {model for spec in get_specs().values() for model in spec.embedding_specs}
    for embedding in sorted(embeddings, key=lambda e: e.model):
        name = f"{embedding.model} ({embedding.provider}, {embedding.precision})"
        try:
            detail = describe_model_availability(embedding)
        except StrataError as error:
            yield DiagnosticResult("model", False, f"{name}: {error}", error.fix or "")
        else:
            yield DiagnosticResult("model", True, f"{name}: {detail}")


def _check_language_model() -> DiagnosticResult:
    """Report what is missing without one. That is no failure."""
    if llm.is_configured():
        return DiagnosticResult("llm", True, f"{settings.STRATA_LLM_MODEL} writes texts.")
    missing = describe_missing_texts(get_specs())
    if missing is None:
        return DiagnosticResult("llm", True, "No language model is set, and no index needs one.")
    return DiagnosticResult("llm", True, missing, QUESTIONS_FIX)


def _check_port(port: int) -> DiagnosticResult:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if _is_served_by_strata(port):
                return DiagnosticResult(
                    "port", True, f"A Strata web server answers on port {port}."
                )
            return DiagnosticResult(
                "port", False, f"Port {port}: {error.strerror}.", "Choose another port with PORT=."
            )
    return DiagnosticResult("port", True, f"Port {port} is free.")


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
        return DiagnosticResult(
            "database", False, f"{len(missing)} migrations are missing.", "Run strata migrate."
        )
    if connection.vendor == "sqlite" and (damage := _find_damage()):
        return DiagnosticResult(
            "database", False, f"Its file is damaged: {damage}", "Restore a backup."
        )
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


def _check_builds() -> Iterator[DiagnosticResult]:
    """Report what blocks builds, such as a model that cannot be loaded."""
    try:
        builds = [build for build in IndexBuild.objects.not_retired() if build.first_problem]
    except DatabaseError:  # before the first start, or reported by _check_database
        return
    for build in builds:
        yield DiagnosticResult("index", False, f"{build} is waiting: {build.first_problem}")
    for failure in describe_failures():
        yield DiagnosticResult("index", False, failure, RETRY_FIX)


def _check_texts() -> Iterator[DiagnosticResult]:
    """Report what a language model should have written and did not."""
    try:
        indexes = [build.index_id for build in IndexBuild.objects.live()]
        found = {index: describe_text_faults(index) for index in indexes}
    except DatabaseError:  # as in _check_builds
        return
    for index, described in found.items():
        if described:
            fault, is_missing = described
            fix = f"Use another model, then run strata regenerate --index {index}."
            yield DiagnosticResult("texts", not is_missing, fault, fix)


def _check_text_languages() -> Iterator[DiagnosticResult]:
    """Report indexes in languages that their models do not know. Words still find them, so that is
    no failure."""
    try:
        builds = IndexBuild.objects.live().readable()
        found = [described for build in builds if (described := describe_unread_texts(build))]
    except DatabaseError:  # as in _check_builds
        return
    for described in found:
        yield DiagnosticResult("language", True, described, UNREAD_TEXTS_FIX)


def _check_store() -> DiagnosticResult:
    try:
        if has_embedded_store():
            with exclusive_store_access():
                get_store().ping()
                counts_in_corpus = get_store().counts_terms_in_corpus()
        else:
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
