"""Drafts of every kind: if a release drafts other nodes, it rewrites every index."""

import json
from uuid import UUID

import pytest
from llama_index.core.schema import MetadataMode, TextNode

from concepts.models import Concept, Relationship, RelationshipType
from core.text import hash_text
from documents.models import Artifact, Page, Source
from indexing.drafting import get_drafter, get_drafters, get_standalone_drafters
from indexing.models import Node
from indexing.services import draft_rows, draft_standalone_rows, plan_nodes
from indexing.text_nodes import make_text_node
from summaries.models import Annotation
from tests.written import WRITER, make_build, write_summary

RECIPE = {
    "metadata": {
        "smiles": {"type": "keyword", "many": True},
        "topic": {"type": "keyword", "many": True},
    },
    "chunks": {"context": ["title", "heading"]},
    "page_summaries": True,
    "artifact_summaries": True,
    "questions": True,
    "concepts": True,
    "compounds": {"bits": 384},
    "images": {"dimension": 384},
    "sparse": {"word_rules": 1},  # as the release writes words; its builds keep that
}
# Kind -> end of the point id, and beginnings of the hashes of input, payload and row.
DRAFTS = {
    "chunk": ("cc5ac6acd68f", "c422f47117ac", "f410e2468f3b", "6886aec061f4"),
    "page_summary": ("000000000002", "88251e8911f3", "27d1e5f4de2d", "def98640b37b"),
    "artifact_summary": ("000000000001", "c3595e3bb8f9", "2437bee39a18", "e93bbee64988"),
    "question": ("208130199512", "b4cebc190cca", "51fbff7d33ce", "44d4c28d3b6c"),
    "compound": ("415c3a84c93a", "b1e730101fa0", "344dde775be5", "13f281867199"),
    "concept": ("00000000000b", "96dbf6ac868e", "7ad2658d77bd", "c08643d92a56"),
    "relationship_type": ("00000000000c", "d0c59fd1c592", "203b1c5c8194", "fad4b9b9f71f"),
    "relationship": ("00000000000e", "c5e0f3fef0ee", "811688458f88", "49941ecae798"),
    "image": ("c28fcb2e06b7", "036e7a4957c3", "fdad47b7849c", "bc4ad8ff5af0"),
}
TEXT = "The heron stands in the shallows at dawn. It waits for fish without moving."


def make_id(number: int) -> UUID:
    return UUID(int=number)


def make_artifact(number: int, **values) -> Artifact:
    artifact = Artifact.objects.create(
        pk=make_id(number), index="all", identity=str(number), state="parsed", **values
    )
    return Artifact.objects.with_sources().get(pk=artifact.pk)


@pytest.fixture
def build(db, embedder):
    return make_build("all", **RECIPE)


@pytest.fixture
def document(build):
    artifact = make_artifact(
        1,
        title="Field notes",
        file_name="notes.txt",
        external_id="notes",
        media_type="text/plain",
        metadata={"smiles": ["CCO"], "topic": ["birds"], "other": 1},
    )
    page = Page.objects.create(pk=make_id(2), artifact=artifact, index=3, text=TEXT)
    source = Source.objects.create(
        pk=make_id(3), artifact=artifact, page=page, ordinal=5, start=0, end=len(TEXT),
        heading="Dawn", text=TEXT,
    )  # fmt: skip
    write_summary(build, artifact, "A heron waits.", page=page, input_hash=hash_text(TEXT))
    write_summary(build, artifact, "Notes on a heron.", input_hash=hash_text("pages"))
    Annotation.objects.create(
        build=build, artifact=artifact, page=page, source=source, chunk_id=make_id(4),
        source_hash=hash_text(TEXT), strategy="sentence", chunk_index=7, start_offset=0,
        end_offset=41, text=TEXT[:41], heading="Dawn", questions=["Who stands in the shallows?"],
        summary="A heron.", fields={"topic": ["water"]}, model_name=WRITER, state="written",
        input_hash="in", written_input_hash="in", output_hash="out",
    )  # fmt: skip
    return Artifact.objects.with_sources().get(pk=artifact.pk)


@pytest.fixture
def artifacts(build, document):
    image = make_artifact(
        13, title="Heron", file_name="heron.png", media_type="image/png", has_file=True,
        sha256=hash_text("pixels"), metadata={"topic": ["birds"]},
    )  # fmt: skip
    return [document, image]


