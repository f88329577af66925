"""Plans the ledger: makes its rows match the artifacts as they are now.

Documents are planned many at a time: they are drafted without a lock, and nodes and queue rows are
written in one transaction. A large document is drafted in parts, so that others get their turn in
between.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from core.expected_errors import is_expected
from core.leases import Claim, describe_error
from core.stages import describe, stage
from core.text import hash_text
from documents.exceptions import Unparsable
from documents.models import Artifact, Source
from documents.reading import mark_artifact_failed
from indexing.drafting import get_drafters, plan_inputs
from indexing.exceptions import TooManyNodes, UnchunkableText
from indexing.models import IndexBuild, IndexedDocument, IndexedDocumentQuerySet, Node
from indexing.services.documents import PLANNABLE_STATES, changing_nodes, make_documents_due
from indexing.services.rereading import drop_reading
from indexing.services.resets import reembed_nodes
from indexing.services.rows import draft_rows, find_current_turn, mark_deleting, write_rows

DOCUMENTS_PER_CLAIM = 64
# Or fewer, if they are this long together, about 600 chunks: other indexes wait for a whole batch.
BYTES_PER_CLAIM = 2**18
LARGE_BYTES = 2**20  # only one document of this size is planned at a time, besides smaller ones
DRAFTS_PER_PART = 500  # nodes of one document between two turns of the others
# Nodes of one document that are embedded before the next document's turn. This size costs a large
# document a fifth of its speed; with 32, a paragraph beside it takes four times as long as alone.
NODES_PER_TURN = 16

_DOCUMENT_FIELDS = [
    "state", "revision", "content_hash", "input_versions", "unwritten_kinds", "kinds_to_regenerate",
    "planned_at", "attempts", "last_error", "lease_token", "leased_until",
]  # fmt: skip


@dataclass(slots=True, eq=False)
class _DocumentPlan:
    """A claimed document that is being planned."""

    claim: Claim[IndexedDocument]
    document: IndexedDocument
    artifact: Artifact | None = None  # None: it was deleted
    kinds: list[str] = field(default_factory=list)  # to draft; the others have not changed
    drafts: Iterator[Node] = field(default_factory=lambda: iter(()))
    first_turn: int = 0
    point_ids: set[UUID] = field(default_factory=set)  # drafted so far
    part: list[Node] = field(default_factory=list)  # drafted and not written yet
    is_drafted: bool = False

    @property
    def is_large(self) -> bool:
        return self.artifact is not None and self.artifact.byte_count >= LARGE_BYTES

    def draft_part(self) -> None:
        self.part = list(islice(self.drafts, DRAFTS_PER_PART))
        for node in self.part:
            node.turn = self.first_turn + len(self.point_ids) // NODES_PER_TURN
            self.point_ids.add(node.point_id)
        if len(self.point_ids) > settings.STRATA_MAX_DOCUMENT_NODES:
            raise TooManyNodes(
                "The document makes more than "
                f"{settings.STRATA_MAX_DOCUMENT_NODES:,} nodes (chunks, summaries, questions).",
                fix="Split it into several documents, or raise STRATA_MAX_DOCUMENT_NODES.",
            )
        self.is_drafted = len(self.part) < DRAFTS_PER_PART


class DocumentPlanner:
    """Plans the due documents of one build. One thread at a time may use it."""

    def __init__(self) -> None:
        self._plans: list[_DocumentPlan] = []
        self._raises_all = False  # instead of saving errors on the document

    @property
    def is_active(self) -> bool:
        """Whether a document is partly planned."""
        return bool(self._plans)

    def plan_next(self, build: IndexBuild, should_stop: Callable[[], bool] = lambda: False) -> int:
        """Plan small documents that are due, and the next part of a large one.

        Returns:
            How many documents it worked on; 0 if nothing is left to do.

        Raises:
            EmbeddingUnavailable, ModelUnavailable, …: unplanned documents are released without
                counting the attempt; calling again later is safe.
        """
        with ExitStack() as renewals, self._releasing_on_error():
            for claim in {plan.claim for plan in self._plans}:
                renewals.enter_context(claim.renewed())
            for claim in self._claim_more(build):
                renewals.enter_context(claim.renewed())
                self._add_plans(build, claim)
            return self._plan_parts(build, should_stop)

    def plan_claimed(self, build: IndexBuild, claim: Claim[IndexedDocument]) -> None:
        """Plan a claimed document completely, unless another process makes it due meanwhile. Raises
        ``Exception``: any error of planning it."""
        self._raises_all = True
        with claim.renewed(), self._releasing_on_error():
            self._add_plans(build, claim)
            while self._plans:
                self._plan_parts(build, lambda: False)

    @contextmanager
    def _releasing_on_error(self) -> Iterator[None]:
        """If the block raises, release every document that is not completely planned."""
        try:
            yield
        except BaseException as error:
            claims, self._plans = {plan.claim for plan in self._plans}, []
            for claim in claims:
                if is_expected(error):
                    claim.give_back(describe_error(error))
                elif isinstance(error, Exception):
                    claim.charge(error)
            raise

    def _claim_more(self, build: IndexBuild) -> Iterator[Claim[IndexedDocument]]:
        due = IndexedDocument.objects.due(build).order_by("kinds_to_regenerate", "pk")
        if not due.free().exists():  # a claim that finds nothing waits for SQLite's lock, too
            return
        due.give_up_exhausted()
        is_large = Exists(
            Artifact.objects.filter(pk=OuterRef("artifact_id"), byte_count__gte=LARGE_BYTES)
        )
        small, large = due.filter(~is_large), due.filter(is_large)
        if claim := _claim_changed_first(small, _count_documents_of_batch(small)):
            yield claim
        if any(plan.is_large for plan in self._plans) or not large.free().exists():
            return
        if claim := _claim_changed_first(large, 1):
            yield claim

    def _add_plans(self, build: IndexBuild, claim: Claim[IndexedDocument]) -> None:
        """Read the claimed documents, and find out which of their nodes must be drafted."""
        plans = [_DocumentPlan(claim, document) for document in claim.rows]
        self._plans += plans
        if build.spec.has_generated_texts:
            for plan in plans:
                try:
                    plan_inputs(plan.document.artifact_id, build)
                except Exception as error:  # noqa: BLE001  (noted on the document)
                    self._fail(plan, error)
        ids = [plan.document.artifact_id for plan in plans]
        artifacts = Artifact.objects.filter(index=build.index_id, pk__in=ids)
        read = {each.pk: each for each in artifacts.with_sources(build.reading)}
        drafters = get_drafters(build)
        versions = {
            kind: drafter.get_input_versions(read, build) for kind, drafter in drafters.items()
        }
        unwritten = {
            kind: drafter.find_unwritten(read, build) for kind, drafter in drafters.items()
        }
        current_turn = find_current_turn(build)
        for plan in plans:
            document, plan.first_turn = plan.document, current_turn
            plan.artifact = artifact = read.get(document.artifact_id)
            if artifact is not None and artifact.state not in PLANNABLE_STATES:
                continue  # readers keep the old nodes until the new content is parsed
            plan.kinds = list(drafters)
            if artifact is None:
                continue
            _normalise_metadata(artifact, build)
            new_versions = {name: versions[name].get(artifact.pk, "") for name in plan.kinds}
            content_hash = compute_content_hash(artifact)
            if document.content_hash == content_hash:
                plan.kinds = [
                    name
                    for name in plan.kinds
                    if new_versions[name] != document.input_versions.get(name)
                    or name in document.kinds_to_regenerate
                ]
            plan.drafts = draft_rows(artifact, build, plan.kinds)
            document.revision, document.content_hash = artifact.revision, content_hash
            document.input_versions = new_versions
            document.unwritten_kinds = [
                name
                for name, artifact_ids in unwritten.items()
                if artifact.pk in artifact_ids and artifact.state == Artifact.State.PARSED
            ]

    def _plan_parts(self, build: IndexBuild, should_stop: Callable[[], bool]) -> int:
        """Draft and write the next part of every document; return the number of documents."""
        if not self._plans:
            return 0
        with stage("plan"):
            describe(
                {"strata.artifact_ids": [str(each.document.artifact_id) for each in self._plans]}
            )
            return self._draft_and_write(build, should_stop)

    def _draft_and_write(self, build: IndexBuild, should_stop: Callable[[], bool]) -> int:
        plans, drafted = self._plans[:], []
        for plan in plans:
            if should_stop():
                for claim in {plan.claim for plan in self._plans}:
                    claim.give_back()
                self._plans = []
                return 0
            try:
                plan.draft_part()
            except (UnchunkableText, TooManyNodes) as error:
                # A retry would fail again, so the artifact is marked as failed.
                assert plan.artifact is not None
                self._plans.remove(plan)
                if not drop_reading(build, plan.artifact.pk, describe_error(error)):
                    mark_artifact_failed(
                        plan.artifact, Unparsable(error.code, error.detail, fix=error.fix)
                    )
                continue
            except Exception as error:  # noqa: BLE001  (noted on the document)
                self._fail(plan, error)
                continue
            drafted.append(plan)
            if sum(len(each.part) for each in drafted) >= DRAFTS_PER_PART:
                self._write(build, drafted)
                drafted = []
        self._write(build, drafted)
        return len(plans)

    def _fail(self, plan: _DocumentPlan, error: Exception) -> None:
        """Drop a document that cannot be planned; raise errors that other documents would meet."""
        if self._raises_all or is_expected(error):
            raise error
        self._plans.remove(plan)
        plan.claim.charge(error, pk=plan.document.pk)

    def _write(self, build: IndexBuild, plans: Sequence[_DocumentPlan]) -> None:
        """Write the drafted parts of these documents; if that fails, write each alone."""
        if not plans:
            return
        try:
            written = _write_parts(build, plans)
        except Exception as error:  # noqa: BLE001  (noted on the document)
            if len(plans) == 1:
                self._fail(plans[0], error)
                return
            for plan in plans:
                self._write(build, [plan])
            return
        done = [plan for plan in plans if plan.is_drafted or plan not in written]
        self._plans = [plan for plan in self._plans if plan not in done]


def _count_documents_of_batch(due: IndexedDocumentQuerySet) -> int:
    sizes = due.free().values_list("artifact__byte_count", flat=True)[:DOCUMENTS_PER_CLAIM]
    byte_count = 0
    for count, size in enumerate(sizes, start=1):
        byte_count += size
        if byte_count >= BYTES_PER_CLAIM:
            return count
    return DOCUMENTS_PER_CLAIM


def _claim_changed_first(due: IndexedDocumentQuerySet, limit: int) -> Claim[IndexedDocument] | None:
    """Claim documents that were added or changed, or if there are none, those to regenerate."""
    return due.filter(kinds_to_regenerate=[]).claim_batch(limit) or due.claim_batch(limit)


def plan_nodes(artifact_id: UUID, build: IndexBuild) -> None:
    """Make the ledger of ``build`` match the current state of one artifact, even if another worker
    plans it. Drafts all its nodes.

    New and changed nodes become pending, vanished ones `deleting`; the rest is not changed. While
    the artifact waits to be parsed or read anew, readers keep its old nodes.
    """
    due = IndexedDocument.objects.due(build).filter(artifact=artifact_id)
    has_planned = False
    while not has_planned or due.exists():
        has_planned = True
        with transaction.atomic():
            make_documents_due([build.pk], [artifact_id])
            document = due.select_for_update().first()
            if document is None:
                return  # it is read anew first
            document.content_hash = ""
            document.save(update_fields=["content_hash"])
            claim = due.claim()
        if claim is not None:
            DocumentPlanner().plan_claimed(build, claim)


def has_normal_metadata(artifact: Artifact, build: IndexBuild) -> bool:
    """Whether the values of declared fields are written as the live build's spec writes them; True
    for other builds. Synonyms may be declared after documents were added, and imports and raw SQL
    write any value."""
    if build.index.live_build_id != build.pk:
        return True
    return build.spec.normalise_metadata(artifact.metadata) == artifact.metadata


def _normalise_metadata(artifact: Artifact, build: IndexBuild) -> None:
    """The document says the same as before, so it gets no new revision."""
    if has_normal_metadata(artifact, build):
        return
    metadata = build.spec.normalise_metadata(artifact.metadata)
    unchanged = Artifact.objects.filter(pk=artifact.pk, revision=artifact.revision)
    if unchanged.update(metadata=metadata):
        artifact.metadata = metadata


def compute_content_hash(artifact: Artifact) -> str:
    """Hash of the artifact's attributes and sources: all that nodes are made from except written
    texts.

    Also corrects the stored hashes: rows written by raw SQL have none or an old one.
    """
    attributes_hash = artifact.compute_attributes_hash()
    if artifact.attributes_hash != attributes_hash:
        artifact.attributes_hash = attributes_hash
        Artifact.objects.filter(pk=artifact.pk).update(attributes_hash=attributes_hash)
    sources = []
    for source in artifact.sources.all():
        content_hash = hash_text(source.text)
        if source.content_hash != content_hash:
            source.content_hash = content_hash
            Source.every_reading.filter(pk=source.pk).update(content_hash=content_hash)
        page = [source.page.index, *source.page.warnings]
        sources.append([str(source.pk), content_hash, source.heading, source.ordinal, *page])
    return hash_content(artifact, attributes_hash, sources)


def hash_content(
    artifact: Artifact, attributes_hash: str, sources: Sequence[Sequence[object]]
) -> str:
    """``sources``: id, content hash, heading, ordinal, page index and page warnings of each, in
    order."""
    return hash_text(json.dumps([artifact.state, artifact.sha256, attributes_hash, sources]))


def _write_parts(build: IndexBuild, plans: Sequence[_DocumentPlan]) -> Sequence[_DocumentPlan]:
    """Write the drafted parts of the documents whose claim is still held; return these."""
    now = timezone.now()
    with changing_nodes(build.pk, [plan.document.artifact_id for plan in plans]):
        claimed = IndexedDocument.objects.filter(
            lease_token__in={plan.claim.token for plan in plans},
            pk__in=[plan.document.pk for plan in plans],
        )
        claimed_ids = set(claimed.values_list("pk", flat=True))
        plans = [plan for plan in plans if plan.document.pk in claimed_ids]
        _regenerate(build, plans)
        # A new document has no rows yet that could conflict.
        replanned = [plan for plan in plans if plan.document.planned_at is not None]
        write_rows(
            build,
            [draft for plan in plans for draft in plan.part],
            known_ids={draft.point_id for plan in replanned for draft in plan.part},
        )
        _delete_vanished_nodes(build, [plan for plan in plans if plan.is_drafted])
        IndexedDocument.objects.bulk_create(
            [
                IndexedDocument(
                    build=build,
                    artifact_id=plan.document.artifact_id,
                    state=IndexedDocument.State.SYNCING,  # the count at the end corrects it
                    revision=plan.document.revision,
                    content_hash=plan.document.content_hash,
                    input_versions=plan.document.input_versions,
                    unwritten_kinds=plan.document.unwritten_kinds,
                    kinds_to_regenerate=[],
                    planned_at=now,
                )
                for plan in plans
                if plan.is_drafted
            ],
            update_conflicts=True,
            unique_fields=["build", "artifact"],
            update_fields=_DOCUMENT_FIELDS,
        )
        unfinished = [plan.document.pk for plan in plans if not plan.is_drafted]
        IndexedDocument.objects.filter(pk__in=unfinished).update(
            planned_at=now,
            kinds_to_regenerate=[],
            content_hash="",  # the worker that takes over after a crash drafts every kind
        )
    for plan in plans:
        plan.document.planned_at, plan.document.kinds_to_regenerate, plan.part = now, [], []
    return plans


def _regenerate(build: IndexBuild, plans: Sequence[_DocumentPlan]) -> None:
    """Have nodes embedded again, and their texts written again, where that was requested.

    The request is cleared in the same transaction, before new nodes are written, so that nothing is
    paid for twice.
    """
    requested: dict[tuple[str, ...], list[_DocumentPlan]] = defaultdict(list)
    for plan in plans:
        requested[tuple(plan.document.kinds_to_regenerate)].append(plan)
    requested.pop((), None)
    for kinds, of_kinds in requested.items():
        artifact_ids = [plan.document.artifact_id for plan in of_kinds]
        nodes = Node.objects.filter(build=build, artifact__in=artifact_ids, kind__in=kinds)
        # All writers of several rows lock them in this order, which prevents deadlocks.
        list(nodes.select_for_update().order_by("pk").values_list("pk", flat=True))
        reembed_nodes(nodes)
        drafters = {kind: each for kind, each in get_drafters(build).items() if kind in kinds}
        for kind, drafter in drafters.items():
            for plan in of_kinds:
                document = plan.document
                count = drafter.rewrite_inputs(document.artifact_id, build, only_failed=False)
                if count and kind not in document.unwritten_kinds:
                    document.unwritten_kinds.append(kind)


def _delete_vanished_nodes(build: IndexBuild, plans: Sequence[_DocumentPlan]) -> None:
    """Mark rows of the drafted kinds for deletion if they were not drafted again."""
    plans_by_artifact = {
        plan.document.artifact_id: plan for plan in plans if plan.document.planned_at
    }
    rows = Node.objects.filter(build=build, artifact__in=plans_by_artifact)
    vanished = []
    for pk, artifact_id, kind, point_id in rows.exclude(state=Node.State.DELETING).values_list(
        "pk", "artifact_id", "kind", "point_id"
    ):
        plan = plans_by_artifact[artifact_id]
        if kind in plan.kinds and point_id not in plan.point_ids:
            vanished.append(pk)
    mark_deleting(vanished)
