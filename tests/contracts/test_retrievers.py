"""The contract of all retrievers. A new retriever needs one line in RETRIEVERS.

The documents are indexed once for all tests, so that no test may write to the vector store.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from llama_index.core.schema import MetadataMode, NodeRelationship, TextNode

from core.exceptions import InvalidInput
from documents.models import Artifact
from indexing.drafting.chunk import draft_chunks
from indexing.models import IndexBuild
from retrieval.retrievers import (
    ChunkRetriever,
    HierarchicalRetriever,
    QueriesRetriever,
    QuestionRetriever,
    RecursiveChunkRetriever,
    SummaryRetriever,
)
from tests.factories import PARAGRAPHS, give, load_index
from tests.written import ALL_KINDS, WRITER, make_build, write_all


class Joined(NamedTuple):
    make: Callable[..., Any]
    gives: str = "chunks"
    is_ranked: bool = True  # whether all its nodes are ordered by descending score


RETRIEVERS = {
    "hybrid": Joined(lambda build, **given: ChunkRetriever("full", **given)),
    "dense": Joined(lambda build, **given: ChunkRetriever("full", mode="dense", **given)),
    "sparse": Joined(lambda build, **given: ChunkRetriever("full", mode="sparse", **given)),
    "build": Joined(lambda build, **given: ChunkRetriever(build, **given)),
    "queries": Joined(lambda build, **given: QueriesRetriever("full", **given)),
    "question": Joined(lambda build, **given: QuestionRetriever("full", **given)),
    "question of build": Joined(lambda build, **given: QuestionRetriever(build, **given)),
    "hierarchical": Joined(
        lambda build, **given: HierarchicalRetriever("full", **given), is_ranked=False
    ),
    "recursive": Joined(lambda build, **given: RecursiveChunkRetriever("full", **given)),
    "recursive of build": Joined(lambda build, **given: RecursiveChunkRetriever(build, **given)),
    "summary": Joined(lambda build, **given: SummaryRetriever("full", **given), "summaries"),
}
OF_CHUNKS = [name for name, joined in RETRIEVERS.items() if joined.gives == "chunks"]
RANKED = [name for name, joined in RETRIEVERS.items() if joined.is_ranked]
GRANITE = "\n\n".join(f"Part {n}. {' '.join(PARAGRAPHS[1:])}" for n in range(5))


pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def build(shared_store) -> IndexBuild:
    """An index that holds every kind of node."""
    return make_build("full", **ALL_KINDS)


@pytest.fixture(scope="module")
def artifact(build):
    return fill(build)


def fill(build: IndexBuild) -> Artifact:
    """Add two documents with their summaries and questions; return the longer one."""
    artifact = give(GRANITE, index="full", title="Stones", metadata={"year": 2019})
    write_all(build, artifact, give(PARAGRAPHS[0], index="full"), count=2)
    return artifact


@pytest.fixture(params=RETRIEVERS)
def make(request, build):
    """The retriever under test, over the documents of ``artifact``."""
    return lambda **given: RETRIEVERS[request.param].make(build, **given)


class TestEveryRetriever:
    def test_returns_at_most_the_limit(self, artifact, make):
        assert len(make(limit=3).retrieve("granite crystals")) == 3

    @pytest.mark.parametrize("make", RANKED, indirect=True)
    def test_orders_by_falling_score(self, artifact, make):
        scores = [hit.score for hit in make().retrieve("granite crystals")]

        assert len(scores) > 1
        assert scores == sorted(scores, reverse=True)

    def test_finds_the_document_that_says_it(self, artifact, make):
        [best, *_] = make().retrieve("heron stands in the shallows")

        assert "heron" in best.node.text

    def test_answers_the_same_twice(self, artifact, make):
        first, second = make().retrieve("granite"), make().retrieve("granite")

        assert [hit.node_id for hit in first] == [hit.node_id for hit in second]

    def test_names_each_node_once(self, artifact, make):
        found = [hit.node_id for hit in make(limit=50).retrieve("granite crystals")]

        assert len(found) == len(set(found))

    def test_respects_its_filter(self, artifact, make):
        hits = make(filter={"artifact_id": str(artifact.pk)}).retrieve("the heron and the granite")

        assert {hit.metadata["artifact_id"] for hit in hits} == {str(artifact.pk)}

    def test_leaves_out_stale_hits_on_request(self, artifact, make):
        artifact.pages.update(text="Basalt.", content_hash=None)
        artifact.sources.update(text="Basalt.")

        hits = make(stale="omit").retrieve("granite crystals")

        assert str(artifact.pk) not in {hit.metadata["artifact_id"] for hit in hits}
        stale = make().retrieve("granite crystals")
        assert "stale" in {hit.metadata["verdict"] for hit in stale}

    def test_names_the_document(self, artifact, make):
        only = {"artifact_id": str(artifact.pk)}
        for hit in make(filter=only).retrieve("granite crystals"):
            assert isinstance(hit.node, TextNode)
            assert hit.metadata["verdict"] == "exact"
            assert hit.metadata["index"] == "full"
            assert hit.metadata["title"] == "Stones"
            assert hit.metadata["year"] == 2019

    def test_shows_models_only_the_text(self, artifact, make):
        [best, *_] = make().retrieve("granite crystals")

        assert best.node.get_content(MetadataMode.LLM) == best.node.text
        assert best.node.get_content(MetadataMode.EMBED) == best.node.text


@pytest.mark.parametrize("make", OF_CHUNKS, indirect=True)
class TestRetrieverOfChunks:
    def chunks(self, artifact, build):
        """The chunks of the artifact, by id."""
        artifact = type(artifact).objects.with_sources().get(pk=artifact.pk)
        drafts = draft_chunks(artifact, artifact.sources.all(), build)
        return {str(chunk.id): chunk for chunk in drafts}

    def test_returns_nodes_with_their_offsets_and_parent(self, artifact, build, make):
        source, chunks = artifact.sources.get(), self.chunks(artifact, build)

        only = {"artifact_id": str(artifact.pk)}
        for hit in make(filter=only).retrieve("granite crystals"):
            node, chunk = hit.node, chunks[hit.node_id]
            assert node.text == source.text[node.start_char_idx : node.end_char_idx] == chunk.text
            assert node.ref_doc_id == str(source.pk)
            assert node.parent_node.node_id == str(source.page_id)
            assert node.metadata["page_index"] == 0
            assert node.metadata["chunk_index"] == chunk.index

    def test_links_neighbours(self, artifact, build, make):
        places = {node_id: chunk.index for node_id, chunk in self.chunks(artifact, build).items()}
        assert len(places) > 2

        hits = make(limit=50, filter={"artifact_id": str(artifact.pk)}).retrieve("granite")

        assert len(hits) > 2
        for hit in hits:
            number = places[hit.node_id]
            before = hit.node.relationships.get(NodeRelationship.PREVIOUS)
            after = hit.node.relationships.get(NodeRelationship.NEXT)
            assert (before and places[before.node_id]) == (number - 1 if number else None)
            assert (after and places[after.node_id]) == (
                number + 1 if number + 1 < len(places) else None
            )


class TestSummaryRetriever:
    def test_returns_summaries_under_the_ids_of_their_page_or_artifact(self, artifact):
        hits = SummaryRetriever("full", type="page_summary").retrieve("granite crystals")

        page = artifact.pages.get()
        node = next(hit.node for hit in hits if hit.node_id == str(page.pk))
        assert node.text.startswith("Summary: Part 0.")
        assert node.ref_doc_id == str(artifact.pk)
        assert node.metadata["type"] == "page_summary"
        assert node.metadata["page_id"] == str(page.pk)
        assert node.metadata["model_name"] == WRITER

    def test_returns_only_summaries_of_its_type(self, artifact):
        hits = SummaryRetriever("full", type="artifact_summary").retrieve("granite")

        assert {hit.metadata["type"] for hit in hits} == {"artifact_summary"}
        assert hits[0].metadata["page_count"] == 1

    def test_rejects_unknown_types(self, artifact):
        with pytest.raises(ValueError, match="chapter"):
            SummaryRetriever("full", type="chapter")


class TestQuestionRetriever:
    def test_returns_the_matched_question_with_the_chunk(self, artifact):
        [best, *_] = QuestionRetriever("full").retrieve("why is it so that the heron stands")

        assert best.metadata["question"].startswith("Why is it so that The heron")
        assert best.metadata["summary"].startswith("The heron")
        assert best.node_id != best.metadata["question_id"]

    def test_links_neighbours_if_no_chunks_are_embedded(self, shared_store):
        hyde = make_build("hyde", chunks={"embed": False}, questions={"count": 2})
        artifact = give(GRANITE, index="hyde")
        write_all(hyde, artifact, count=2)

        hits = QuestionRetriever("hyde", limit=100).retrieve("granite")

        ids = {hit.metadata["chunk_index"]: hit.node_id for hit in hits}
        assert len(ids) > 2
        for hit in hits:
            after = hit.node.relationships.get(NodeRelationship.NEXT)
            assert (after and after.node_id) == ids.get(hit.metadata["chunk_index"] + 1)


class TestRecursiveChunkRetriever:
    def test_finds_a_chunk_of_the_document_whose_summary_is_nearest(self, artifact, build):
        [summary, *_] = SummaryRetriever("full", limit=1).retrieve("granite crystals")

        answer = RecursiveChunkRetriever("full", limit=1).search("granite crystals")

        assert answer.score_kind == "rrf"
        assert [hit.payload["artifact_id"] for hit in answer.hits] == [
            summary.metadata["artifact_id"]
        ]
        assert answer.builds == {"full": build.number}

    def test_requires_chunks_below_other_nodes(self, build):
        load_index("plain")

        with pytest.raises(InvalidInput, match="plain holds no chunks below page summaries"):
            RecursiveChunkRetriever(["full", "plain"]).search("granite")


class TestHierarchicalRetriever:
    def test_orders_by_artifact_then_page_then_chunk(self, artifact, build):
        hits = HierarchicalRetriever("full").retrieve("granite crystals")

        keys = [
            (-hit.metadata["artifact_score"], -hit.metadata["page_score"], -hit.score)
            for hit in hits
        ]
        assert len({hit.metadata["artifact_id"] for hit in hits}) == 2
        assert keys == sorted(keys)

    def test_returns_the_summaries_of_page_and_artifact(self, artifact):
        [best, *_] = HierarchicalRetriever("full").retrieve("granite crystals")

        assert best.metadata["page_summary"].startswith("Summary: Part 0.")
        assert best.metadata["artifact_summary"].startswith("In short, Stones.")

    def test_puts_summaries_first_on_request(self, artifact):
        plain = HierarchicalRetriever("full").retrieve("granite crystals")

        hits = HierarchicalRetriever("full", with_summaries=True).retrieve("granite crystals")

        first, rest = hits[:4], hits[4:]
        assert [hit.metadata["type"] for hit in first] == ["artifact_summary", "page_summary"] * 2
        assert [hit.node_id for hit in rest] == [hit.node_id for hit in plain]

    def test_returns_at_most_the_requested_artifacts(self, artifact):
        answer = HierarchicalRetriever("full", limit=1).search("granite crystals")

        assert [group.artifact_id for group in answer.artifacts] == [str(artifact.pk)]
