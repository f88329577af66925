"""Compare a listing with the rows of its feed, and decide what may be removed.

What a listing names is noted as it comes. What it lacks counts only once it has ended without an
error. A document is removed after two full listings that lack it. A listing that is empty, or lacks
many more than before, is not believed: what it lacks waits for a person, or for a listing that has
it again.
"""

import hashlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from core.exceptions import StrataError
from core.leases import FRESH
from core.text import clean_text, hash_text, is_storable
from feeds.exceptions import ListingRefused
from feeds.models import SEEN_AGAIN, Feed, FeedEntry
from feeds.patterns import PathFields, compile_glob
from feeds.protocol import MAX_ID_CHARS, Listed, Reader, SourceSettings

BATCH_SIZE = 500
FEW = 5  # so many may be missing at once, whatever their share
LISTINGS_THAT_AGREE = 2


class Verdict(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    RELABELLED = "relabelled"  # only its groups, title, URL or metadata differ
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Compared:
    listed: Listed
    key_hash: str
    attributes: dict[str, Any]
    entry: FeedEntry | None
    verdict: Verdict


@dataclass
class Comparison:
    """What a listing says beside the rows of its feed. ``seen``: the ids of rows that it has."""

    feed: Feed
    source: SourceSettings
    seen: "array[int]" = field(default_factory=lambda: array("q"))
    count: int = 0

    def iter_batches(self, listing: Iterator[Listed]) -> Iterator[list[Compared]]:
        """Raises ``ListingRefused``: it has more than it may, or names that cannot be stored."""
        while batch := list(islice(listing, BATCH_SIZE)):
            self.count += len(batch)
            if self.count > self.source.at_most:
                raise ListingRefused(
                    f"The listing has more than {self.source.at_most:,} documents.",
                    field="at_most",
                    fix="Raise at_most of the source, or include less.",
                )
            yield self._compare(batch)

    def _compare(self, batch: Sequence[Listed]) -> list[Compared]:
        by_hash = {hash_text(_check(each)): each for each in batch}
        rows = self.feed.entries.filter(key_hash__in=list(by_hash))
        known = {row.key_hash: row for row in rows}
        return [
            self._compare_one(key_hash, each, known.get(key_hash))
            for key_hash, each in by_hash.items()
        ]

    def _compare_one(self, key_hash: str, listed: Listed, entry: FeedEntry | None) -> Compared:
        attributes = describe_listed(listed, self.source)
        if entry is None or not entry.sha256:
            verdict = Verdict.ADDED
        elif not listed.version or listed.version != entry.version:
            verdict = Verdict.CHANGED
        else:
            is_same = attributes == entry.applied and listed.path == entry.path
            verdict = Verdict.UNCHANGED if is_same else Verdict.RELABELLED
        return Compared(listed, key_hash, attributes, entry, verdict)

    def find_missing(self) -> list[int]:
        """The ids of the rows that the listing lacks, once it has ended."""
        seen = array("q", sorted(self.seen))
        ids = self.feed.entries.order_by("pk").values_list("pk", flat=True)
        return [pk for pk in ids.iterator(chunk_size=5_000) if not _contains(seen, pk)]


def _contains(ordered: "array[int]", wanted: int) -> bool:
    place = bisect_left(ordered, wanted)
    return place < len(ordered) and ordered[place] == wanted


def _check(listed: Listed) -> str:
    if not listed.id or len(listed.id) > MAX_ID_CHARS or not is_storable(listed.id + listed.path):
        raise ListingRefused(
            "A document of the listing has an id that cannot be stored.",
            fix=f"An id is a text of 1 to {MAX_ID_CHARS:,} characters.",
        )
    return listed.id


def describe_listed(listed: Listed, source: SourceSettings) -> dict[str, Any]:
    """What a document is given besides its content. ``groups``: null if neither the source nor its
    spec says any, and absent if the spec's rules leave the path out."""
    metadata = dict(listed.metadata)
    if source.path_fields:
        metadata = {**PathFields(source.path_fields).read(listed.path), **metadata}
    attributes: dict[str, Any] = {
        "title": listed.title, "url": listed.url, "metadata": metadata,
    }  # fmt: skip
    if listed.groups is not None:
        return {**attributes, "groups": sorted(listed.groups)}
    if not isinstance(source.groups, dict):
        groups = None if source.groups is None else sorted(source.groups)
        return {**attributes, "groups": groups}
    for pattern, groups_of_path in source.groups.items():
        if compile_glob(pattern).match(listed.path):
            return {**attributes, "groups": sorted(groups_of_path)}
    return attributes


# --- A listing that counts --------------------------------------------------------------------


def list_feed(
    feed: Feed, source: SourceSettings, reader: Reader, note_progress: Callable[[], None]
) -> dict[str, int]:
    """List the feed and note what is due; return what changed, by kind.

    After an error only what the listing had named until then is noted: nothing is missing.
    """
    comparison = Comparison(feed, source)
    report = {"listed": 0, **dict.fromkeys(map(str, Verdict), 0), "missing": 0}
    for batch in comparison.iter_batches(_with_progress(reader.list(), note_progress)):
        _note(comparison, batch)
        for each in batch:
            report[each.verdict] += 1
    report["listed"] = comparison.count
    report["missing"] = _note_missing(feed, source, comparison)
    feed.entries.filter(state=FeedEntry.State.NEW).update(state=FeedEntry.State.DUE)
    return report


def _with_progress(
    listing: Iterable[Listed], note_progress: Callable[[], None]
) -> Iterator[Listed]:
    """A source that is slow may take longer for a batch than the feed is held."""
    for each in listing:
        note_progress()
        yield each
    note_progress()  # only who still holds the feed may say what is missing


def _note(comparison: Comparison, batch: Iterable[Compared]) -> None:
    new, changed = [], []
    for each in batch:
        entry = each.entry
        if entry is None:
            new.append(_make_entry(comparison.feed, each))
            continue
        comparison.seen.append(entry.pk)
        if _has_news(each, entry):
            changed.append(_update(entry, each))
    created = FeedEntry.objects.bulk_create(new)
    comparison.seen.extend(entry.pk for entry in created)
    FeedEntry.objects.bulk_update(
        changed,
        [
            "path", "listed_version", "listed", "byte_count", "state", "attempts", "last_error",
            "error_code", "next_attempt_at", *SEEN_AGAIN,
        ],
    )  # fmt: skip


def _make_entry(feed: Feed, compared: Compared) -> FeedEntry:
    listed = compared.listed
    return FeedEntry(
        feed=feed,
        key=listed.id,
        key_hash=compared.key_hash,
        path=listed.path,
        listed_version=listed.version,
        listed=compared.attributes,
        byte_count=listed.byte_count,
    )


def _has_news(compared: Compared, entry: FeedEntry) -> bool:
    """Whether the row differs from what the listing says."""
    missing = (FeedEntry.State.MISSING, FeedEntry.State.REMOVING)
    if entry.state in missing or entry.missing_count or entry.missing_since:
        return True
    listed = compared.listed
    is_as_listed = (listed.version, listed.path, compared.attributes) == (
        entry.listed_version, entry.path, entry.listed,
    )  # fmt: skip
    if entry.state in (FeedEntry.State.DUE, FeedEntry.State.FAILED, FeedEntry.State.NEW):
        return not is_as_listed
    return not is_as_listed or compared.verdict != Verdict.UNCHANGED


def _update(entry: FeedEntry, compared: Compared) -> FeedEntry:
    listed = compared.listed
    is_due = compared.verdict != Verdict.UNCHANGED
    if entry.sha256 or entry.state != FeedEntry.State.NEW:
        entry.state = FeedEntry.State.DUE if is_due else FeedEntry.State.CURRENT
    entry.path, entry.listed_version = listed.path, listed.version
    entry.listed, entry.byte_count = compared.attributes, listed.byte_count
    for name, value in {**FRESH, **SEEN_AGAIN}.items():
        setattr(entry, name, value)
    entry.error_code, entry.next_attempt_at = "", timezone.now()
    return entry


def _note_missing(feed: Feed, source: SourceSettings, comparison: Comparison) -> int:
    """Note what a full listing lacks, and mark what may be removed. Returns how many documents are
    missing."""
    missing_ids = comparison.find_missing()
    fetched_count = feed.entries.exclude(sha256="").count()
    lacking: list[int] = []
    for part in _in_parts(missing_ids):
        rows = feed.entries.filter(pk__in=part)
        rows.filter(is_removal_confirmed=True).update(state=FeedEntry.State.REMOVING, **FRESH)
        undecided = rows.exclude(state=FeedEntry.State.REMOVING).exclude(sha256="")
        lacking += undecided.values_list("pk", flat=True)
    is_believed = comparison.count > 0 and len(lacking) <= max(
        FEW, source.confirm_above * fetched_count
    )
    for part in _in_parts(missing_ids if is_believed else []):
        feed.entries.filter(pk__in=part, sha256="").delete()  # there is no document of it
    for part in _in_parts(lacking):
        rows = feed.entries.filter(pk__in=part)
        rows.filter(missing_since=None).update(missing_since=Now())
        rows.update(state=FeedEntry.State.MISSING, **FRESH)
        if is_believed:
            rows.update(missing_count=F("missing_count") + 1)
            agreed = rows.filter(missing_count__gte=LISTINGS_THAT_AGREE)
            agreed.update(state=FeedEntry.State.REMOVING)
    feed.waiting_removals = 0 if is_believed else len(lacking)
    feed.save(update_fields=["waiting_removals"])
    return len(missing_ids)


def _in_parts(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[start : start + BATCH_SIZE] for start in range(0, len(ids), BATCH_SIZE))


# --- A dry run --------------------------------------------------------------------------------

EXAMPLES = 100  # of each kind that a preview names


def preview_listing(
    feed: Feed, source: SourceSettings, reader: Reader
) -> dict[str, dict[str, Any]]:
    """What a run would do now: how many documents of each kind, their bytes, and the first of them.
    Nothing is written. A file that seems renamed is read, because only its hash tells."""
    comparison = Comparison(feed, source)
    kinds = ("added", "changed", "relabelled", "renamed", "removed")
    preview: dict[str, dict[str, Any]] = {
        kind: {"count": 0, "bytes": 0, "paths": []} for kind in kinds
    }
    unchanged = 0
    added: list[Listed] = []
    for batch in comparison.iter_batches(iter(reader.list())):
        comparison.seen.extend(each.entry.pk for each in batch if each.entry is not None)
        for each in batch:
            if each.verdict == Verdict.ADDED:
                added.append(each.listed)
            elif each.verdict == Verdict.UNCHANGED:
                unchanged += 1
            else:
                _count(preview[each.verdict], each.listed.path, each.listed.byte_count)
    gone = _read_missing(feed, comparison)
    for listed in added:
        renamed = _find_renamed(reader, listed, gone)
        kind = "added" if renamed is None else "renamed"
        _count(preview[kind], listed.path, listed.byte_count)
        if renamed is not None:
            del gone[renamed]
    for path, byte_count, _ in gone.values():
        _count(preview["removed"], path, byte_count)
    return {**preview, "unchanged": {"count": unchanged, "bytes": 0, "paths": []}}


def _count(kind: dict[str, Any], path: str, byte_count: int | None) -> None:
    kind["count"] += 1
    kind["bytes"] += byte_count or 0
    if len(kind["paths"]) < EXAMPLES:
        kind["paths"].append(path)


def _read_missing(feed: Feed, comparison: Comparison) -> dict[int, tuple[str, int | None, str]]:
    missing: dict[int, tuple[str, int | None, str]] = {}
    for part in _in_parts(comparison.find_missing()):
        rows = feed.entries.filter(pk__in=part).exclude(sha256="")
        for pk, path, byte_count, sha256 in rows.values_list("pk", "path", "byte_count", "sha256"):
            missing[pk] = (clean_text(path), byte_count, sha256)
    return missing


def _find_renamed(
    reader: Reader, listed: Listed, gone: dict[int, tuple[str, int | None, str]]
) -> int | None:
    same_size = {pk: sha256 for pk, (_, size, sha256) in gone.items() if size == listed.byte_count}
    if not same_size or listed.byte_count is None:
        return None
    try:
        fetched = reader.fetch(listed.id, "")
        digest = hash_chunks(fetched.chunks) if fetched is not None else ""
    except StrataError:
        return None  # a run would say why, and go on
    return next((pk for pk, sha256 in same_size.items() if sha256 == digest), None)


def hash_chunks(chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()
