"""The protocols of drafters, which make the nodes of one kind. The table of kinds names a class for
each kind: a ``Drafter``, or a ``StandaloneDrafter`` for a standalone kind."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from django.db.models import QuerySet
from django.utils.module_loading import import_string

from access.grants import EVERYONE
from core.text import hash_text
from documents.models import UNSEEN_PASSAGE, Artifact
from indexing.chunking import prepend_context
from indexing.kinds import KINDS
from indexing.models import IndexBuild, Node
from indexing.spec import EmbeddingSpec, IndexSpec, SparseSpec
from indexing.spec.dates import to_stored_date
from indexing.stores.base import Payload

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode


class Drafter(Protocol):
    def draft(self, artifact: Artifact, build: IndexBuild) -> Iterable["TextNode"]:
        """Every node that the artifact must have in ``build``, made by ``make_text_node``. The
        artifact's ``sources.all()`` has the sources that the build sees."""

    def make_payload(self, node: Node) -> Payload:
        """The payload stored with the vectors: enough to show a hit without the database.

        It may depend only on the row, its artifact, and the place of its page and source, which may
        both be deleted.
        """

    def get_input_versions(
        self, artifact_ids: Collection[UUID], build: IndexBuild
    ) -> Mapping[UUID, str]:
        """Artifact -> version token for this kind's extra inputs, if there are any."""

    def find_unwritten(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]:
        """The artifacts for which texts that this kind needs are not written yet."""

    def find_unwritable(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]:
        """The artifacts for which such texts could not be written."""

    def rewrite_inputs(self, artifact: UUID, build: IndexBuild, *, only_failed: bool) -> int:
        """Mark the texts that nodes of this kind are made from as due, except texts written by
        hand; return how many. ``only_failed``: only texts that could not be written."""


class StandaloneDrafter(Protocol):
    def find_rows(self, index: str) -> QuerySet[Any]:
        """The rows that must have a node each. A row's id is the point id, and its ``text_hash`` is
        that of the node's text."""

    def draft(self, row: Any, build: IndexBuild) -> "TextNode":
        """The node of one of these rows, made by ``make_text_node``."""

    def make_payload(self, node: Node) -> Payload:
        """The payload stored with the vectors; it depends only on the node."""


class DrafterWithoutWrittenInput:
    """Base of drafters whose nodes need no texts written first, by a language model or by rules."""

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
    """The payload of a node: enough to show a hit without the database."""
    payload: Payload = _load_drafter(node.kind).make_payload(node)
    return payload


@cache
def _load_drafter(kind: str) -> Any:
    return import_string(KINDS[kind].drafter)()


def base_payload(node: Node) -> Payload:
    """Fields of every kind: the text, the hashes that verify it, and the groups that see it."""
    groups = node.artifact.groups if node.artifact else []
    return {
        "kind": node.kind,
        KINDS[node.kind].text_field: node.text,
        "text_hash": node.text_hash,
        "source_hash": node.source_hash,
        "groups": groups or [EVERYONE],
    }


def document_payload(node: Node) -> Payload:
    """``base_payload`` and the artifact with its attributes."""
    artifact = node.artifact
    assert artifact is not None
    return base_payload(node) | {
        "artifact_id": str(artifact.pk),
        "artifact_title": artifact.title,
        "external_id": artifact.external_id,
        "file_name": artifact.file_name,
        "media_type": artifact.media_type,
        "metadata": artifact.metadata,
    }


def page_payload(node: Node) -> Payload:
    """``document_payload`` and the page; None for a node of the whole document. ``page_warnings``:
    only of a page that has any."""
    payload = document_payload(node) | {
        "page_id": str(node.page_id) if node.page_id else None,
        "page_index": node.page.index if node.page else None,
    }
    if node.page and node.page.warnings:
        is_unseen = node.source is not None and node.page.holds_unseen(node.source)
        payload["page_warnings"] = [*node.page.warnings, *[UNSEEN_PASSAGE] * is_unseen]
    return payload


def passage_payload(node: Node) -> Payload:
    """``page_payload`` and the place of the passage in its source."""
    return page_payload(node) | {
        "source_id": str(node.source_id),
        "source_ordinal": node.source.ordinal if node.source else None,
        "strategy": node.strategy,
        "chunk_index": node.chunk_index,
        "start_offset": node.start_offset,
        "end_offset": node.end_offset,
    }


def declared_field_payload(node: Node) -> Payload:
    """The values of the declared fields that the node's artifact has, as filters compare them."""
    assert node.artifact is not None
    return to_filter_values(node.artifact.metadata, node.build.spec)


def to_filter_values(values: Mapping[str, Any], spec: IndexSpec) -> Payload:
    return {
        name: to_stored_date(values[name], spec.zone) if field.type == "datetime" else values[name]
        for name, field in spec.metadata.items()
        if name in values
    }


def hash_vector_inputs(node: Node, spec: IndexSpec) -> str:
    """Hash of everything that determines the node's vectors."""
    settings = _describe_models(spec.embedding_spec_for(node.kind), spec.sparse)
    if node.context_weight is not None:
        settings = f"{settings} {node.context_weight}"
    return hash_text(f"{settings}\n{prepend_context(node.context, node.text)}")


@lru_cache(maxsize=64)
def _describe_models(dense: EmbeddingSpec, sparse: SparseSpec) -> str:
    return json.dumps([dense.model_dump(), sparse.describe_terms()], sort_keys=True)


def hash_payload(payload: Payload) -> str:
    """SHA-256 of a payload's canonical JSON, without the time of embedding."""
    lasting = {name: value for name, value in payload.items() if name != "date_embedded"}
    canonical = json.dumps(lasting, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).hexdigest()
