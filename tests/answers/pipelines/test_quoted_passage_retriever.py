import pytest

from answers.asking import AskRequest
from answers.pipelines.multi_query_retriever import MultiQueryRetriever
from answers.pipelines.quoted_passage_retriever import QuotedPassageRetriever
from answers.pipelines.running import find_hits
from concepts.quotes import add_quote
from concepts.services import create_concept
from indexing.services import sync_nodes
from tests.factories import PARAGRAPHS, give, load_index, sync

pytestmark = pytest.mark.django_db


@pytest.fixture
def quoted(store, embedder):
    """A document that a concept quotes, among others; the question has only the concept's word."""
    build = load_index("knowledge")
    artifacts = [
        give(text, index="knowledge") for text in ["Plants turn light into sugar.", *PARAGRAPHS[1:]]
    ]
    sync(build, *artifacts)
    concept = create_concept("knowledge", "Photosynthesis")
    add_quote(concept.pk, "light into sugar", artifact_id=artifacts[0].pk)
    sync_nodes(build)
    return artifacts[0]


def test_adds_the_passages_that_the_nearest_concept_quotes(quoted):
    rankings = MultiQueryRetriever().run("knowledge", ["photosynthesis"], limit=2)["rankings"]

    added = QuotedPassageRetriever().run("knowledge", "photosynthesis", rankings, limit=2)

    *kept, own = added["rankings"]
    assert kept == rankings
    assert [each.hit.payload["artifact_id"] for each in own.passages] == [str(quoted.pk)]
    assert own.passages[0].steps[0]["component"] == "quoted_passage_retriever"


def test_keeps_the_rankings_of_an_index_without_concepts(store, embedder):
    sync(load_index("plain"), give("Herons wait."))
    rankings = MultiQueryRetriever().run("plain", ["herons"])["rankings"]

    assert QuotedPassageRetriever().run("plain", "herons", rankings)["rankings"] == rankings


def test_a_question_to_the_preset_knowledge_finds_what_its_concepts_quote(quoted):
    question = AskRequest(
        "knowledge", "photosynthesis turns light into sugar", limit=1, why_not=quoted.pk
    )

    found = find_hits(question)

    assert found.pipeline == "knowledge"
    [passage] = found.passages
    assert passage.hit.payload["artifact_id"] == str(quoted.pk)
    steps = [step["component"] for step in passage.steps]
    assert steps == ["multi_query_retriever", "quoted_passage_retriever", "fusion"]
    assert found.why_not["reason"] == "It is hit number 1."
