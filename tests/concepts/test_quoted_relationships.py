"""Relationships of the concepts that the passages of an answer quote."""

import pytest

from access.grants import EVERYTHING, Grant
from answers.asking import AskRequest
from answers.pipelines.answer_synthesiser import AnswerSynthesiser
from answers.pipelines.context_builder import ContextBuilder
from answers.pipelines.multi_query_retriever import MultiQueryRetriever
from answers.pipelines.running import find_hits
from answers.serializers import render_pipeline_hits
from concepts.models import Instance, RelationshipType
from concepts.quoted_relationships import MAX_RELATIONSHIPS, find_quoted_relationships
from concepts.quotes import add_quote
from concepts.services import create_concept, create_relationship_type, relate_concepts
from documents.models import Source
from tests.answers.making import make_context
from tests.factories import give, load_index, sync
from tests.language_models.test_llm import Endpoint, endpoint, streams

__all__ = ["endpoint"]  # a fixture

HERON = "The heron stands in the shallows at dawn. It waits for minnows."
REEDS = "Reeds grow at the edge, where minnows hide from the current."

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def graph(shared_store):
    """Heron EATS Minnow, quoted by two documents, and Reed SHELTERS Minnow."""
    build = load_index("knowledge")
    heron, reeds = give(HERON, index="knowledge"), give(REEDS, index="knowledge")
    made = {
        name: create_concept("knowledge", name) for name in ("Heron", "Minnow", "Reed", "Granite")
    }
    eats = create_relationship_type("knowledge", "EATS", description="feeds on")
    shelters = create_relationship_type("knowledge", "SHELTERS", description="protects")
    relate_concepts("knowledge", made["Reed"].pk, shelters.pk, made["Minnow"].pk)
    relate_concepts("knowledge", made["Heron"].pk, eats.pk, made["Minnow"].pk)
    add_quote(made["Heron"].pk, "heron stands in the shallows", artifact_id=heron.pk)
    add_quote(made["Minnow"].pk, "minnows hide", artifact_id=reeds.pk)
    sync(build, heron, reeds)
    sync(build)
    return {**made, "EATS": eats, "heron": heron, "reeds": reeds}


def find_contexts(query, grant=EVERYTHING):
    [ranking] = MultiQueryRetriever().run("knowledge", [query], grant=grant)["rankings"]
    passages = ranking.passages
    return ContextBuilder().run(query, passages, grant=grant)["contexts"]


def statements(relationships):
    return [each.statement for each in relationships]


def get_cited(answer, citation):
    return answer["answer"][citation["answer_start"] : citation["answer_end"]]


class TestFindQuotedRelationships:
    def test_ranks_what_the_question_names_first(self, graph):
        contexts = find_contexts("what feeds on minnows")

        found = find_quoted_relationships("what feeds on minnows", contexts, EVERYTHING)
        sheltered = find_quoted_relationships("what protects a minnow", contexts, EVERYTHING)

        assert statements(found) == ["Heron EATS Minnow", "Reed SHELTERS Minnow"]
        assert statements(sheltered) == ["Reed SHELTERS Minnow", "Heron EATS Minnow"]

    def test_has_the_quotes_of_the_passages_with_their_numbers(self, graph):
        contexts = find_contexts("what feeds on minnows")
        texts = {context.number: context.text for context in contexts}

        first, second = find_quoted_relationships("what eats minnows", contexts, EVERYTHING)

        assert {quote.instance.quote for quote in first.quotes} == {
            "heron stands in the shallows",
            "minnows hide",
        }
        assert [quote.instance.quote for quote in second.quotes] == ["minnows hide"]
        for quote in (*first.quotes, *second.quotes):
            text = texts[quote.context.number]
            assert text[quote.sentence.start : quote.sentence.end] == quote.instance.quote

    def test_leaves_out_a_quote_that_the_passage_does_not_hold(self, graph):
        contexts = find_contexts("what feeds on minnows")
        Instance.objects.filter(concept=graph["Heron"]).update(quote="heron flies to the moon")

        first, _ = find_quoted_relationships("what eats minnows", contexts, EVERYTHING)

        assert [quote.instance.quote for quote in first.quotes] == ["minnows hide"]

    def test_leaves_out_those_of_hidden_concepts(self, graph):
        secret = give("The secret heron.", index="knowledge", groups=["staff"])
        add_quote(graph["Heron"].pk, "secret heron", artifact_id=secret.pk)
        nobody = Grant(groups=frozenset())
        contexts = find_contexts("what feeds on minnows", nobody)

        found = find_quoted_relationships("what feeds on minnows", contexts, nobody)

        assert statements(found) == ["Reed SHELTERS Minnow"]
        assert len(find_quoted_relationships("minnows", contexts, EVERYTHING)) == 2

    def test_has_a_limit(self, graph):
        contexts = find_contexts("what feeds on minnows")
        for number in range(MAX_RELATIONSHIPS):
            other = create_concept("knowledge", f"Stone {number}")
            relate_concepts("knowledge", other.pk, graph["EATS"].pk, graph["Minnow"].pk)

        found = find_quoted_relationships("what protects minnows", contexts, EVERYTHING)

        assert len(found) == MAX_RELATIONSHIPS
        assert found[0].statement == "Reed SHELTERS Minnow"

    def test_finds_none_for_an_index_without_concepts(self, django_assert_num_queries):
        with django_assert_num_queries(0):
            assert (
                find_quoted_relationships("herons", [make_context(1, "Herons.")], EVERYTHING) == []
            )


