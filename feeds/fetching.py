"""Work on the entries of a feed: bring what is due, and remove what is gone.

Each entry is changed in one transaction with its document. An attempt is counted before the work
starts. An entry that fails waits, longer each time, and does not stop the others.
"""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from math import isfinite
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from access.grants import EVERYTHING
from core.exceptions import StrataError
from core.expected_errors import is_expected
from core.leases import FRESH, WORKER_DIED, Claim, describe_error
from core.text import clean_name
from documents.exceptions import UnknownArtifact
from documents.identity import find_by_external_ids, find_existing
from documents.models import Artifact
from documents.originals import FileContent, save_incoming_file
from documents.serializers import MAX_EXTERNAL_ID_CHARS
from documents.services import (
    AddOutcome,
    add_artifact,
    assign_next_revision,
    remove_artifact,
    replace_content,
    update_artifact,
)
from feeds.exceptions import EntryGone, EntryRefused, SourceUnavailable
from feeds.models import Feed, FeedEntry
from feeds.protocol import Reader
from indexing.models import IndexBuild
from indexing.spec import FieldSpec

logger = logging.getLogger(__name__)

BATCH_SIZE = 50
RENEWAL_SECONDS = 5.0
FIRST_WAIT = timedelta(seconds=30)  # after a failed attempt; four times as long after the next
WAIT_FACTOR = 4
MAX_UNAVAILABLE = 3  # in a row, after which the source as a whole is left alone


class LeaseLost(Exception):
    """Another worker has the feed now, or a person has paused it."""


@dataclass(slots=True)
class Holding:
    """The claim of a feed. It is renewed where there is progress, and not by a clock: a worker that
    hangs loses it."""

    claim: Claim[Feed]
    renewed_at: float = field(default_factory=time.monotonic)

    def note_progress(self) -> None:
        """Raises ``LeaseLost``."""
        if time.monotonic() < self.renewed_at + RENEWAL_SECONDS:
            return  # a write for each small file would take as long as the file
        if not self.claim.renew(progress_at=Now()):
            raise LeaseLost
        self.renewed_at = time.monotonic()

    def lock(self) -> None:
        """Have the transaction write only if the feed is still held. Raises ``LeaseLost``."""
        if not self.claim.rows.active().select_for_update().exists():  # type: ignore[attr-defined]
            raise LeaseLost


