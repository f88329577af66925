"""The kinds of node an index can hold. An app that adds one registers it when it starts."""

from typing import Protocol

from documents.models import Artifact
from indexing.models import IndexBuild, Node
from indexing.stores.base import Payload


class NodeKind(Protocol):
    name: str

    def draft(self, artifact: Artifact, build: IndexBuild) -> list[Node]:
        """Every node of this kind the artifact must have in ``build`` now: unsaved, with its
        build, artifact, page and source set, its place, texts, hashes and token count."""

    def payload(self, node: Node) -> Payload:
        """What is stored beside the vectors: enough to show a hit without the database.

        A function of the row and its artifact, page and source alone; page and source may be
        gone.
        """


_kinds: dict[str, NodeKind] = {}


def register_kind(kind: NodeKind) -> None:
    _kinds[kind.name] = kind


def get_kind(name: str) -> NodeKind:
    return _kinds[name]


def recipe_kinds(build: IndexBuild) -> list[NodeKind]:
    """The kinds this build's recipe asks for."""
    return [_kinds[name] for name in build.spec.kinds]