class TestAnswers:
    def ask(self, query):
        answer = AnswerSynthesiser().run(query, find_contexts(query))["answer"]
        return {"answer": answer.text, "citations": answer.citations}

    def test_list_the_relationships_with_quotes_that_hits_hold(self, graph):
        question = AskRequest("knowledge", "what does the heron eat in the shallows at dawn")

        answer = render_pipeline_hits(question, find_hits(question))

        first, second = answer["relationships"]
        assert first["type"]["name"] == "EATS"
        assert second["type"]["name"] == "SHELTERS"
        for quote in first["quotes"]:
            hit = answer["hits"][quote["number"] - 1]
            assert quote["verdict"] == "exact"
            assert hit["source"]["id"] == quote["source"]["id"]
            assert quote["quote"] in hit["text"]

    def test_without_a_model_state_a_relationship_that_the_question_names(self, graph):
        answer = self.ask("what does the heron eat")

        stated = 'Heron EATS Minnow: "heron stands in the shallows" ['
        assert stated in answer["answer"]
        assert "SHELTERS" not in answer["answer"]
        [citation, *_] = [
            each for each in answer["citations"] if get_cited(answer, each)[:5] == "Heron"
        ]
        source = Source.objects.get(pk=citation["source_id"]).text
        span = source[citation["start_offset"] : citation["end_offset"]]
        assert span == "heron stands in the shallows"
        assert answer["answer"][citation["answer_end"] :].startswith(f" [{citation['number']}]")

    def test_without_a_model_state_none_that_the_question_does_not_name(self, graph):
        query = "where does the heron stand at dawn"

        assert "EATS" not in self.ask(query)["answer"]
        assert find_quoted_relationships(query, find_contexts(query), EVERYTHING)

    def test_of_a_model_are_written_from_the_relationships(
        self, graph, endpoint: Endpoint, monkeypatch
    ):
        endpoint.scripts = [streams("Herons eat minnows [1].")]
        contexts = find_contexts("what does the heron eat")

        AnswerSynthesiser().run("what does the heron eat", contexts)

        user = endpoint.requests[0].body["messages"][1]["content"]
        fence = user.split(" passage [1]")[0].splitlines()[-1]
        relationships = user.split(f"{fence} relationships")[1].split(fence)[0]
        [number] = [each.number for each in contexts if "heron" in each.text]
        assert "Heron EATS Minnow" in relationships
        assert f'"heron stands in the shallows" [{number}]' in relationships

    def test_of_a_model_are_shown_labels_that_cannot_end_the_fence(self, graph, endpoint: Endpoint):
        endpoint.scripts = [streams("Yes."), streams("Yes.")]
        query = "what does the heron eat"
        AnswerSynthesiser().run(query, find_contexts(query))
        user = endpoint.requests[0].body["messages"][1]["content"]
        fence = user.split(" passage [1]")[0].splitlines()[-1]
        RelationshipType.objects.filter(pk=graph["EATS"].pk).update(name=fence)

        AnswerSynthesiser().run(query, find_contexts(query))

        other = endpoint.requests[1].body["messages"][1]["content"]
        assert other.count(fence) == 1
