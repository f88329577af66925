"""Reads originals anew for a build, if other readers have read them than would read them now.

Its documents are unread until then and are not planned. What was read becomes current when the
build becomes live.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from core.expected_errors import is_expected
from core.leases import WORKER_DIED, Claim, describe_error
from documents.exceptions import Unparsable
from documents.models import Artifact, Reading
from documents.originals import get_recognised_pages_path
from documents.pages import add_reading, delete_readings, find_unseen_readings
from documents.parsing import ParsedDocument
from documents.reading import (
    SET_BY_HAND,
    WITH_UNSEEN,
    is_outdated,
    name_reader,
    read_original,
)
from documents.services import parse_again
from indexing.hooks import Fault
from indexing.models import Index, IndexBuild, IndexedDocument
from indexing.services.batches import ROWS_PER_STATEMENT
from indexing.services.documents import DUE

logger = logging.getLogger(__name__)


READINGS_PER_DELETION = 100


def make_unread(build: IndexBuild, artifact_ids: Sequence[UUID]) -> None:
    """Have a new build read these documents anew before it plans them."""
    IndexedDocument.objects.bulk_create(
        [IndexedDocument(build=build, artifact_id=pk, is_unread=True) for pk in artifact_ids],
        batch_size=ROWS_PER_STATEMENT,
    )


def read_next(build: IndexBuild, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Read the original of one unread document of a build; return how many were claimed.

    What cannot be read keeps its previous reading in the build, with the reason on its row.

    Raises:
        ScannerUnavailable, OriginalsUnavailable, OSError: it stays unread, which costs no attempt.
    """
    unread = IndexedDocument.objects.unread(build).order_by("pk")
    claim = None if should_stop() else unread.claim(1)
    if claim is None:
        return 0
    with claim.working():
        _read_claimed(build, claim)
    return 1


def _read_claimed(build: IndexBuild, claim: Claim[IndexedDocument]) -> None:
    document = claim.rows.get()
    artifact = Artifact.objects.filter(pk=document.artifact_id).first()
    parsed: ParsedDocument | None = None
    problem = ""
    if artifact is not None and artifact.state == Artifact.State.PARSED and artifact.has_file:
        try:
            parsed = _read_original(artifact, document.attempts)
        except Exception as error:
            if is_expected(error) and not isinstance(error, Unparsable):
                raise
            logger.info("%s cannot be read anew for %s: %s", artifact.pk, build, error)
            problem = describe_error(error)
    with transaction.atomic():
        current = Artifact.objects.select_for_update().filter(pk=document.artifact_id).first()
        if not claim.rows.select_for_update().exists():
            return  # the document was changed or claimed again
        is_same = (
            artifact
            and current
            and ((current.sha256, current.state) == (artifact.sha256, artifact.state))
        )
        if artifact is not None and parsed is not None and is_same:
            with_unseen = build.spec.holds_unseen_text
            artifact.refresh_from_db(fields=["page_count"])  # OCR has counted them
            artifact.warnings = [warning.as_json() for warning in parsed.warnings]
            artifact.reader = name_reader(artifact, with_unseen=with_unseen)
            add_reading(artifact, parsed.pages, build.reading, with_unseen=with_unseen)
            recognised = get_recognised_pages_path(artifact)
            transaction.on_commit(partial(recognised.unlink, missing_ok=True))
        claim.rows.update(is_unread=False, reading_problem=problem, **DUE)


def follow_unseen_text(build: IndexBuild) -> int:
    """Have those documents parsed again that were added while another build was live, which held
    unseen text other than this live one does; return how many."""
    documents = IndexedDocument.objects.filter(build=build).exclude(reading_problem="")
    rows = Artifact.objects.filter(
        index=build.index_id,
        state=Artifact.State.PARSED,
        has_file=True,
        warnings__icontains='"hidden_text"',
    ).exclude(Q(reader=SET_BY_HAND) | Q(pk__in=documents.values("artifact")))
    is_with_unseen = Q(reader__contains=WITH_UNSEEN)
    others = rows.filter(~is_with_unseen if build.spec.holds_unseen_text else is_with_unseen)
    return parse_again(others) if others.exists() else 0


def drop_reading(build: IndexBuild, artifact_id: UUID, problem: str) -> bool:
    """Have a build see the previous reading of a document, because it can make no nodes of its own
    one; return whether it has one."""
    own = Reading.objects.filter(artifact=artifact_id, number=build.reading)
    if IndexBuild.objects.live().filter(pk=build.pk).exists():
        return False
    with transaction.atomic():
        Artifact.objects.select_for_update().filter(pk=artifact_id).first()
        if not delete_readings(own):
            return False
        documents = IndexedDocument.objects.filter(build=build, artifact=artifact_id)
        documents.update(reading_problem=problem, **DUE)
    return True


def _read_original(artifact: Artifact, attempts: int) -> ParsedDocument:
    if attempts > settings.STRATA_MAX_ATTEMPTS:
        raise Unparsable("gave_up", WORKER_DIED)
    # Files in it are documents of their own already.
    rows = Artifact.objects.filter(pk=artifact.pk)
    return read_original(
        artifact,
        report_page=lambda read, all_: rows.update(pages_read=read, page_count=all_),
        receive=None if artifact.part_of_id else lambda name, block: None,
    )


def find_reading_faults(
    documents: Iterable[IndexedDocument],
) -> Iterator[tuple[UUID, Fault]]:
    """The faults of those of these documents that could not be read anew."""
    problems = {each.artifact_id: each.reading_problem for each in documents}
    failed = [artifact_id for artifact_id, problem in problems.items() if problem]
    for artifact in Artifact.objects.filter(pk__in=failed) if failed else ():
        if is_outdated(artifact):  # its content was not replaced since
            detail = f"It could not be read anew and keeps its text: {problems[artifact.pk]}"
            yield artifact.pk, {"code": "not_reread", "detail": detail}


def remove_unseen_readings(name: str) -> None:
    """Delete the readings of an index that none of its builds sees."""
    has_more = True
    while has_more:
        with transaction.atomic():
            # With its lock no build can be made meanwhile.
            index = Index.objects.select_for_update().get(pk=name)
            numbers = set(index.builds.filter(removed_at=None).values_list("reading", flat=True))
            if not numbers:
                return  # the index is being removed, and its documents with it
            unseen = find_unseen_readings(name, numbers).order_by("pk")
            count = delete_readings(unseen[:READINGS_PER_DELETION])
            has_more = count == READINGS_PER_DELETION
