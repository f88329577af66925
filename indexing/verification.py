"""Verifies that the ledger and the store of a build hold exactly what its documents require.

Reads the ledger and the store side by side, in ascending order of point id, so that memory
stays bounded however large the index is.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from core.exceptions import StrataError
from core.leases import FRESH
from core.text import hash_text
from documents.models import Artifact, Page, Source
from indexing.drafting import get_drafters, get_standalone_drafters, hash_payload
from indexing.kinds import KINDS
from indexing.models import IndexBuild, IndexedDocument, Node, UnconfirmedWrite
from indexing.services import (
    changing_nodes,
    draft_rows,
    draft_standalone_rows,
    plan_nodes,
    plan_standalone_rows,
    retry_failed_nodes,
)
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.spec import EmbeddingSpec
from indexing.stores import get_store
from indexing.stores.base import StoredPoint
from indexing.unconfirmed_writes import delete_points

MAX_EXAMPLES_PER_FINDING = 5  # per type of finding
ROW_PAGE_SIZE = 2_000
WRITES_AT_ONCE = 1_000
MAX_UNCONFIRMED = 10_000  # differences that are read again together
COMPARED_HASHES = ("text_hash", "input_hash", "payload_hash")  # compared between row and draft

REMEDY_NONE_NEEDED = "do nothing: this resolves itself"
REMEDY_REPLAN = "plan them again"
REMEDY_REEMBED = "embed and write them again"

# Finding -> the invariant it violates, its meaning, and what repair does about it.
FINDINGS = {
    "unparsed": ("I8", "artifacts that are not parsed yet", REMEDY_NONE_NEEDED),
    "unwritten": (
        "I1",
        "artifacts with summaries or questions still to be written",
        REMEDY_NONE_NEEDED,
    ),
    "unplanned": (
        "I1",
        "artifacts, concepts or relationship types whose ledger rows are out of date",
        REMEDY_REPLAN,
    ),
    "misplaced": ("I4", "chunks whose text is not at their offsets in the source", REMEDY_REPLAN),
    "duplicate": ("I2", "chunks at the same place as another", REMEDY_REPLAN),
    "pending": ("I2", "nodes whose points are not written yet", REMEDY_NONE_NEEDED),
    "deleting": ("I3", "points that are still to be removed", REMEDY_NONE_NEEDED),
    "missing": ("I2", "nodes without the point they should have", REMEDY_REEMBED),
    "orphan": ("I3", "points without a row in the ledger", "remove them"),
    "doubled": ("I2", "points stored twice", "remove both and " + REMEDY_REEMBED),
    "outdated": ("I4", "points whose text differs from their row", REMEDY_REEMBED),
    "mislabelled": (
        "I4",
        "points with the right text whose other data differs from their row",
        "write their payloads again",
    ),
    "foreign": ("I6", "nodes embedded by another model than their build's", REMEDY_REEMBED),
    "uncontained": ("I10", "nodes that are retried after their last attempt", REMEDY_REEMBED),
}
FINDINGS_TO_RESYNC = {"missing", "doubled", "outdated", "mislabelled", "foreign", "uncontained"}


@dataclass
class VerificationReport:
    """Counts and findings of ``verify`` for one build."""

    index: str
    build: int
    artifact_count: int = 0
    node_count: int = 0
    point_count: int = 0
    failed_count: int = 0  # nodes given up with their error; not a finding
    findings: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    repaired_count: int = 0

    @property
    def is_sound(self) -> bool:
        return not self.findings

    def add_finding(self, finding: str, example: object) -> None:
        self.findings[finding] = self.findings.get(finding, 0) + 1
        named = self.examples.setdefault(finding, [])
        if len(named) < MAX_EXAMPLES_PER_FINDING:
            named.append(str(example))

    def as_json(self) -> dict[str, Any]:
        remedies = {sort: FINDINGS[sort][2] for sort in self.findings}
        return {**asdict(self), "is_sound": self.is_sound, "remedies": remedies}


class ComparedRow(NamedTuple):
    """The columns of a node that are compared; creating model instances would take most of the
    time."""

    pk: int
    point_id: UUID
    artifact_id: UUID | None  # None: a standalone node
    kind: str
    state: str
    attempts: int
    embedding_model: str
    dimension: int
    payload_hash: str
    synced_input_hash: str


def verify_build(build: IndexBuild, *, repair: bool = False) -> VerificationReport:
    """Compare documents, ledger and store of one build in both directions.

    With ``repair``, differing artifacts are planned again, differing nodes become pending and
    orphan points are removed; a sync worker then writes the pending nodes. Without it nothing is
    changed, and the report's remedies say what repair would do.

    Raises:
        StoreUnavailable: the store could not be read to its end.
    """
    report = VerificationReport(build.index_id, build.number)
    _verify_documents(build, report, repair)
    for collection, kinds in build.collections().items():
        pairs = _merge_by_id(_iter_rows(build, kinds), get_store().scroll(collection))
        _verify_points(build, collection, pairs, report, repair)
    if repair:
        _reset_failed_nodes(build, report)
    return report


def remove_orphan_points(build: IndexBuild) -> int:
    """Remove points without a ledger row; return how many. A write that the store applies late
    leaves such points if its nodes were deleted meanwhile.

    Reads no points of a collection that has no more points than rows.

    Raises:
        StoreUnavailable: calling again goes on where this ended.
    """
    store = get_store()
    removed_count = 0
    for collection, kinds in build.collections().items():
        rows = Node.objects.filter(build=build, kind__in=kinds)
        if store.count(collection) <= rows.count():
            continue
        for points in store.scroll(collection):
            ids = {point.id for point in points}
            # Read after the points: a row is always written before its point.
            held = set(rows.filter(point_id__in=ids).values_list("point_id", flat=True))
            if orphans := sorted(ids - held):
                delete_points(build, collection, orphans)
                removed_count += len(orphans)
    return removed_count


def resolve_unconfirmed_writes(build: IndexBuild) -> int:
    """Compare points still unconfirmed after ``STRATA_UNCONFIRMED_SECONDS`` with the ledger, and
    repair those that differ; return how many. A sync worker then writes the pending nodes.

    Raises:
        StoreUnavailable: calling again goes on where this ended.
    """
    report = VerificationReport(build.index_id, build.number)
    requested_before = Now() - timedelta(seconds=settings.STRATA_UNCONFIRMED_SECONDS)
    writes = UnconfirmedWrite.objects.filter(
        build=build, requested_at__lt=requested_before
    ).order_by("pk")
    for write in writes[:WRITES_AT_ONCE]:
        ids = sorted(UUID(point_id) for point_id in write.point_ids)
        for id_batch in slices(ids, ROWS_PER_STATEMENT):
            rows = Node.objects.filter(build=build, point_id__in=id_batch).order_by("point_id")
            # Read before the points: a row becomes synced after its point is written.
            held = [ComparedRow(*values) for values in rows.values_list(*ComparedRow._fields)]
            points = get_store().retrieve(write.collection, id_batch)
            sorted_points = [points[point_id] for point_id in id_batch if point_id in points]
            pairs = _merge_by_id(iter(held), iter([sorted_points]))
            _verify_points(build, write.collection, pairs, report, repair=True)
        write.delete()
    return report.repaired_count


def verify_and_save_report(build: IndexBuild, *, repair: bool = False) -> VerificationReport:
    """Verify a build, and save the report, or the error, on the build.

    Raises:
        StoreUnavailable: the store could not be read to its end.
    """
    build_queryset = IndexBuild.objects.filter(pk=build.pk)
    try:
        report = verify_build(build, repair=repair)
    except StrataError as error:
        build_queryset.update(verified_at=Now(), report={"error": str(error)})
        raise
    build_queryset.update(verified_at=Now(), report=report.as_json())
    return report


def _verify_documents(build: IndexBuild, report: VerificationReport, repair: bool) -> None:
    """I1 and I4: the ledger matches every artifact, and every chunk is at its offsets."""
    artifacts = Artifact.objects.filter(index=build.index_id)
    report.artifact_count = artifacts.count()
    for artifact in artifacts.order_by("pk").iterator(chunk_size=200):
        if artifact.state in {Artifact.State.RECEIVED, Artifact.State.PARSING}:
            report.add_finding("unparsed", artifact.pk)
        elif not _ledger_matches_artifact(build, artifact, report):
            report.add_finding("unplanned", artifact.pk)
            if repair:
                plan_nodes(artifact.pk, build)
                report.repaired_count += 1
    documents = IndexedDocument.objects.filter(build=build)
    unwritten = documents.exclude(unwritten_kinds=[]).values_list("artifact_id", flat=True)
    for artifact_id in unwritten.iterator():
        report.add_finding("unwritten", artifact_id)  # the reconciliation enqueues its writing
    for artifact_id in _find_orphaned_artifacts(build):
        report.add_finding("unplanned", artifact_id)
        if repair:
            plan_nodes(artifact_id, build)
            report.repaired_count += 1
    for kind in get_standalone_drafters(build):
        unplanned = _find_unplanned_standalone(kind, build)
        for row_id in unplanned:
            report.add_finding("unplanned", row_id)
        if repair and unplanned:
            plan_standalone_rows(kind, build, unplanned)
            report.repaired_count += len(unplanned)


def _find_unplanned_standalone(kind: str, build: IndexBuild) -> list[UUID]:
    """Ids of rows whose node differs from its draft or is missing, and of nodes without a row."""
    nodes = Node.objects.filter(build=build, kind=kind).exclude(state=Node.State.DELETING)
    rows = get_standalone_drafters(build)[kind].find_rows(build.index_id)
    ids = set(rows.values_list("pk", flat=True)) | set(nodes.values_list("point_id", flat=True))
    unplanned: list[UUID] = []
    for part in slices(sorted(ids), ROWS_PER_STATEMENT):
        with transaction.atomic():
            drafts = draft_standalone_rows(kind, part, build)
            mirrored = set(
                nodes.filter(point_id__in=part).values_list("point_id", *COMPARED_HASHES)
            )
        drafted = {
            (draft.point_id, *(getattr(draft, name) for name in COMPARED_HASHES))
            for draft in drafts
        }
        unplanned += sorted({point_id for point_id, *_ in mirrored ^ drafted})
    return unplanned


def _find_orphaned_artifacts(build: IndexBuild) -> list[UUID]:
    """Ids of artifacts that were deleted or lost a source or page, but still have nodes."""
    nodes = Node.objects.filter(build=build).exclude(state=Node.State.DELETING)
    nodes = nodes.filter(artifact__isnull=False)
    has_source, has_page, is_there = (
        Exists(model._default_manager.filter(pk=OuterRef(name)))
        for model, name in ((Source, "source_id"), (Page, "page_id"), (Artifact, "artifact_id"))
    )
    is_orphaned = (
        Q(~has_source, source_id__isnull=False) | Q(~has_page, page_id__isnull=False) | Q(~is_there)
    )
    return list(nodes.filter(is_orphaned).values_list("artifact_id", flat=True).distinct())


def _ledger_matches_artifact(
    build: IndexBuild, artifact: Artifact, report: VerificationReport
) -> bool:
    others = [kind for kind in get_drafters(build) if kind != "chunk"]
    if others and not _rows_match_drafts(build, artifact, others):
        return False
    return "chunk" not in build.spec.kinds or _chunks_match_sources(build, artifact, report)


def _rows_match_drafts(build: IndexBuild, artifact: Artifact, kinds: Sequence[str]) -> bool:
    """Compare rows with drafts, for kinds that are drafted from stored texts without chunking."""
    nodes = Node.objects.filter(build=build, artifact=artifact, kind__in=kinds)
    rows = nodes.exclude(state=Node.State.DELETING)
    mirrored = set(rows.values_list("point_id", *COMPARED_HASHES))
    return mirrored == {
        (draft.point_id, *(getattr(draft, name) for name in COMPARED_HASHES))
        for draft in draft_rows(artifact, build, kinds)
    }


def _chunks_match_sources(
    build: IndexBuild, artifact: Artifact, report: VerificationReport
) -> bool:
    """Check without chunking again: chunks are at their offsets, no two share a place, and only
    white space of the sources lies outside them."""
    sources = {source.pk: source for source in Source.objects.filter(artifact=artifact)}
    hashes = {pk: hash_text(source.text) for pk, source in sources.items()}
    nodes = Node.objects.filter(build=build, artifact=artifact, kind="chunk")
    attributes_hash = artifact.compute_attributes_hash()
    spans: dict[tuple[UUID, str], list[tuple[int, int]]] = {}
    for node in nodes.exclude(state=Node.State.DELETING).values_list(
        "point_id", "source_id", "strategy", "start_offset", "end_offset", "text", "text_hash",
        "source_hash", "attributes_hash", named=True,
    ):  # fmt: skip
        if node.source_id not in sources or node.attributes_hash != attributes_hash:
            return False
        if node.source_hash not in (None, hashes[node.source_id]):
            return False
        text = sources[node.source_id].text[node.start_offset : node.end_offset]
        if text != node.text or node.text_hash not in (None, hash_text(text)):
            report.add_finding("misplaced", node.point_id)
            return False
        assert node.start_offset is not None
        assert node.end_offset is not None
        places = spans.setdefault((node.source_id, node.strategy), [])
        if (node.start_offset, node.end_offset) in places:
            report.add_finding("duplicate", node.point_id)
            return False
        places.append((node.start_offset, node.end_offset))
    names = [strategy.key for strategy in build.spec.chunks.strategies]
    if spans.keys() <= {(pk, name) for pk in sources for name in names} and all(
        _spans_cover_text(sources[pk].text, spans.get((pk, name), []))
        for pk in sources
        for name in names
    ):
        return True
    # Text outside all chunks must be text that the recipe leaves out.
    expected_spans: dict[tuple[UUID, str], list[tuple[int, int]]] = {}
    for draft in draft_rows(artifact, build, ["chunk"]):
        assert draft.source_id is not None
        assert draft.start_offset is not None
        assert draft.end_offset is not None
        place = (draft.start_offset, draft.end_offset)
        expected_spans.setdefault((draft.source_id, draft.strategy), []).append(place)
    return {key: sorted(places) for key, places in expected_spans.items()} == {
        key: sorted(places) for key, places in spans.items()
    }


def _spans_cover_text(text: str, spans: list[tuple[int, int]]) -> bool:
    """Whether only white space lies between and around the spans."""
    end = 0
    for start, stop in sorted(spans):
        if text[end:start].strip():
            return False
        end = max(end, stop)
    return not text[end:].strip()


def _verify_points(
    build: IndexBuild,
    collection: str,
    pairs: Iterable[tuple[ComparedRow | None, StoredPoint | None]],
    report: VerificationReport,
    repair: bool,
) -> None:
    """I2, I3, I4 and I6: one point per row and one row per point, with equal content."""
    model = build.spec.embedding_spec_for(
        build.collections()[collection][0]
    )  # all kinds of a collection share a model
    if get_store().has_replicas():
        pairs = _confirm_differences(collection, pairs)
    last: UUID | None = None
    for row, point in pairs:
        report.point_count += point is not None
        if row is None:
            assert point is not None
            if point.id == last:
                _report_doubled_point(build, collection, model, point.id, report, repair)
                continue
            # Check again: its row may have been added during the comparison.
            if not Node.objects.filter(build=build, point_id=point.id).exists():
                report.add_finding("orphan", point.id)
                if repair:
                    delete_points(build, collection, [point.id])
                    report.repaired_count += 1
            continue
        last = row.point_id
        report.node_count += row.state != Node.State.DELETING
        finding = _find_mismatch(model, row, point)
        if row.state == Node.State.FAILED:
            report.failed_count += 1
        if finding is None:
            continue
        report.add_finding(finding, row.point_id)
        if repair and finding in FINDINGS_TO_RESYNC:
            _mark_row_pending(row, build, model, has_valid_vectors=finding == "mislabelled")
            report.repaired_count += 1


def _confirm_differences(
    collection: str, pairs: Iterable[tuple[ComparedRow | None, StoredPoint | None]]
) -> Iterator[tuple[ComparedRow | None, StoredPoint | None]]:
    """Yield equal pairs at once. Points that differ from their rows are read again before they are
    yielded, because a replica that has just come back answers from the past."""
    differing: dict[UUID, ComparedRow | None] = {}
    last: UUID | None = None
    for row, point in pairs:
        if row is not None:
            last = row.point_id
            is_equal = row.state != Node.State.SYNCED or (
                point is not None and hash_payload(point.payload) == row.payload_hash
            )
            if not is_equal:
                differing[row.point_id] = row
        else:
            assert point is not None
            is_equal = point.id == last  # stored twice, which is reported as it is
            if not is_equal:
                differing[point.id] = None
        if is_equal:
            yield row, point
        elif len(differing) == MAX_UNCONFIRMED:
            yield from _read_again(collection, differing)
            differing.clear()
    yield from _read_again(collection, differing)


def _read_again(
    collection: str, rows: Mapping[UUID, ComparedRow | None]
) -> Iterator[tuple[ComparedRow | None, StoredPoint | None]]:
    if not rows:
        return
    store = get_store()
    store.wait_for_replicas()
    for ids in slices(list(rows), ROWS_PER_STATEMENT):
        points = store.retrieve(collection, ids)
        for point_id in ids:
            if rows[point_id] is not None or point_id in points:
                yield rows[point_id], points.get(point_id)


def _report_doubled_point(
    build: IndexBuild,
    collection: str,
    model: EmbeddingSpec,
    point_id: UUID,
    report: VerificationReport,
    repair: bool,
) -> None:
    report.add_finding("doubled", point_id)
    row = Node.objects.filter(build=build, point_id=point_id).first()
    if repair and row is not None:
        # Deleting by id removes every copy; which one is correct is not known.
        delete_points(build, collection, [point_id])
        _mark_row_pending(row, build, model, has_valid_vectors=False)
        report.repaired_count += 1


def _mark_row_pending(
    row: ComparedRow | Node, build: IndexBuild, model: EmbeddingSpec, *, has_valid_vectors: bool
) -> None:
    if row.artifact_id is None:
        plan_standalone_rows(row.kind, build, [row.point_id])
    else:
        plan_nodes(row.artifact_id, build)
    with changing_nodes(build.pk, [row.artifact_id]):
        Node.objects.filter(pk=row.pk).exclude(state=Node.State.DELETING).update(
            state=Node.State.PENDING,
            synced_input_hash=row.synced_input_hash if has_valid_vectors else "",
            embedding_model=model.model,
            dimension=model.dimension,
            **FRESH,
        )


def _reset_failed_nodes(build: IndexBuild, report: VerificationReport) -> None:
    failed = Node.objects.filter(build=build, state=Node.State.FAILED)
    report.repaired_count += retry_failed_nodes(failed)


def _find_mismatch(model: EmbeddingSpec, row: ComparedRow, point: StoredPoint | None) -> str | None:
    if row.state == Node.State.DELETING:
        return "deleting"
    if row.state == Node.State.FAILED:
        return None
    if row.state == Node.State.PENDING:
        is_out_of_attempts = row.attempts > settings.STRATA_MAX_ATTEMPTS
        return "uncontained" if is_out_of_attempts else "pending"
    if (row.embedding_model, row.dimension) != (model.model, model.dimension):
        return "foreign"
    if point is None:
        return "missing"
    if hash_payload(point.payload) == row.payload_hash:
        return None
    text_field = KINDS[row.kind].text_field
    [text] = Node.objects.filter(pk=row.pk).values_list("text", flat=True) or [None]
    return "mislabelled" if point.payload.get(text_field) == text else "outdated"


def _iter_rows(build: IndexBuild, kinds: Sequence[str]) -> Iterator[ComparedRow]:
    """Yield the build's rows of these kinds by ascending point id; reads one page at a time.

    No query stays open while the caller writes: an open SQLite read would not see the writes.
    """
    last: UUID | None = None
    while True:
        rows = Node.objects.filter(build=build, kind__in=kinds)
        if last is not None:
            rows = rows.filter(point_id__gt=last)
        found = rows.order_by("point_id").values_list(*ComparedRow._fields)[:ROW_PAGE_SIZE]
        page = [ComparedRow(*values) for values in found]
        yield from page
        if len(page) < ROW_PAGE_SIZE:
            return
        last = page[-1].point_id


def _merge_by_id(
    rows: Iterator[ComparedRow], batches: Iterator[list[StoredPoint]]
) -> Iterator[tuple[ComparedRow | None, StoredPoint | None]]:
    """Merge two streams, both ascending by id, into pairs of the same id."""
    points = (point for batch in batches for point in batch)
    row, point = next(rows, None), next(points, None)
    while row is not None or point is not None:
        if point is None or (row is not None and row.point_id < point.id):
            yield row, None
            row = next(rows, None)
        elif row is None or point.id < row.point_id:
            yield None, point
            point = next(points, None)
        else:
            yield row, point
            row, point = next(rows, None), next(points, None)
