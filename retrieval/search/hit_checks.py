"""Checks every hit against the ledger and the document as it is now."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, partial
from typing import Any, NamedTuple
from uuid import UUID

from access.grants import Grant
from core.text import hash_text
from documents.models import Artifact, Source, load_sources
from indexing.drafting import get_drafter
from indexing.models import IndexBuild, Node
from indexing.services.batches import slices
from indexing.stores import Payload
from retrieval.hits import get_hit_check
from retrieval.ledger import (
    LedgerRow,
    SummaryRow,
    includes_stored_groups,
    read_ledger_rows,
    read_summary_rows,
)
from retrieval.search.request import StaleHitPolicy
from retrieval.search.targets import Candidate, PointKey

logger = logging.getLogger(__name__)

CANDIDATES_PER_QUERY = 10_000  # one SQL parameter each; SQLite allows 32,766


class Verdict(StrEnum):
    EXACT = "exact"  # matches the document as it is now
    STALE = "stale"  # the document has changed since


@dataclass(frozen=True, slots=True)
class DroppedPoints:
    """How many found points were not served."""

    orphans: int = 0  # without a ledger row or an artifact
    integrity_errors: int = 0  # text differs from its hash, or from its unchanged source


class HitCheck(NamedTuple):
    """The result for a point that has a ledger row. ``verdict`` None: an integrity error."""

    verdict: Verdict | None
    stale_id: UUID | None = None  # for a stale verdict: id of the artifact or standalone node
    is_hidden: bool = False  # the grant does not include it, even if its payload does

    @property
    def is_corrupt(self) -> bool:
        return self.verdict is None and not self.is_hidden


HIDDEN = HitCheck(None, is_hidden=True)

CheckFunction = Callable[[Sequence[Candidate]], dict[PointKey, HitCheck]]


@dataclass
class HitChecks:
    """The results of all checks of a search; None for an orphan."""

    results: dict[PointKey, HitCheck | None] = field(default_factory=dict)

    @property
    def orphans(self) -> set[PointKey]:
        return {key for key, result in self.results.items() if result is None}

    @property
    def dropped(self) -> DroppedPoints:
        results = [result for result in self.results.values() if result is not None]
        corrupt_count = sum(result.is_corrupt for result in results)
        return DroppedPoints(len(self.results) - len(results), corrupt_count)

    @property
    def stale_ids(self) -> list[UUID]:
        results = (result for result in self.results.values() if result is not None)
        return sorted({result.stale_id for result in results if result.stale_id is not None})

    def get_verdict(self, candidate: Candidate) -> Verdict | None:
        result = self.results.get(candidate.key)
        return None if result is None else result.verdict

    def is_served(self, candidate: Candidate, stale: StaleHitPolicy) -> bool:
        verdict = self.get_verdict(candidate)
        return verdict == Verdict.EXACT or (
            verdict == Verdict.STALE and stale == StaleHitPolicy.FLAG
        )

    def check(self, ranking: Iterable[Candidate]) -> None:
        """Check every candidate that has no result yet.

        Runs one database query for each check function and ``CANDIDATES_PER_QUERY`` candidates, and
        one more if a chunk's payload names another source than its ledger row.
        """
        unchecked: dict[CheckFunction, list[Candidate]] = {}
        for found in ranking:
            if found.key not in self.results:
                unchecked.setdefault(get_hit_check(found.target.kinds[0]), []).append(found)
        for check, group in unchecked.items():
            for part in slices(group, CANDIDATES_PER_QUERY):
                results = check(part)
                for found in part:
                    result = self.results[found.key] = results.get(found.key)
                    if result is not None and result.is_corrupt:
                        logger.error(
                            "Integrity error: point %s of %s does not hold the text that was "
                            "indexed",
                            found.point.id,
                            found.target.collection,
                        )


def _make_check(verdict: Verdict | None, row: LedgerRow | SummaryRow, grant: Grant) -> HitCheck:
    if not includes_stored_groups(grant, row.stored_groups):
        return HIDDEN
    return HitCheck(verdict, row.artifact_id if verdict is Verdict.STALE else None)


def collect_ids(group: Sequence[Candidate]) -> tuple[set[int], set[UUID]]:
    return {found.target.build_id for found in group}, {found.point.id for found in group}


# --- Passages: chunks and questions ----------------------------------------------------------


def _check_passages(
    group: Sequence[Candidate], text_field: str, hash_field: str
) -> dict[PointKey, HitCheck]:
    """The fields of the payloads hold the passage's text and the text's hash."""
    rows = {(row.build_id, row.point_int): row for row in read_ledger_rows(*collect_ids(group))}
    texts = {row.source_int: row.source_text for row in rows.values()}
    # Offsets count in the source that the payload names; the row may already name another one.
    source_ids = {
        key: _get_source_id(found.point.payload) for found in group if (key := found.key) in rows
    }
    named = {source_id for source_id in source_ids.values() if source_id is not None}
    if unread := [source_id for source_id in named if texts.get(source_id.int) is None]:
        others = Source.every_reading.filter(pk__in=unread).values_list("pk", "text")
        texts |= {pk.int: text for pk, text in others}
    sources = {
        source_id: (text, hash_text(text))
        for source_id in named
        if (text := texts.get(source_id.int)) is not None
    }

    def compare(payload: Payload, source_id: UUID | None) -> Verdict | None:
        text = payload.get(text_field)
        if not isinstance(text, str) or payload.get(hash_field) not in (None, hash_text(text)):
            return None  # a missing hash (null) is not compared
        return _compare_with_source(payload, text, source_id, sources)

    return {
        key: _make_check(
            compare(found.point.payload, source_ids[key]), rows[key], found.target.grant
        )
        for found in group
        if (key := found.key) in source_ids
    }


check_chunks = partial(_check_passages, text_field="text", hash_field="text_hash")
check_questions = partial(_check_passages, text_field="chunk_text", hash_field="chunk_hash")


def _get_source_id(payload: Payload) -> UUID | None:
    try:
        return UUID(payload["source_id"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _compare_with_source(
    payload: Payload, text: str, source_id: UUID | None, sources: Mapping[UUID, tuple[str, str]]
) -> Verdict | None:
    start, end = payload.get("start_offset"), payload.get("end_offset")
    if source_id is None or not isinstance(start, int) or not isinstance(end, int):
        return None
    if source_id not in sources:
        return Verdict.STALE  # an edit removed the source
    source_text, source_hash = sources[source_id]
    if payload.get("source_hash") not in (None, source_hash):
        return Verdict.STALE
    if source_text[start:end] == text:
        return Verdict.EXACT
    return None if payload.get("source_hash") else Verdict.STALE


# --- Summaries -------------------------------------------------------------------------------


def check_summaries(group: Sequence[Candidate]) -> dict[PointKey, HitCheck]:
    rows = {(row.build_id, row.point_id.int): row for row in read_summary_rows(*collect_ids(group))}
    return {
        found.key: _make_check(_compare_summary(found.point.payload, row), row, found.target.grant)
        for found in group
        if (row := rows.get(found.key)) is not None
    }


def _compare_summary(payload: Payload, row: SummaryRow) -> Verdict | None:
    """Compare a summary's text with its hash, and its input's hash with the current input's.

    A summary is not a quotation, so there are no offsets to compare.
    """
    text = payload.get("summary_text")
    if not isinstance(text, str) or payload.get("kind") != row.kind:
        return None
    if payload.get("text_hash") not in (None, hash_text(text)):
        return None
    if row.input_hash is None or row.is_outdated:
        return Verdict.STALE
    # A missing input hash is not compared.
    if payload.get("source_hash") not in (None, "", row.input_hash):
        return Verdict.STALE
    return Verdict.EXACT


# --- Kinds that are made of their document alone ---------------------------------------------


def check_drafts(group: Sequence[Candidate]) -> dict[PointKey, HitCheck]:
    """Check points against the nodes that their documents, as they are now, must have. The nodes
    are drafted again, so no text of them may have to be written first."""
    build_ids, ids = collect_ids(group)
    builds = IndexBuild.objects.select_related("index__search_settings").in_bulk(build_ids)
    live_ids = {build.index.live_build_id for build in builds.values()}
    rows = Node.objects.filter(
        build__in=build_ids,
        point_id__in=ids,
        artifact__groups__isnull=False,  # without its artifact it is an orphan
    ).select_related("artifact")
    nodes = {(node.build_id, node.point_id.int): node for node in rows}

    @cache
    def list_drafts(kind: str, artifact: Artifact, build_id: int) -> set[tuple[Any, ...]]:
        """The id of each node, and the hashes of its text and its source."""
        if build_id not in live_ids:  # its sources may be of another reading
            load_sources([artifact], builds[build_id].reading)
        return {
            (
                draft.node_id,
                draft.metadata["text_hash"],
                draft.source_node and draft.source_node.hash,
            )
            for draft in get_drafter(kind).draft(artifact, builds[build_id])
        }

    def check(found: Candidate, node: Node) -> HitCheck:
        assert node.artifact is not None
        if not found.target.grant.includes_groups(node.artifact.groups):
            return HIDDEN
        payload = found.point.payload
        if not text_matches_hash(payload):
            return HitCheck(None)
        held = (str(node.point_id), payload["text_hash"], payload.get("source_hash"))
        if held in list_drafts(node.kind, node.artifact, node.build_id):
            return HitCheck(Verdict.EXACT)
        return HitCheck(Verdict.STALE, node.artifact_id)

    return {found.key: check(found, nodes[found.key]) for found in group if found.key in nodes}


def text_matches_hash(payload: Payload) -> bool:
    text = payload.get("text")
    return isinstance(text, str) and payload.get("text_hash") == hash_text(text)
