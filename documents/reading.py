"""Read the files of artifacts into pages and sources.

Nothing here enqueues work; ``signals.py`` does, once a change is committed.
"""

import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from core.exceptions import StrataError
from core.leases import Claim, describe_error
from core.stages import describe, stage
from core.text import clean_name, clean_text, hash_text
from documents.exceptions import Unparsable
from documents.index_catalog import get_catalog
from documents.models import Artifact, Reading
from documents.originals import (
    FileContent,
    IncomingParts,
    delete_original_on_commit,
    get_recognised_pages_path,
)
from documents.pages import replace_pages
from documents.parsing import IMAGE_TYPES, ParsedDocument, describe_reader, ocr, parse_file
from documents.services import add_artifact, remove_parts
from documents.storage import get_storage
from documents.titles import set_title
from documents.virus_scan import is_scanner_configured, scan_file

logger = logging.getLogger(__name__)

SET_BY_HAND = "process"  # reader of pages that people could edit; they are not read anew
WITHOUT_OCR = " without OCR"  # ends the name of a reader that has left out pictures
IN_LANGUAGES = " in "  # then the languages in which Tesseract has read pictures end the name
PARTLY_READ = frozenset({"scanned_page", "unreadable_text", "no_text"})  # warnings
WITH_UNSEEN = " with unseen text"  # is in the name of a reader that has added it to its pages
MAX_PATH_CHARS = 200  # of a file in a ZIP; the path is part of an external id


def parse_artifact(artifact_id: uuid.UUID) -> Artifact | None:
    """Read an artifact's file into pages and sources.

    The attempt is counted before the work starts, so a file that kills its worker is given up after
    a few attempts. None if there is nothing to do: the artifact is parsed, deleted, or being parsed
    by another worker.

    Raises:
        ScannerUnavailable: the file waits for the virus scanner, which costs no attempt.
        OriginalsUnavailable, OSError: the storage or the disk is away, which costs none either.
    """
    unparsed = Artifact.objects.unparsed().filter(pk=artifact_id)
    claim = unparsed.claim(state=Artifact.State.PARSING)
    if claim is None:
        return None
    artifact = claim.rows.get()
    with claim.working():
        result: ParsedDocument | Unparsable
        try:
            result = _parse_claimed(claim, artifact)
        except FileNotFoundError:
            result = Unparsable("missing_file", "The original is gone from the data folder.")
        except Unparsable as error:
            result = error
        with transaction.atomic():
            current = claim.rows.select_for_update().first()
            if current is None:  # deleted, revised or claimed again
                return None
            if isinstance(result, Unparsable):
                logger.info("%s cannot be parsed: %s", artifact.pk, result.code)
                _set_failed(current, result)
            else:
                _set_parsed(current, result)
        return current
    return None


@stage("read")
def read_original(
    artifact: Artifact,
    *,
    report_page: Callable[[int, int], object] | None = None,
    receive: Callable[[str, bytes], None] | None = None,
) -> ParsedDocument:
    """Read the original as the current readers do; nothing is stored. Raises as ``parse_file``,
    and as ``parse_artifact``."""
    describe({"strata.artifact_ids": [str(artifact.pk)]})
    _scan_original(artifact)
    with get_storage().local(artifact.original_name) as path:
        return parse_file(
            path,
            file_name=artifact.file_name,
            takes_images=get_catalog().accepts_images(artifact.index),
            ocr_languages=get_catalog().ocr_languages(artifact.index),
            recognised=get_recognised_pages_path(artifact),
            report_page=report_page,
            receive=receive,
        )


