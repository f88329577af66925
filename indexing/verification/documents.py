"""Verifies that the ledger of a build holds what its documents require."""

from collections.abc import Sequence
from copy import copy
from operator import attrgetter
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from core.text import hash_text
from documents.models import Artifact, Page, Source, load_sources
from indexing.drafting import get_drafters, get_standalone_drafters
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.services import draft_rows, draft_standalone_rows, plan_nodes, plan_standalone_rows
from indexing.services.batches import ROWS_PER_STATEMENT, slices
from indexing.verification.report import VerificationReport

ARTIFACTS_PER_SLICE = 200
COMPARED = ("point_id", "text_hash", "input_hash", "payload_hash")  # of a row and its draft
_read_compared = attrgetter(*COMPARED)


def verify_documents(build: IndexBuild, report: VerificationReport, *, repair: bool) -> None:
    """I1 and I4: the ledger matches each artifact, and every chunk is at its offsets."""
    artifacts = Artifact.objects.filter(index=build.index_id).order_by("pk")
    end = UUID(int=0)
    is_last = False
    while not is_last:
        page = list(artifacts.filter(pk__gt=end)[:ARTIFACTS_PER_SLICE])
        is_last = len(page) < ARTIFACTS_PER_SLICE
        in_slice = Q(artifact__gt=end)
        if not is_last:
            end = page[-1].pk
            in_slice &= Q(artifact__lte=end)
        report.artifact_count += len(page)
        documents = IndexedDocument.objects.filter(in_slice, build=build)
        unread = set(documents.filter(is_unread=True).values_list("artifact_id", flat=True))
        unplanned = []
        for artifact in page:
            if (
                artifact.state in {Artifact.State.RECEIVED, Artifact.State.PARSING}
                or artifact.pk in unread
            ):
                report.add_finding("unparsed", artifact.pk)
            elif not _ledger_matches_artifact(build, artifact, report):
                unplanned.append(artifact.pk)
        unwritten = documents.exclude(unwritten_kinds=[])
        for artifact_id in unwritten.values_list("artifact_id", flat=True):
            report.add_finding("unwritten", artifact_id)  # the reconciliation enqueues its writing
        orphaned = _find_orphaned_artifacts(Node.objects.filter(in_slice, build=build))
        for artifact_id in sorted({*unplanned, *orphaned}):
            report.add_finding("unplanned", artifact_id)
            if repair:
                plan_nodes(artifact_id, build)
                report.repaired_count += 1


def verify_standalone_rows(build: IndexBuild, report: VerificationReport, *, repair: bool) -> None:
    """I1: each row of a standalone kind has the node that would be drafted from it."""
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
            stored = set(nodes.filter(point_id__in=part).values_list(*COMPARED))
        unplanned += sorted({each[0] for each in stored ^ set(map(_read_compared, drafts))})
    return unplanned


def _find_orphaned_artifacts(nodes: QuerySet[Node]) -> list[UUID]:
    """Ids of artifacts that were deleted or lost a source or page, but still have nodes."""
    nodes = nodes.exclude(state=Node.State.DELETING)
    has_source, has_page, is_there = (
        Exists(model._base_manager.filter(pk=OuterRef(name)))
        for model, name in ((Source, "source_id"), (Page, "page_id"), (Artifact, "artifact_id"))
    )
    is_orphaned = (
        Q(~has_source, source_id__isnull=False) | Q(~has_page, page_id__isnull=False) | Q(~is_there)
    )
    return list(nodes.filter(is_orphaned).values_list("artifact_id", flat=True).distinct())


def _ledger_matches_artifact(
    build: IndexBuild, artifact: Artifact, report: VerificationReport
) -> bool:
    artifact = copy(artifact)  # so that its texts are not kept
    load_sources([artifact], build.reading)
    others = [kind for kind in get_drafters(build) if kind != "chunk"]
    if others and not rows_match_drafts(build, artifact, others):
        return False
    if "chunk" not in build.spec.kinds:
        return True
    if not _chunks_match_sources(build, artifact, report):
        return False
    # Boundaries of a language model may have changed where chunks still cover the text.
    return build.spec.chunks.llm is None or rows_match_drafts(build, artifact, ["chunk"])


def rows_match_drafts(build: IndexBuild, artifact: Artifact, kinds: Sequence[str]) -> bool:
    """Whether the rows of these kinds are what would be drafted now."""
    nodes = Node.objects.filter(build=build, artifact=artifact, kind__in=kinds)
    rows = nodes.exclude(state=Node.State.DELETING).values_list(*COMPARED)
    return set(rows) == set(map(_read_compared, draft_rows(artifact, build, kinds)))


def _chunks_match_sources(
    build: IndexBuild, artifact: Artifact, report: VerificationReport
) -> bool:
    """Check without chunking again: chunks are at their offsets, no two share a place, and only
    white space of the sources lies outside them."""
    sources = {source.pk: source for source in artifact.sources.all()}
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
    drafted = {
        (draft.source_id, draft.strategy, draft.start_offset, draft.end_offset)
        for draft in draft_rows(artifact, build, ["chunk"])
    }
    return drafted == {(*key, *place) for key, places in spans.items() for place in places}


def _spans_cover_text(text: str, spans: list[tuple[int, int]]) -> bool:
    """Whether only white space lies between and around the spans."""
    end = 0
    for start, stop in sorted(spans):
        if text[end:start].strip():
            return False
        end = max(end, stop)
    return not text[end:].strip()
