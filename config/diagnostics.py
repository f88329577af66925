"""Checks of what this installation needs, for ``doctor`` and the page of its work."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Count
from django.utils.module_loading import import_string

from core.apps import list_apps
from core.exceptions import StrataError
from documents.models import Artifact
from documents.parsing import docling_serve, read_confinement
from documents.partial_reading import IS_PARTIAL, explain_missing_ocr
from documents.storage import get_storage
from documents.virus_scan import is_scanner_configured, ping_scanner
from indexing.embedding import describe_model_availability, describe_sparse_model_availability
from indexing.health import RETRY_FIX, describe_failures
from indexing.hooks import describe_text_faults
from indexing.models import IndexBuild
from indexing.spec.loaded import get_invalid_specs, get_specs
from indexing.throughput import LANGUAGE_MODEL_CALLS, get_rate_per_second
from language_models import llm
from retrieval.document_languages import UNREAD_TEXTS_FIX, describe_unread_texts
from summaries.writers import QUESTIONS_FIX, describe_missing_texts

PARTIAL_FIX = "The page Documents lists them, and says what helps."


@dataclass(frozen=True, slots=True)
class DiagnosticResult:
    subject: str
    is_ok: bool
    detail: str
    fix: str = ""


def check_installation() -> Iterator[DiagnosticResult]:
    """The specs, and what reads and writes documents."""
    for problem in get_invalid_specs().values():
        yield DiagnosticResult("specs", False, problem, "Mend the file; the other indexes work.")
    yield _check_language_model()
    confined = ", ".join(read_confinement()) or "limits only: the system cannot confine processes"
    yield DiagnosticResult("readers", True, f"Files are read with {confined}.")
    if is_scanner_configured():
        scanner = f"The scanner at {settings.STRATA_CLAMD}"
        yield _check_answer("viruses", ping_scanner, scanner)
    if docling_serve.list_endings():
        converter = f"docling-serve at {settings.STRATA_DOCLING_SERVE_URL}"
        yield _check_answer("readers", docling_serve.ping, converter)
    if settings.STRATA_S3_BUCKET:
        bucket = f"The bucket {settings.STRATA_S3_BUCKET}"
        yield _check_answer("originals", get_storage().check, bucket)


def check_indexes() -> Iterator[DiagnosticResult]:
    """What blocks builds, and what was not written or cannot be read. Nothing of it if the database
    does not answer, as before the first start; another check reports that."""
    documents = (_check_ocr, _check_partial_documents, _check_texts, _check_text_languages)
    for check in (_check_builds, *documents, _check_apps):
        try:
            yield from list(check())
        except DatabaseError:
            return


def _check_answer(subject: str, ask: Callable[[], object], service: str) -> DiagnosticResult:
    try:
        ask()
    except StrataError as error:
        return DiagnosticResult(subject, False, str(error), error.fix or "")
    return DiagnosticResult(subject, True, f"{service} answers.")


def check_free_disk() -> DiagnosticResult:
    folder = Path(settings.STRATA_DATA_DIR)
    free = shutil.disk_usage(folder).free
    is_ok = free > settings.STRATA_MIN_FREE_BYTES
    return DiagnosticResult(
        "disk",
        is_ok,
        f"{free // 2**20:,} MiB free under {folder}.",
        "" if is_ok else f"Keep {settings.STRATA_MIN_FREE_BYTES // 2**20} MiB free.",
    )


def check_models() -> Iterator[DiagnosticResult]:
    """Whether the files of each embedding model are there and unchanged. Takes seconds."""
    embeddings = {model for spec in get_specs().values() for model in spec.embedding_specs}
    for embedding in sorted(embeddings, key=lambda e: e.model):
        name = f"{embedding.model} ({embedding.provider}, {embedding.precision})"
        try:
            detail = describe_model_availability(embedding)
        except StrataError as error:
            yield DiagnosticResult("model", False, f"{name}: {error}", error.fix or "")
        else:
            yield DiagnosticResult("model", True, f"{name}: {detail}")
    for name in sorted(filter(None, {spec.sparse.model for spec in get_specs().values()})):
        detail = describe_sparse_model_availability(name)
        yield DiagnosticResult("model", True, f"{name} (sparse): {detail}")


def _check_language_model() -> DiagnosticResult:
    """Report what is missing without one. That is no failure."""
    if llm.is_configured():
        rate = get_rate_per_second(LANGUAGE_MODEL_CALLS)
        lately = f", lately one in {1 / rate:.1f} s" if rate else ""
        return DiagnosticResult("llm", True, f"{settings.STRATA_LLM_MODEL} writes texts{lately}.")
    missing = describe_missing_texts(get_specs())
    if missing is None:
        return DiagnosticResult("llm", True, "No language model is set, and no index needs one.")
    return DiagnosticResult("llm", True, missing, QUESTIONS_FIX)


def _check_builds() -> Iterator[DiagnosticResult]:
    """Report what blocks builds, such as a model that cannot be loaded."""
    for build in IndexBuild.objects.not_retired():
        if build.first_problem:
            yield DiagnosticResult("index", False, f"{build} is waiting: {build.first_problem}")
    for failure in describe_failures():
        yield DiagnosticResult("index", False, failure, RETRY_FIX)


def _check_ocr() -> Iterator[DiagnosticResult]:
    """Report indexes of which scans cannot be read here. Workers read them, perhaps on another
    machine, so that is no failure."""
    for build in IndexBuild.objects.live().readable():
        languages = build.spec.ocr_languages
        if languages and (fix := explain_missing_ocr(languages)):
            detail = f"{build.index_id}: scans cannot be read here; ocr_languages of its spec: "
            yield DiagnosticResult("ocr", True, f"{detail}{', '.join(languages)}.", fix.strip())


def _check_partial_documents() -> Iterator[DiagnosticResult]:
    """Report documents of which readers left out a part. The rest is found, so that is no
    failure."""
    partial = Artifact.objects.filter(IS_PARTIAL).values_list("index").order_by("index")
    for index, count in partial.annotate(Count("pk")):
        detail = f"{index}: documents that were read in part: {count:,}."
        yield DiagnosticResult("reading", True, detail, PARTIAL_FIX)


def _check_apps() -> Iterator[DiagnosticResult]:
    """Report what optional apps say of the indexes. None of it is a failure."""
    for app in list_apps():
        for subject, detail, fix in import_string(app.diagnostics)() if app.diagnostics else ():
            yield DiagnosticResult(subject, True, detail, fix)


def _check_texts() -> Iterator[DiagnosticResult]:
    """Report what a language model should have written and did not."""
    for build in IndexBuild.objects.live():
        if described := describe_text_faults(build.index_id):
            fault, is_missing = described
            fix = f"Use another model, then run strata regenerate --index {build.index_id}."
            yield DiagnosticResult("texts", not is_missing, fault, fix)


def _check_text_languages() -> Iterator[DiagnosticResult]:
    """Report indexes in languages that their models do not know. Words still find them, so that is
    no failure."""
    for build in IndexBuild.objects.live().readable():
        if described := describe_unread_texts(build):
            yield DiagnosticResult("language", True, described, UNREAD_TEXTS_FIX)
