"""``verify``: does every build hold exactly what its documents say, and nothing else?

Reads the ledger and the store side by side, in ascending order of point id, so that memory
stays bounded however large the index is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from uuid import UUID

from django.conf import settings

from documents.models import Artifact, Source, hash_text
from indexing.kinds import awaited_artifacts
from indexing.models import IndexBuild, Node
from indexing.services import bereft_artifacts, draft_nodes, hash_payload, plan_nodes
from indexing.stores import get_store
from indexing.stores.base import StoredPoint

EXAMPLES = 5  # named of each sort of finding
ROWS_AT_ONCE = 2_000

# Sort of finding -> the invariant it breaks, and what it means.
FINDINGS = {
    "unparsed": ("I8", "artifacts whose content has not been read yet"),
    "unwritten": ("I1", "artifacts of which summaries or questions are not written yet"),
    "unplanned": ("I1", "artifacts the ledger does not mirror as they are now"),
    "misplaced": ("I4", "chunks that do not stand at their offsets in their source"),
    "pending": ("I2", "nodes whose points are not written yet"),
    "doomed": ("I3", "points that are still to be removed"),
    "missing": ("I2", "nodes without the point they should have"),
    "orphan": ("I3", "points without a row in the ledger"),
    "outdated": ("I4", "points that differ from their row"),
    "foreign": ("I6", "nodes embedded by another model than their build's"),
    "uncontained": ("I10", "nodes that are tried beyond their last attempt"),
}


@dataclass
class Report:
    """What ``verify`` found in one build, and what is well."""

    index: str
    build: int
    artifact_count: int = 0
    node_count: int = 0
    point_count: int = 0
    failed_count: int = 0  # nodes given up, with their error: contained, and no fault
    findings: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)
    repaired_count: int = 0

    @property
    def is_sound(self) -> bool:
        return not self.findings

    def found(self, sort: str, what: object) -> None:
        self.findings[sort] = self.findings.get(sort, 0) + 1
        named = self.examples.setdefault(sort, [])
        if len(named) < EXAMPLES:
            named.append(str(what))

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "is_sound": self.is_sound}


def verify_build(build: IndexBuild, *, repair: bool = False) -> Report:
    """Compare documents, ledger and store of one build in both directions.

    With ``repair`` whatever differs is planned or made due again and orphans are removed;
    what was made due settles afterwards, with the next round.

    Raises:
        StoreUnavailable: the store could not be read to its end.
    """
    report = Report(build.index_id, build.number)
    _verify_documents(build, report, repair)
    for collection, kinds in build.collections().items():
        _verify_points(build, collection, kinds, report, repair)
    return report


def _verify_documents(build: IndexBuild, report: Report, repair: bool) -> None:
    """I1 and I4: the ledger mirrors every artifact, and every chunk stands where it says."""
    artifacts = Artifact.objects.filter(index=build.index_id)
    report.artifact_count = artifacts.count()
    for artifact in artifacts.order_by("pk").iterator(chunk_size=200):
        if artifact.state in {Artifact.State.RECEIVED, Artifact.State.PARSING}:
            report.found("unparsed", artifact.pk)
        elif not _is_mirrored(build, artifact, report):
            report.found("unplanned", artifact.pk)
            if repair:
                plan_nodes(artifact.pk, build)
                report.repaired_count += 1
    for artifact_id in awaited_artifacts(build).values_list("pk", flat=True).iterator():
        report.found("unwritten", artifact_id)  # the sweep has it written
    for artifact_id in bereft_artifacts(build):
        report.found("unplanned", artifact_id)
        if repair:
            plan_nodes(artifact_id, build)
            report.repaired_count += 1


def _is_mirrored(build: IndexBuild, artifact: Artifact, report: Report) -> bool:
    others = [kind for kind in build.spec.kinds if kind != "chunk"]
    if others and not _equals_drafts(build, artifact, others):
        return False
    return "chunk" not in build.spec.kinds or _has_its_chunks(build, artifact, report)


def _equals_drafts(build: IndexBuild, artifact: Artifact, kinds: Sequence[str]) -> bool:
    """For kinds whose drafts are only read from rows."""
    nodes = Node.objects.filter(build=build, artifact=artifact, kind__in=kinds)
    rows = nodes.exclude(state=Node.State.DOOMED)
    mirrored = set(rows.values_list("point_id", "text_hash", "input_hash", "payload_hash"))
    return mirrored == {
        (draft.point_id, draft.text_hash, draft.input_hash, draft.payload_hash)
        for draft in draft_nodes(artifact, build, kinds)
    }


def _has_its_chunks(build: IndexBuild, artifact: Artifact, report: Report) -> bool:
    """Without cutting it anew: its chunks stand where they say, in every one of its sources."""
    sources = {source.pk: source for source in Source.objects.filter(artifact=artifact)}
    hashes = {pk: hash_text(source.text) for pk, source in sources.items()}
    nodes = Node.objects.filter(build=build, artifact=artifact, kind="chunk")
    label_hash = artifact.compute_label_hash()
    seen = set()
    for node in nodes.exclude(state=Node.State.DOOMED).only(
        "point_id", "source_id", "start_offset", "end_offset", "text", "text_hash",
        "source_hash", "label_hash",
    ):  # fmt: skip
        if node.source_id not in sources or node.label_hash != label_hash:
            return False
        if node.source_hash not in (None, hashes[node.source_id]):
            return False
        text = sources[node.source_id].text[node.start_offset : node.end_offset]
        if text != node.text or node.text_hash not in (None, hash_text(text)):
            report.found("misplaced", node.point_id)
            return False
        seen.add(node.source_id)
    if seen == set(sources):
        return True
    # A source without a node is whole only if the recipe finds nothing in it to cut.
    return {draft.source_id for draft in draft_nodes(artifact, build, ["chunk"])} == seen


def _verify_points(
    build: IndexBuild, collection: str, kinds: Sequence[str], report: Report, repair: bool
) -> None:
    """I2, I3, I4 and I6: one point per row and one row per point, saying the same."""
    store = get_store()
    for row, point in _side_by_side(_rows(build, kinds), store.scroll(collection)):
        report.point_count += point is not None
        if row is None:
            assert point is not None
            # Read once more: its row may have come while we walked.
            if not Node.objects.filter(build=build, point_id=point.id).exists():
                report.found("orphan", point.id)
                if repair:
                    store.delete(collection, [point.id])
                    report.repaired_count += 1
            continue
        report.node_count += row.state != Node.State.DOOMED
        finding = _compare(build, row, point)
        if row.state == Node.State.FAILED:
            report.failed_count += 1
        if finding is None:
            continue
        report.found(finding, row.point_id)
        if repair and finding in {"missing", "outdated", "foreign", "uncontained"}:
            plan_nodes(row.artifact_id, build)
            Node.objects.filter(pk=row.pk).exclude(state=Node.State.DOOMED).update(
                state=Node.State.PENDING,
                settled_input_hash="" if finding != "outdated" else row.settled_input_hash,
                attempts=0,
                lease_token=None,
                leased_until=None,
            )
            report.repaired_count += 1
    if repair:
        _retry_failed(build, report)


def _retry_failed(build: IndexBuild, report: Report) -> None:
    failed = Node.objects.filter(build=build, state=Node.State.FAILED)
    report.repaired_count += failed.update(
        state=Node.State.PENDING, attempts=0, settled_input_hash=""
    )


def _compare(build: IndexBuild, row: Node, point: StoredPoint | None) -> str | None:
    spec = build.spec.embedding
    if row.state == Node.State.DOOMED:
        return "doomed"
    if row.state == Node.State.FAILED:
        return None
    if row.state == Node.State.PENDING:
        is_over = row.attempts > settings.STRATA_MAX_ATTEMPTS
        return "uncontained" if is_over else "pending"
    if (row.embedding_model, row.dimension) != (spec.model, spec.dimension):
        return "foreign"
    if point is None:
        return "missing"
    return None if hash_payload(point.payload) == row.payload_hash else "outdated"


def _rows(build: IndexBuild, kinds: Sequence[str]) -> Iterator[Node]:
    """The build's rows of these kinds in ascending order of point id, a page at a time.

    No query stays open while the caller writes: SQLite's readers would not see what it wrote.
    """
    last: UUID | None = None
    while True:
        rows = Node.objects.filter(build=build, kind__in=kinds).defer("text", "context")
        if last is not None:
            rows = rows.filter(point_id__gt=last)
        page = list(rows.order_by("point_id")[:ROWS_AT_ONCE])
        yield from page
        if len(page) < ROWS_AT_ONCE:
            return
        last = page[-1].point_id


def _side_by_side(
    rows: Iterator[Node], batches: Iterator[list[StoredPoint]]
) -> Iterator[tuple[Node | None, StoredPoint | None]]:
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