@pytest.fixture
def entities(build):
    concept = Concept(
        pk=make_id(11), index=build.index_id, label="heron", description="A bird.",
        search_terms=["egret"],
    )  # fmt: skip
    relationship_type = RelationshipType(
        pk=make_id(12), index=build.index_id, name="eats", category="food",
        description="Feeds on.",
    )  # fmt: skip
    other = Concept(pk=make_id(13), index=build.index_id, label="fish")
    relationship = Relationship(
        pk=make_id(14), source=concept, type=relationship_type, target=other
    )
    for entity in (concept, relationship_type, other, relationship):
        entity.save()
    return {
        "concept": concept, "relationship_type": relationship_type, "relationship": relationship,
    }  # fmt: skip


def hash_row(node: Node) -> str:
    """Hash of all fields that planning writes to a row, except its hashes."""
    names = [
        "artifact_id", "page_id", "source_id", "strategy", "chunk_index", "start_offset",
        "end_offset", "text", "context", "text_hash", "source_hash", "details", "token_count",
        "attributes_hash", "embedding_model", "dimension",
    ]  # fmt: skip
    return hash_text(
        json.dumps([getattr(node, name) for name in names], sort_keys=True, default=str)
    )


def to_text_node(row: Node) -> TextNode:
    """The drafted node, from every field that its row has of it."""
    return make_text_node(
        kind=row.kind,
        point_id=row.point_id,
        artifact_id=row.artifact_id,
        text=row.text,
        text_hash=row.text_hash,
        source_hash=row.source_hash,
        page=row.page,
        source=row.source,
        strategy=row.strategy,
        chunk_index=row.chunk_index,
        start_offset=row.start_offset,
        end_offset=row.end_offset,
        context=row.context,
        token_count=row.token_count,
        details=row.details,
    )


class TestDrafts:
    def test_are_those_of_the_release(self, build, artifacts, entities):
        kinds = build.spec.kinds
        drafts = [draft for artifact in artifacts for draft in draft_rows(artifact, build, kinds)]
        for kind, entity in entities.items():
            drafts += draft_standalone_rows(kind, [entity.pk], build)

        assert {
            draft.kind: (
                str(draft.point_id)[-12:],
                draft.input_hash[:12],
                draft.payload_hash[:12],
                hash_row(draft)[:12],
            )
            for draft in drafts
        } == DRAFTS


class TestTextNodes:
    def test_have_all_fields_of_their_row(self, build, artifacts):
        for artifact in artifacts:
            for kind, drafter in get_drafters(build).items():
                for node in drafter.draft(artifact, build):
                    row = Node.from_text_node(node, artifact, build)

                    assert to_text_node(row) == node
                    assert (row.kind, str(row.point_id)) == (kind, node.node_id)

    def test_of_a_standalone_kind_name_no_artifact(self, build, entities):
        for kind, drafter in get_standalone_drafters(build).items():
            node = drafter.draft(entities[kind], build)
            row = Node.from_text_node(node, None, build)

            assert to_text_node(row) == node
            assert (row.artifact_id, row.source_id, row.point_id) == (None, None, entities[kind].pk)

    def test_are_equal_after_storing_them(self, build, document):
        plan_nodes(document.pk, build)

        drafted = {
            node.node_id: node
            for drafter in get_drafters(build).values()
            for node in drafter.draft(document, build)
        }
        for row in Node.objects.select_related("page", "source"):
            assert to_text_node(row) == drafted.pop(str(row.point_id))
        assert not drafted

    def test_name_their_source_and_page(self, build, document):
        [chunk] = get_drafter("chunk").draft(document, build)
        [summary] = get_drafter("artifact_summary").draft(document, build)

        assert document.sources.get().text[chunk.start_char_idx : chunk.end_char_idx] == chunk.text
        assert chunk.ref_doc_id == str(make_id(3))
        assert chunk.source_node.hash == hash_text(TEXT)
        assert chunk.parent_node.node_id == str(make_id(2))
        assert summary.ref_doc_id == str(document.pk)
        assert summary.parent_node is None

    def test_hide_metadata_from_models(self, build, document):
        [chunk] = get_drafter("chunk").draft(document, build)

        assert chunk.metadata["context"] == "Field notes\nDawn"
        assert chunk.get_content(MetadataMode.EMBED) == chunk.text
        assert chunk.get_content(MetadataMode.LLM) == chunk.text