def name_reader(
    artifact: Artifact,
    *,
    with_unseen: bool | None = None,
    ocr_languages: Sequence[str] | None = None,
) -> str:
    """What would read an artifact of these warnings now. It is stored with what it has read.
    ``with_unseen``: whether for a build that holds unseen text; the live one if left out.
    ``ocr_languages``: those of the index, to look them up once for many artifacts."""
    reader = describe_reader(artifact.file_name, artifact.media_type)
    codes = {each["code"] for each in artifact.warnings}
    if "hidden_text" in codes:
        if with_unseen is None:
            with_unseen = get_catalog().holds_unseen_text(artifact.index)
        reader += WITH_UNSEEN if with_unseen else ""
    is_partly_read = artifact.media_type in IMAGE_TYPES or codes & PARTLY_READ
    is_read_by_ocr = artifact.page_count > 0
    if not (is_partly_read or is_read_by_ocr):
        return reader
    if ocr_languages is None:
        ocr_languages = get_catalog().ocr_languages(artifact.index)
    if ocr.list_missing(ocr_languages):
        return f"{reader}{WITHOUT_OCR}"
    if is_read_by_ocr and ocr.needs_tesseract(ocr_languages):
        return f"{reader}{IN_LANGUAGES}{', '.join(ocr_languages)}"[:200]  # the column's length
    return reader


def is_outdated(
    artifact: Artifact,
    *,
    with_unseen: bool | None = None,
    ocr_languages: Sequence[str] | None = None,
) -> bool:
    """Whether another reader has read an artifact than would read it now. What OCR has read is not
    outdated where OCR is missing. ``with_unseen``, ``ocr_languages``: as of ``name_reader``."""
    reader = name_reader(artifact, with_unseen=with_unseen, ocr_languages=ocr_languages)
    if not reader.endswith(WITHOUT_OCR):
        return artifact.reader != reader
    had_ocr = artifact.reader.partition(IN_LANGUAGES)[0].removesuffix(WITHOUT_OCR)
    return had_ocr != reader.removesuffix(WITHOUT_OCR)


def find_outdated_artifacts(
    index: str,
    live_reading: int,
    *,
    with_unseen: bool | None = None,
    ocr_languages: Sequence[str] | None = None,
) -> list[uuid.UUID]:
    """The outdated documents of an index that a build of it can read anew. ``live_reading``: the
    number of the live build's readings. ``with_unseen`` and ``ocr_languages`` are those of
    ``name_reader``."""
    # A new build sees the later ones, too, so it must compare them with its own.
    later = Reading.objects.filter(artifact=OuterRef("pk"), number__gt=live_reading)
    artifacts = Artifact.objects.filter(index=index, state=Artifact.State.PARSED, has_file=True)
    if ocr_languages is None:
        ocr_languages = get_catalog().ocr_languages(index)
    rows = artifacts.exclude(reader=SET_BY_HAND).alias(has_later=Exists(later))
    outdated = [
        artifact.pk
        for artifact in rows.filter(has_later=False)
        .only("file_name", "media_type", "warnings", "reader", "page_count")
        .iterator()
        if is_outdated(artifact, with_unseen=with_unseen, ocr_languages=ocr_languages)
    ]
    return [*outdated, *rows.filter(has_later=True).values_list("pk", flat=True)]


def _parse_claimed(claim: Claim[Artifact], artifact: Artifact) -> ParsedDocument:
    if artifact.attempts > settings.STRATA_MAX_ATTEMPTS:
        raise Unparsable(
            "gave_up",
            f"Reading the file failed {settings.STRATA_MAX_ATTEMPTS} times. {artifact.last_error}",
            fix="Convert the file to another format and add it again.",
        )
    with IncomingParts() as parts:
        try:
            parsed = read_original(
                artifact,
                report_page=lambda read, all_: claim.rows.update(pages_read=read, page_count=all_),
                receive=None if artifact.part_of_id else parts.receive,
            )
            _replace_parts(claim, parts.finish())
        except StrataError as error:
            if isinstance(error, Unparsable) or error.is_retryable:
                raise
            detail = f"A file in it: {error.detail}"
            raise Unparsable(error.code, detail, fix=error.fix) from error
    return parsed


