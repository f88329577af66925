"""The kinds of node an index can hold. An app that adds one registers it when it starts."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

from django.db.models import Exists, Q, QuerySet

from documents.models import Artifact
from indexing.models import IndexBuild, Node
from indexing.stores.base import Payload

Condition = Exists | Q


class NodeKind(Protocol):
    name: str
    payload_fields: Mapping[str, str]  # of its own that are indexed beside the spec's, with types
    regeneration_type: str  # the type by which people ask for its nodes to be made anew

    def draft(self, artifact: Artifact, build: IndexBuild) -> list[Node]:
        """Every node of this kind the artifact must have in ``build`` now: unsaved, with its
        build, artifact, page and source set, its place, texts, hashes and token count."""

    def get_input_version(self, artifact: UUID, build: IndexBuild) -> object:
        """A version token of what its nodes are made from beside the artifact and its sources:
        while all of these are equal, so are the drafts."""

    def payload(self, node: Node) -> Payload:
        """What is stored beside the vectors: enough to show a hit without the database.

        A function of the row and its artifact, page and source alone, and of no more of page
        and source than their place; both may be gone.
        """

    def is_unplanned(self, builds: Sequence[int]) -> Condition:
        """Of artifacts (``OuterRef("pk")``): the ledgers of these builds lack a node of this
        kind that could be drafted now, or hold it as it was under another title or text."""

    def has_unwritten_input(self, builds: Sequence[int]) -> Condition:
        """Of artifacts: what nodes of this kind are made from has not been written yet."""

    def has_failed_input(self, builds: Sequence[int]) -> Condition:
        """Of artifacts: what nodes of this kind are made from could not be written."""

    def rewrite_inputs(self, artifact: UUID, build: IndexBuild, *, only_failed: bool) -> int:
        """Have what nodes of this kind are made from written anew, but for what is by hand; how
        many texts that makes due. ``only_failed``: those alone that could not be written."""


NEVER = Q(pk__in=[])


class KindWithoutWrittenInput:
    """What kinds have in common whose nodes are made of what people gave: nothing has to be
    written before, by a language model or by rules."""

    payload_fields: Mapping[str, str] = {}

    def get_input_version(self, artifact: UUID, build: IndexBuild) -> object:
        return None

    def has_unwritten_input(self, builds: Sequence[int]) -> Condition:
        return NEVER

    def has_failed_input(self, builds: Sequence[int]) -> Condition:
        return NEVER

    def rewrite_inputs(self, artifact: UUID, build: IndexBuild, *, only_failed: bool) -> int:
        return 0


_kinds: dict[str, NodeKind] = {}


def register_kind(kind: NodeKind) -> None:
    _kinds[kind.name] = kind


def get_kind(name: str) -> NodeKind:
    return _kinds[name]


def list_regeneration_types() -> list[str]:
    """What people can have made anew."""
    return sorted({kind.regeneration_type for kind in _kinds.values()})


def get_kinds_of_build(build: IndexBuild) -> list[NodeKind]:
    """The kinds this build's recipe asks for."""
    return [_kinds[name] for name in build.spec.kinds]


def hash_payload(payload: Payload) -> str:
    """SHA-256 of a payload's canonical JSON, but for the time of its embedding."""
    lasting = {name: value for name, value in payload.items() if name != "date_embedded"}
    canonical = json.dumps(lasting, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def find_unplanned_artifacts(build: IndexBuild) -> QuerySet[Artifact]:
    """Parsed artifacts the ledger of ``build`` does not mirror as they are now."""
    return _parsed_artifacts(build).filter(
        _any_of([kind.is_unplanned([build.pk]) for kind in get_kinds_of_build(build)])
    )


def find_artifacts_with_unwritten_input(build: IndexBuild) -> QuerySet[Artifact]:
    """Parsed artifacts of which summaries or questions are still to be written."""
    return _parsed_artifacts(build).filter(
        _any_of([kind.has_unwritten_input([build.pk]) for kind in get_kinds_of_build(build)])
    )


def is_incomplete(builds: Sequence[IndexBuild]) -> Condition:
    """Of parsed artifacts of these builds' indexes: they miss nodes in them."""
    alike: dict[tuple[str, ...], list[IndexBuild]] = {}
    for build in builds:
        alike.setdefault(build.spec.kinds, []).append(build)
    conditions = []
    for kinds, group in alike.items():
        ids, indexes = [build.pk for build in group], [build.index_id for build in group]
        misses = [_kinds[name].is_unplanned(ids) for name in kinds]
        misses += [_kinds[name].has_unwritten_input(ids) for name in kinds]
        conditions.append(Q(index__in=indexes) & _any_of(misses))
    return _any_of(conditions)


def is_incomplete_in(build_id: int, kinds: Sequence[str]) -> Condition:
    """Of parsed artifacts of the build's index: they miss nodes of these kinds in it."""
    wanted = [_kinds[name] for name in kinds]
    misses = [kind.is_unplanned([build_id]) for kind in wanted]
    return _any_of(misses + [kind.has_unwritten_input([build_id]) for kind in wanted])


def _parsed_artifacts(build: IndexBuild) -> QuerySet[Artifact]:
    return Artifact.objects.filter(index=build.index_id, state=Artifact.State.PARSED)


def _any_of(conditions: Sequence[Condition]) -> Q:
    together = NEVER
    for condition in conditions:
        together |= Q(condition)
    return together
