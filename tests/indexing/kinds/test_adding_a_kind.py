"""A kind of node is one file, such as this one, and a line in its app's ``apps.py``."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core.schema import TextNode

from access.grants import EVERYTHING
from core.node_kinds import Kind
from core.text import hash_text
from documents.models import Artifact
from documents.services import update_artifact
from indexing.drafting import DrafterWithoutWrittenInput
from indexing.drafting.drafter import document_payload
from indexing.kinds import KINDS
from indexing.models import IndexBuild, Node
from indexing.regeneration import regenerate
from indexing.stores import Payload, get_store
from indexing.text_nodes import make_text_node
from indexing.verification import verify_build
from retrieval.hits import get_hit_renderer
from retrieval.search import Hit, SearchOptions
from retrieval.search.flat import search_nodes
from tests.factories import give, sync
from tests.written import make_build


class TitleDrafter(DrafterWithoutWrittenInput):
    """A node for the title of a document."""

    def draft(self, artifact: Artifact, build: IndexBuild) -> Iterator[TextNode]:
        yield make_text_node(
            kind="title",
            point_id=uuid.uuid5(artifact.pk, "title"),
            artifact_id=artifact.pk,
            text=artifact.title,
            text_hash=hash_text(artifact.title),
            source_hash=hash_text(artifact.title),
        )

    def make_payload(self, node: Node) -> Payload:
        return document_payload(node) | {"letter": node.text[0]}


def render_title(hit: Hit, score_kind: str) -> dict[str, Any]:
    return {"title": hit.payload["text"], "verdict": hit.verdict, "score_kind": score_kind}


TITLE = Kind(
    name="title",
    plural="titles",
    collection="title",
    drafter=f"{__name__}.TitleDrafter",
    switch="chunks.embed",
    regeneration_type="title",
    payload_fields=frozenset({"letter"}),
    indexed_fields={"letter": "keyword"},
    search="titles",
    render=f"{__name__}.render_title",
)


@pytest.fixture
def build(db, store, embedder, monkeypatch):
    monkeypatch.setitem(KINDS, "title", TITLE)
    return make_build("library")


def search(query: str) -> list[dict[str, Any]]:
    answer = search_nodes(["library"], query, ["title"], SearchOptions(), EVERYTHING)
    return [get_hit_renderer("title")(hit, answer.score_kind) for hit in answer.hits]


class TestAddedKind:
    def test_is_indexed_in_a_collection_of_its_own(self, build):
        sync(build, give(index="library", title="Herons"))

        [points] = get_store().scroll("library.title_embeddings.1")
        assert [point.payload["letter"] for point in points] == ["H"]
        assert build.spec.kinds == ("chunk", "title")

    def test_is_verified(self, build):
        sync(build, give(index="library", title="Herons"))
        assert verify_build(build).is_sound

        Node.objects.filter(kind="title").delete()

        assert set(verify_build(build).findings) == {"unplanned", "orphan"}

    def test_is_found_and_rendered(self, build):
        sync(build, give(index="library", title="Herons"), give("Else.", index="library"))

        assert search("herons")[0] == {"title": "Herons", "verdict": "exact", "score_kind": "rrf"}

    def test_is_checked_against_its_document(self, build):
        artifact = give(index="library", title="Herons")
        sync(build, artifact)

        update_artifact(artifact.pk, title="Egrets")

        assert [hit["verdict"] for hit in search("herons")] == ["stale"]

    def test_is_regenerated_by_its_type(self, build):
        assert regenerate(["title"], index="library").types == ["title"]