def _replace_parts(claim: Claim[Artifact], files: Iterable[tuple[str, FileContent]]) -> None:
    """Make each file in an artifact a document of its own, new ones with the artifact's metadata
    and groups, and delete those that the artifact no longer holds. Unchanged ones are not read
    again. Whoever sent the content was allowed to change all of them."""
    kept = []
    for name, content in files:
        with transaction.atomic():
            whole = claim.rows.select_for_update().first()
            if whole is None:  # deleted, revised or claimed again
                return
            name = clean_text(name)
            name = name if len(name) <= MAX_PATH_CHARS else hash_text(name)
            part, _ = add_artifact(
                whole.index, content, metadata=whole.metadata, groups=whole.groups, part_of=whole,
                external_id=f"{whole.pk}/{name}", added_by=whole.added_by,
            )  # fmt: skip
            kept.append(part.pk)
    if not Artifact.objects.filter(part_of__in=claim.rows).exists():  # most files: no transaction
        return
    with transaction.atomic():
        whole = claim.rows.select_for_update().first()
        if whole is None:
            return
        revisions = remove_parts(whole, kept)
    if revisions:
        try:
            receipt: Any = get_catalog().remove_artifact_points(revisions, whole.index).as_json()
        except StrataError as error:
            receipt = f"their points are not removed yet: {error}"
        logger.info(
            "Deleted %s, which %s no longer holds, with the revisions %s: %s",
            ", ".join(map(str, revisions)), whole.pk, list(revisions.values()), receipt,
        )  # fmt: skip


def require_clean_original(artifact: Artifact) -> None:
    """Have the virus scanner check an original that it has not seen yet, if there is a scanner.

    Raises:
        Unparsable: it refuses the file; the artifact is marked as failed.
        ScannerUnavailable, OriginalsUnavailable: one does not answer; retry helps.
        FileNotFoundError: there is no original.
    """
    if artifact.error_code == "infected_file":
        raise Unparsable(artifact.error_code, artifact.error_detail)
    try:
        _scan_original(artifact)
    except Unparsable as error:
        mark_artifact_failed(artifact, error)
        raise


def _scan_original(artifact: Artifact) -> None:
    if artifact.is_scanned or not is_scanner_configured():
        return
    with get_storage().local(artifact.original_name) as path:
        scan_file(path)
    Artifact.objects.filter(pk=artifact.pk, sha256=artifact.sha256).update(is_scanned=True)


def _set_parsed(artifact: Artifact, parsed: ParsedDocument) -> None:
    artifact.media_type = parsed.media_type[:150]  # sources of PDFs begin after running headers
    with_unseen = get_catalog().holds_unseen_text(artifact.index)
    artifact.warnings = [warning.as_json() for warning in parsed.warnings]
    replace_pages(artifact, parsed.pages, with_unseen=with_unseen)
    artifact.encoding = (parsed.encoding or "")[:40]
    artifact.reader = name_reader(artifact, with_unseen=with_unseen)
    set_title(artifact, clean_name(parsed.title).strip()[:1_000])
    _save_final_state(artifact, Artifact.State.PARSED)
    recognised = get_recognised_pages_path(artifact)
    transaction.on_commit(partial(recognised.unlink, missing_ok=True))


def mark_artifact_failed(artifact: Artifact, error: Unparsable) -> None:
    """Mark an artifact as failed, unless its content was replaced since it was read."""
    with transaction.atomic():
        current = Artifact.objects.select_for_update().filter(pk=artifact.pk).first()
        if current is not None and current.revision == artifact.revision:
            _set_failed(current, error)


def _set_failed(artifact: Artifact, error: Unparsable) -> None:
    replace_pages(artifact, [])
    artifact.error_code = error.code[:60]
    artifact.error_detail = describe_error(error)
    if error.code == "infected_file":
        delete_original_on_commit(artifact)
    _save_final_state(artifact, Artifact.State.FAILED)


def _save_final_state(artifact: Artifact, state: Artifact.State) -> None:
    artifact.state, artifact.last_error = state, ""
    artifact.lease_token = artifact.leased_until = None
    artifact.save()
