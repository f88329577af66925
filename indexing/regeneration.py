"""Regeneration: makes documents due, so that their nodes and texts are made again.

Planning, writing and syncing do the rest. Nothing here enqueues tasks.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from core.exceptions import InvalidInput
from core.text import hash_text
from documents.models import Artifact, Page, Source
from indexing.drafting import get_drafter, get_standalone_drafters
from indexing.kinds import KINDS, list_regeneration_types
from indexing.models import (
    MADE_FROM_ID,
    NOT_SYNCED,
    Index,
    IndexBuild,
    IndexedDocument,
    Node,
    NodeQuerySet,
)
from indexing.point_comparison import compare_points
from indexing.services import (
    find_unplanned_artifacts,
    find_unplanned_rows,
    make_documents_due,
    reembed_nodes,
    regenerate_documents,
    retry_failed_nodes,
)
from indexing.services.batches import ROWS_PER_STATEMENT, slices

ALL_TYPES = "all"  # instead of a type
TYPE_ALIASES = {"source": "chunk"}  # sources are embedded by their chunks
MAX_NAMED_ARTIFACTS = 10_000  # in one request
ROWS_EXAMINED = 100  # artifacts or standalone rows, together


@dataclass(frozen=True, slots=True)
class Regeneration:
    """What a request has made due."""

    types: list[str]
    examined_count: int  # artifacts and standalone rows
    due_count: int  # of these
    node_count: int  # that are embedded again already; planning may find more

    def as_json(self) -> dict[str, Any]:
        return {
            "types": self.types,
            "examined": self.examined_count,
            "due": self.due_count,
            "nodes": self.node_count,
        }


@dataclass(frozen=True, slots=True)
class _Target:
    """Kinds of node to regenerate in a build: all made from artifacts, or one standalone kind."""

    build: IndexBuild
    kinds: list[str]

    @property
    def standalone_kind(self) -> str:
        return self.kinds[0] if KINDS[self.kinds[0]].is_standalone else ""

    @property
    def group(self) -> tuple[str, str]:
        """What its nodes are made from: the index, and the kind of standalone rows."""
        return self.build.index_id, self.standalone_kind

    def find_rows(self) -> QuerySet[Any]:
        index = self.build.index_id
        if kind := self.standalone_kind:
            return get_standalone_drafters(self.build)[kind].find_rows(index)
        return Artifact.objects.filter(index=index, state=Artifact.State.PARSED)

    def find_nodes(self, ids: Collection[UUID]) -> NodeQuerySet:
        return Node.objects.made_from(ids).filter(build=self.build, kind__in=self.kinds)


@dataclass(slots=True)
class _Faults:
    """What is missing or outdated in one target."""

    ids: set[UUID]  # of artifacts or standalone rows
    unwritable: dict[str, set[UUID]] = field(default_factory=dict)  # kind -> artifacts
    lost_nodes: dict[UUID, list[int]] = field(default_factory=dict)  # synced ones without a point


def regenerate(
    types: Collection[str],
    *,
    index: str | None = None,
    category: str = "",
    artifact_ids: Iterable[UUID] | None = None,
    is_for_missing: bool = False,
    is_for_stale: bool = False,
    limit: int | None = None,
    offset: int = 0,
) -> Regeneration:
    """Make due what these types of node (or all) are made from, in every build that is not retired;
    in all indexes if ``index`` is None. ``limit`` counts only what is made due.

    Everything becomes due in one transaction, so a request that is repeated after a crash pays for
    nothing twice. What is missing or stale is looked for and made due a batch at a time, because
    points and texts are read for it; a repeated request finds what is left.

    Raises:
        UnknownIndex: there is no such index.
        InvalidInput: there is no such type, or the index has no nodes of it; there is no such
            category; or too many artifacts are named.
        StoreUnavailable: missing points could not be looked for.
    """
    if index is not None:
        Index.objects.require(index)
    types = _clean_types(types, index)
    targets = list(_find_targets(types, index))
    rows = {target.group: target.find_rows() for target in targets}
    if category := " ".join(category.lower().split()):
        _require_category(category, types, rows.values())
        rows = {group: found.filter(category=category) for group, found in rows.items()}
    if artifact_ids is not None:
        named = _clean_artifact_ids(artifact_ids)
        rows = {group: found.filter(pk__in=named) for group, found in rows.items()}
    group_of = {
        pk: group for group, found in rows.items() for pk in found.values_list("pk", flat=True)
    }
    ids = sorted(group_of)[offset:]
    if is_for_missing or is_for_stale:
        return _make_faulty_due(types, targets, ids, group_of, limit, is_for_missing, is_for_stale)
    ids = ids[:limit]
    work = [
        each
        for part in slices(ids, ROWS_PER_STATEMENT)
        for each in _split_by_target(targets, part, group_of)
    ]
    node_count = sum(  # before the transaction, to lock the rows for less time
        target.find_nodes(mine).exclude(state=Node.State.DELETING).count() for target, mine in work
    )
    with transaction.atomic():
        for target, mine in work:
            if target.standalone_kind:
                reembed_nodes(target.find_nodes(mine))
            else:
                regenerate_documents(target.build.pk, mine, target.kinds)
    return Regeneration(types, len(ids), len(ids), node_count)


# --- Scope -----------------------------------------------------------------------------------


def _clean_types(types: Collection[str], index: str | None) -> list[str]:
    available = list_regeneration_types()
    types = [TYPE_ALIASES.get(each, each) for each in types]
    for each in types:
        if each not in available and each != ALL_TYPES:
            raise InvalidInput(
                f"There is no type {each!r} that can be regenerated.",
                field="type",
                allowed=[ALL_TYPES, *available],
            )
    requested = available if ALL_TYPES in types else sorted(set(types))
    if index is None or ALL_TYPES in types:
        return requested
    builds = IndexBuild.objects.not_retired().filter(index=index)
    available_types = {
        KINDS[kind].regeneration_type for build in builds.readable() for kind in build.spec.kinds
    }
    for each in requested:
        if each not in available_types:
            raise InvalidInput(
                f"The index {index} has no nodes of type {each!r}.",
                field="type",
                allowed=[ALL_TYPES, *available_types],
            )
    return requested


def _require_category(category: str, types: list[str], rows: Iterable[QuerySet[Any]]) -> None:
    kinds = [kind for kind in KINDS.values() if kind.regeneration_type in types]
    if not all(kind.has_categories for kind in kinds):
        allowed = sorted({kind.regeneration_type for kind in KINDS.values() if kind.has_categories})
        raise InvalidInput(
            f"Only {' and '.join(allowed)} can be regenerated by category.",
            field="category",
            fix=f"Give the type {' or '.join(allowed)}, or leave out the category.",
        )
    categories = {
        each for found in rows for each in found.values_list("category", flat=True).distinct()
    } - {""}
    if category not in categories:
        raise InvalidInput(
            f"There is no category {category[:60]!r}.", field="category", allowed=categories
        )


def _clean_artifact_ids(artifact_ids: Iterable[UUID]) -> set[UUID]:
    ids = set(artifact_ids)
    if len(ids) > MAX_NAMED_ARTIFACTS:
        raise InvalidInput(
            f"artifacts must name at most {MAX_NAMED_ARTIFACTS:,} artifacts, not {len(ids):,}.",
            field="artifacts",
            fix="Leave out artifacts to regenerate the whole index.",
        )
    return ids


def _find_targets(types: Collection[str], index: str | None) -> Iterator[_Target]:
    builds = IndexBuild.objects.not_retired()
    if index is not None:
        builds = builds.filter(index=index)
    for build in builds.readable():
        kinds = [kind for kind in build.spec.kinds if KINDS[kind].regeneration_type in types]
        if of_artifacts := [kind for kind in kinds if not KINDS[kind].is_standalone]:
            yield _Target(build, of_artifacts)
        for kind in kinds:
            if KINDS[kind].is_standalone:
                yield _Target(build, [kind])


def _split_by_target(
    targets: Iterable[_Target], ids: Iterable[UUID], group_of: Mapping[UUID, tuple[str, str]]
) -> Iterator[tuple[_Target, list[UUID]]]:
    """Yield each target with those of the ids that its nodes are made from, if there are any."""
    for target in targets:
        if mine := [each for each in ids if group_of[each] == target.group]:
            yield target, mine


# --- Missing and stale -----------------------------------------------------------------------


def _make_faulty_due(
    types: list[str],
    targets: Sequence[_Target],
    ids: Sequence[UUID],
    group_of: Mapping[UUID, tuple[str, str]],
    limit: int | None,
    is_for_missing: bool,
    is_for_stale: bool,
) -> Regeneration:
    examined_count = due_count = node_count = 0
    for part in slices(ids, ROWS_EXAMINED):
        changed = _correct_hashes(part) if is_for_stale else set()
        found = [
            (target, _find_faults(target, mine, changed, is_for_missing, is_for_stale))
            for target, mine in _split_by_target(targets, part, group_of)
        ]
        faulty = [each for each in part if any(each in faults.ids for _, faults in found)]
        chosen = faulty if limit is None else faulty[: limit - due_count]
        for target, faults in found:
            node_count += _repair(target, faults, set(chosen), is_for_missing)
        due_count += len(chosen)
        if due_count == limit:
            examined_count += part.index(chosen[-1]) + 1
            break
        examined_count += len(part)
    return Regeneration(types, examined_count, due_count, node_count)


def _correct_hashes(artifact_ids: Collection[UUID]) -> set[UUID]:
    """Correct hashes that do not match the stored text; return those artifacts."""
    changed = set()
    models: tuple[type[Page] | type[Source], ...] = (Page, Source)
    for model in models:
        rows = model._default_manager.filter(artifact__in=artifact_ids)
        for row in rows.only("artifact", "text", "content_hash").iterator(ROWS_PER_STATEMENT):
            content_hash = hash_text(row.text)
            if row.content_hash != content_hash:
                model._default_manager.filter(pk=row.pk).update(content_hash=content_hash)
                changed.add(row.artifact_id)
    return changed


def _find_faults(
    target: _Target,
    ids: Collection[UUID],
    changed: set[UUID],
    is_for_missing: bool,
    is_for_stale: bool,
) -> _Faults:
    build, kind, nodes = target.build, target.standalone_kind, target.find_nodes(ids)
    if kind:
        unplanned = find_unplanned_rows(kind, build).filter(pk__in=ids)
        faults = _Faults(set(unplanned.values_list("pk", flat=True)))
    else:
        faults = _Faults(find_unplanned_artifacts(build, ids) | changed.intersection(ids))
    if is_for_stale and not kind:
        unhashed = nodes.filter(Q(text_hash=None) | Q(source_hash=None))
        unhashed = unhashed.exclude(state=Node.State.DELETING)
        faults.ids |= set(unhashed.values_list(MADE_FROM_ID, flat=True))
    if is_for_missing:
        failed = nodes.filter(NOT_SYNCED, state=Node.State.FAILED)
        faults.ids |= set(failed.values_list(MADE_FROM_ID, flat=True))
        if not kind:
            faults.unwritable = {
                each: get_drafter(each).find_unwritable(ids, build) for each in target.kinds
            }
            faults.ids = faults.ids.union(*faults.unwritable.values())
        for made_from_id, node_id in _find_lost_nodes(build, nodes):
            faults.lost_nodes.setdefault(made_from_id, []).append(node_id)
        faults.ids |= faults.lost_nodes.keys()
    return faults


def _find_lost_nodes(build: IndexBuild, nodes: NodeQuerySet) -> Iterator[tuple[UUID, int]]:
    """Yield (``MADE_FROM_ID``, key) of synced nodes whose points the store does not hold."""
    synced = nodes.filter(state=Node.State.SYNCED)
    for collection, kinds in build.collections().items():
        ids = synced.filter(kind__in=kinds).order_by("pk").values_list("point_id", flat=True)
        for part in slices(list(ids), ROWS_PER_STATEMENT):
            for finding in compare_points(build, collection, part).findings:
                if finding.name == "missing" and finding.row is not None:
                    yield finding.row.artifact_id or finding.row.point_id, finding.row.pk


def _repair(target: _Target, faults: _Faults, chosen: set[UUID], retries_failed: bool) -> int:
    """Make the faulty ones of the chosen ids due; return how many nodes are embedded again. The
    reconciliation plans standalone rows whose nodes are missing or differ."""
    build, ids = target.build, faults.ids & chosen
    with transaction.atomic():
        if not target.standalone_kind:
            make_documents_due([build.pk], ids)
            documents = IndexedDocument.objects.filter(build=build, artifact__in=ids)
            documents.update(content_hash="")
        for kind, artifact_ids in faults.unwritable.items():
            for each in artifact_ids & ids:
                get_drafter(kind).rewrite_inputs(each, build, only_failed=True)
        lost = [node_id for each in ids for node_id in faults.lost_nodes.get(each, [])]
        count = 0
        for part in slices(sorted(lost), ROWS_PER_STATEMENT):
            count += reembed_nodes(Node.objects.filter(pk__in=part, state=Node.State.SYNCED))
        return count + (retry_failed_nodes(target.find_nodes(ids)) if retries_failed else 0)
