"""What makes the nodes of one kind. The table of kinds names the class for each: a ``Drafter``, or
for a standalone kind a ``StandaloneDrafter``."""

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from django.db.models import QuerySet
from django.utils.module_loading import import_string

from documents.models import Artifact
from indexing.kinds import KINDS
from indexing.models import IndexBuild, Node
from indexing.stores.base import Payload

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


class Drafter(Protocol):
    def draft(self, artifact: Artifact, build: IndexBuild) -> Iterable["TextNode"]:
        """Every node of this kind the artifact must have in ``build`` now, as ``make_text_node``
        makes them."""

    def make_payload(self, node: Node) -> Payload:
        """What is stored beside the vectors: enough to show a hit without the database.

        A function of the row and its artifact, page and source alone, and of no more of page
        and source than their place; both may be gone.
        """

    def get_input_versions(
        self, artifact_ids: Collection[UUID], build: IndexBuild
    ) -> Mapping[UUID, str]:
        """Artifact -> hash of what its nodes are made from beside the artifact and its sources.
        Artifacts with nothing of the kind may be left out."""

    def find_unwritten(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]:
        """Those of these artifacts of which texts that its nodes are made from are still to be
        written."""

    def find_unwritable(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]:
        """Those of these artifacts of which such texts could not be written."""

    def rewrite_inputs(self, artifact: UUID, build: IndexBuild, *, only_failed: bool) -> int:
        """Have what nodes of this kind are made from written anew, but for what is by hand; how
        many texts that makes due. ``only_failed``: those alone that could not be written."""


class StandaloneDrafter(Protocol):
    def find_rows(self, index: str) -> QuerySet[Any]:
        """The rows that must have a node each: its point's id is theirs, and their ``text_hash`` is
        that of its text."""

    def draft(self, row: Any, build: IndexBuild) -> "TextNode":
        """The node of one of these rows, as ``make_text_node`` makes it."""

    def make_payload(self, node: Node) -> Payload:
        """What is stored beside the vectors; a function of the node alone."""


class DrafterWithoutWrittenInput:
    """What drafters have in common whose nodes are made of what people gave: nothing has to be
    written before, by a language model or by rules."""

    def get_input_versions(
        self, artifact_ids: Collection[UUID], build: IndexBuild
    ) -> Mapping[UUID, str]:
        return {}

    def find_unwritten(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]:
        return set()

    def find_unwritable(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]:
        return set()

    def rewrite_inputs(self, artifact: UUID, build: IndexBuild, *, only_failed: bool) -> int:
        return 0


def get_drafter(kind: str) -> Drafter:
    drafter: Drafter = _load_drafter(kind)
    return drafter


def get_drafters(build: IndexBuild) -> dict[str, Drafter]:
    """The drafters of the kinds that this build's recipe makes from artifacts."""
    return {kind: get_drafter(kind) for kind in build.spec.kinds if not KINDS[kind].is_standalone}


def get_standalone_drafters(build: IndexBuild) -> dict[str, StandaloneDrafter]:
    """The drafters of the standalone kinds that this build's recipe asks for."""
    return {kind: _load_drafter(kind) for kind in build.spec.kinds if KINDS[kind].is_standalone}


def make_payload(node: Node) -> Payload:
    """What is stored beside the vectors of a node: enough to show a hit without the database."""
    payload: Payload = _load_drafter(node.kind).make_payload(node)
    return payload


@cache
def _load_drafter(kind: str) -> Any:
    return import_string(KINDS[kind].drafter)()