@dataclass
class Work:
    """The entries of a feed that one worker works on for a while."""

    feed: Feed
    reader: Reader
    holding: Holding
    is_over: Callable[[], bool]
    report: dict[str, int] = field(default_factory=dict)
    unavailable_count: int = 0

    def count(self, name: str, number: int = 1) -> None:
        self.report[name] = self.report.get(name, 0) + number

    def run(self) -> None:
        """Work on a batch. What was renamed must be found before its old document is removed, so
        what is new comes first.

        Raises:
            LeaseLost: nothing more was changed.
            SourceUnavailable: nothing of it can be fetched now.
        """
        due = self.feed.entries.due()
        for entry in due.filter(state=FeedEntry.State.DUE).order_by("attempts", "pk")[:BATCH_SIZE]:
            if self.is_over():
                return
            self._attempt(entry, self._bring)
        new = self.feed.entries.filter(state=FeedEntry.State.DUE, sha256="")
        if new.filter(attempts=0).exists():
            return
        removed = due.filter(state=FeedEntry.State.REMOVING)
        # One of what cannot be fetched yet may be its document under another name.
        sizes = new.filter(byte_count__isnull=False).values_list("byte_count", flat=True)
        removed.filter(byte_count__in=list(sizes)).update(next_attempt_at=Now() + FIRST_WAIT)
        for entry in removed.order_by("attempts", "pk")[:BATCH_SIZE]:
            if self.is_over():
                return
            self._attempt(entry, self._remove)

    def _attempt(self, entry: FeedEntry, work: Callable[[FeedEntry], None]) -> None:
        rows = FeedEntry.objects.filter(pk=entry.pk)
        self.holding.note_progress()
        if entry.attempts >= settings.STRATA_MAX_ATTEMPTS:
            rows.update(state=FeedEntry.State.FAILED, last_error=WORKER_DIED)
            return
        entry.attempts += 1
        rows.update(attempts=entry.attempts)
        try:
            work(entry)
        except LeaseLost:
            raise
        except SourceUnavailable as error:
            self.unavailable_count += 1
            if error.retry_after is not None or self.unavailable_count >= MAX_UNAVAILABLE:
                rows.update(attempts=F("attempts") - 1)
                raise
            self._note_failure(entry, error)
        except EntryGone as error:
            self._note_failure(entry, error)
            rows.filter(sha256="").delete()  # if it comes back, the next listing says so
        except Exception as error:
            if is_expected(error):
                rows.update(attempts=F("attempts") - 1)
                raise
            if not isinstance(error, StrataError):
                logger.warning("%s of the source %s failed", entry, self.feed, exc_info=error)
            self._note_failure(entry, error)
        else:
            self.unavailable_count = 0

    def _note_failure(self, entry: FeedEntry, error: Exception) -> None:
        self.count("failed")
        wait = FIRST_WAIT * WAIT_FACTOR ** (entry.attempts - 1)
        is_given_up = entry.attempts >= settings.STRATA_MAX_ATTEMPTS
        FeedEntry.objects.filter(pk=entry.pk).update(
            last_error=describe_error(error),
            error_code=getattr(error, "code", "unexpected_error"),
            next_attempt_at=Now() + wait,
            state=FeedEntry.State.FAILED if is_given_up else entry.state,
        )

    # --- Bringing ----------------------------------------------------------------------------

    def _bring(self, entry: FeedEntry) -> None:
        if "groups" not in entry.listed:
            raise EntryRefused(
                "No pattern under groups matches its path, so that it is not known who may see it.",
                field="groups",
                fix='Add a pattern to groups of the source, such as "**", or exclude the path.',
            )
        has_content = bool(entry.sha256)
        if has_content and entry.version and entry.version == entry.listed_version:
            self._relabel(entry, entry.version)
            return
        fetched = self.reader.fetch(entry.key, entry.version if has_content else "")
        if fetched is None:
            self._relabel(entry, entry.version)
            return
        name = fetched.file_name or PurePosixPath(entry.path).name
        content = save_incoming_file(name, self._with_progress(fetched.chunks))
        try:
            with transaction.atomic():
                self.holding.lock()
                self._store(entry, content)
                self._finish(entry, fetched.version, content)
        finally:
            content.discard()

    def _with_progress(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.holding.note_progress()
            self.count("bytes", len(chunk))
            yield chunk

    def _relabel(self, entry: FeedEntry, version: str) -> None:
        with transaction.atomic():
            self.holding.lock()
            if entry.artifact_id is not None and entry.listed != entry.applied:
                self._apply_attributes(entry)
                self.count("relabelled")
            self._rename(entry)
            self._finish(entry, version, None)

    def _store(self, entry: FeedEntry, content: FileContent) -> None:
        if entry.sha256 == content.sha256:
            self._rename(entry)
            if entry.artifact_id is not None:
                self._apply_attributes(entry)
            self.count("touched")
            return
        if entry.artifact_id is None and not entry.sha256 and self._take_over(entry, content):
            self.count("renamed")
        elif entry.artifact_id is not None:
            replace_content(entry.artifact_id, content, added_by=self._added_by)
            self.count("revised")
        else:
            self._add(entry, content)
            self.count("stored")
            return
        self._rename(entry)
        self._apply_attributes(entry)

    @property
    def _added_by(self) -> str:
        return f"source {self.feed.name}"

    def _add(self, entry: FeedEntry, content: FileContent) -> None:
        external_id, is_known = self._choose_external_id(entry)
        known = find_existing(
            self.feed.index, content, {},
            external_id=external_id, place=None, if_exists=None, grant=EVERYTHING,
        ).artifact  # fmt: skip
        attributes = self._read_attributes(entry, known.metadata if known is not None else {})
        artifact, outcome = add_artifact(
            self.feed.index,
            content,
            external_id=external_id,
            added_by=self._added_by,
            **attributes,
        )
        entry.artifact = artifact
        entry.is_adopted = outcome != AddOutcome.ADDED and not is_known

    def _choose_external_id(self, entry: FeedEntry) -> tuple[str, bool]:
        """An external id that no other entry's document has, and whether a document has it: that
        of this source before its rows were lost."""
        readable = f"{self.feed.name}:{clean_name(entry.path)}"
        by_hash = f"{self.feed.name}:{entry.key_hash}"
        for name in (readable, by_hash):
            if len(name) > MAX_EXTERNAL_ID_CHARS:
                continue
            known = find_by_external_ids(self.feed.index, [name]).get(name)
            if known is None or not FeedEntry.objects.filter(artifact=known).exists():
                return name, known is not None
        return by_hash, True

    def _take_over(self, entry: FeedEntry, content: FileContent) -> bool:
        """Give a new entry the document of a missing one that has the same content and suffix."""
        states = [FeedEntry.State.MISSING, FeedEntry.State.REMOVING]
        missing = self.feed.entries.filter(
            sha256=content.sha256, state__in=states, artifact__isnull=False
        )
        path = PurePosixPath(entry.path)
        same = [each for each in missing if PurePosixPath(each.path).suffix == path.suffix]
        if not same:
            return False
        old = max(same, key=lambda each: (PurePosixPath(each.path).name == path.name, -each.pk))
        entry.artifact_id, entry.is_adopted, entry.applied = (
            old.artifact_id, old.is_adopted, old.applied,
        )  # fmt: skip
        old.delete()
        return True

    def _rename(self, entry: FeedEntry) -> None:
        """Give the document the name that its file has now."""
        if entry.artifact_id is None:
            return
        name = PurePosixPath(entry.path).name
        artifacts = Artifact.objects.select_for_update().filter(pk=entry.artifact_id, has_file=True)
        artifact = artifacts.first()
        if artifact is None:
            return
        old_suffix = PurePosixPath(artifact.file_name).suffix
        if artifact.file_name != name and old_suffix == PurePosixPath(name).suffix:
            artifact.file_name = clean_name(name)[:500]
            assign_next_revision(artifact)
            artifact.save()

    def _apply_attributes(self, entry: FeedEntry) -> None:
        assert entry.artifact_id is not None
        artifact = Artifact.objects.require(entry.artifact_id)
        update_artifact(artifact.pk, **self._read_attributes(entry, artifact.metadata))

    def _read_attributes(self, entry: FeedEntry, metadata: dict[str, Any]) -> dict[str, Any]:
        """What the document is given. Metadata that a person has added stays."""
        earlier = entry.applied.get("metadata", {})
        kept = {name: value for name, value in metadata.items() if name not in earlier}
        build = IndexBuild.objects.live().filter(index=self.feed.index).first()
        declared = build.spec.metadata if build is not None else {}
        given = {
            name: _convert(value, declared.get(name))
            for name, value in entry.listed["metadata"].items()
        }
        return {**entry.listed, "metadata": {**kept, **given}}

    def _finish(self, entry: FeedEntry, version: str, content: FileContent | None) -> None:
        entry.version, entry.applied = version, entry.listed
        entry.state, entry.error_code = FeedEntry.State.CURRENT, ""
        if content is not None:
            entry.sha256, entry.byte_count = content.sha256, content.byte_count
        for name, value in FRESH.items():
            setattr(entry, name, value)
        entry.save()

    # --- Removing ----------------------------------------------------------------------------

    def _remove(self, entry: FeedEntry) -> None:
        with transaction.atomic():
            self.holding.lock()
            if entry.artifact_id is not None and not entry.is_adopted:
                with suppress(UnknownArtifact):
                    remove_artifact(entry.artifact_id)
            FeedEntry.objects.filter(pk=entry.pk).delete()
        self.count("removed")


def _convert(value: Any, field: FieldSpec | None) -> Any:
    """A text of a path, as a value of its field; as it is if it cannot be one."""
    if field is None or not isinstance(value, str):
        return value
    read = _READERS.get(field.type, str)
    with suppress(ValueError, KeyError):
        value = read(value)
    return [value] if field.many else value


def _read_float(text: str) -> float:
    number = float(text)
    if not isfinite(number):  # no database and no JSON has it
        raise ValueError
    return number


_READERS: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "float": _read_float,
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
}
