import pytest

from core.text import hash_text
from retrieval.retrievers import ChunkRetriever, RecursiveChunkRetriever
from retrieval.retrievers.recursive import _WEIGHT_ABOVE
from tests.factories import give, sync
from tests.written import make_build, question, summarise

QUERY = "when are granite crystals large"
# Text and the only question that was written about it: a poor one about the passage that answers.
TEXTS = {
    "Granite": ("Granite crystals grow large because granite cools slowly.", "What is said here?"),
    "Herons": ("Herons wait for fish without moving.", "When are herons large?"),
    "Bread": ("Bread rises because yeast breathes.", "When are loaves large?"),
    "Ledger": ("Every debit has its credit.", "When are sums large?"),
}


@pytest.fixture
def titles(db, store, embedder):
    """By the id of the artifact."""
    build = make_build("full", page_summaries=True, questions={"count": 1})
    artifacts = [give(text, index="full", title=title) for title, (text, _) in TEXTS.items()]
    for artifact in artifacts:
        summarise(build, artifact)
        [annotation] = question(build, artifact, count=1)
        annotation.questions = [TEXTS[artifact.title][1]]
        annotation.output_hash = hash_text(annotation.questions[0])
        annotation.save()
    sync(build, *artifacts)
    return {str(artifact.pk): artifact.title for artifact in artifacts}


def test_poor_questions_about_other_passages_do_not_outrank_the_passage_that_answers(titles):
    found = RecursiveChunkRetriever("full", limit=3).search(QUERY)

    assert titles[found.hits[0].payload["artifact_id"]] == "Granite"


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
def test_what_is_above_a_chunk_adds_at_most_a_part_of_the_best_score(titles, mode):
    chunks = ChunkRetriever("full", mode=mode).search(QUERY)
    own = {hit.node_id: hit.score for hit in chunks.hits}

    found = RecursiveChunkRetriever("full", mode=mode).search(QUERY)

    assert found.score_kind == chunks.score_kind
    assert found.hits
    for hit in found.hits:
        added = hit.score - own[hit.node_id]
        assert 0 <= added <= _WEIGHT_ABOVE * max(own.values()) + 1e-9


def test_a_filter_may_compare_as_many_values_as_in_other_searches(titles):
    filter = {"artifact_title": ["Granite", *map(str, range(199))]}

    found = RecursiveChunkRetriever("full", limit=100, filter=filter).search(QUERY)

    assert {titles[hit.payload["artifact_id"]] for hit in found.hits} == {"Granite"}
