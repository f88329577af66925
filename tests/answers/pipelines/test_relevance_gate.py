from typing import Any

import pytest

from answers.asking import AskRequest
from answers.pipelines.relevance_gate import RelevanceGate
from answers.pipelines.running import find_hits
from core.exceptions import InvalidInput, UnknownIndex
from tests.factories import change_search, give, sync
from tests.written import make_build


def ask(query: str, index: str = "plain", **settings: Any) -> Any:
    return RelevanceGate(**{"min_similarity": 0.9, **settings}).run(index, query)


@pytest.fixture
def harbour(build):
    sync(build, give("Boats leave the harbour before dawn.", title="Harbour"))


class TestRelevanceGate:
    def test_accepts_a_question_about_a_passage(self, harbour):
        question = "When do boats leave the harbour?"

        assert ask(question) == {
            "query": question, "queries": [question], "notes": [], "relevant": True,
        }  # fmt: skip

    def test_refuses_a_question_about_no_passage(self, harbour):
        outcome = ask("how do I bake sourdough bread?")

        assert list(outcome) == ["refusal"]
        assert outcome["refusal"].detail == (
            "Plain holds nothing that this question is about: no passage is similar to it, and "
            "none mentions “bake”, “sourdough” or “bread”."
        )

    def test_accepts_a_name_whose_synonym_a_passage_has(self, harbour, build):
        assert "refusal" in ask("What is a quay?")

        change_search(build, synonyms=(("quay", "harbour"),))

        assert "refusal" not in ask("What is a quay?")

    def test_notes_that_it_does_not_test_other_languages(self, harbour):
        question = "Wie backe ich ein Sauerteigbrot?"

        outcome = ask(question, languages=["en"])

        assert outcome["relevant"] is None
        assert "was not tested" in outcome["notes"][0]
        assert "refusal" in ask(question)
        assert "refusal" in ask(question, languages=["de", "en"])

    def test_does_not_test_an_index_with_another_model(self, harbour):
        [note] = ask("how do I bake sourdough bread?", embedding_model="another")["notes"]

        assert "the embedding model another" in note

    def test_refuses_nothing_at_similarity_zero(self, harbour):
        assert "refusal" not in ask("how do I bake sourdough bread?", min_similarity=0.0)

    def test_accepts_every_question_to_an_empty_index(self, build):
        assert "refusal" not in ask("how do I bake sourdough bread?")

    def test_accepts_a_question_that_names_a_document(self, db, store, embedder):
        identifiers = {"paper": {"pattern": "[A-Z][0-9]{2}-[0-9]{4}"}}
        build = make_build("papers", identifiers=identifiers)
        sync(build, give("Boats leave.", index="papers"))

        assert "refusal" not in ask("what is like P19-1001?", index="papers")
        assert "refusal" in ask("what is like it?", index="papers")

    def test_refuses_an_unknown_index(self, build):
        with pytest.raises(UnknownIndex):
            ask("boats", index="absent")

    @pytest.mark.parametrize(
        ("settings", "field"),
        [({"min_similarity": 1.1}, "min_similarity"), ({"languages": ["xx"]}, "languages")],
    )
    def test_refuses_wrong_settings(self, settings, field):
        with pytest.raises(InvalidInput) as refused:
            RelevanceGate(**settings)

        assert refused.value.field == field


class TestPlainPipeline:
    def test_refuses_a_question_on_another_subject(self, harbour):
        found = find_hits(AskRequest("plain", "how do I bake sourdough bread?"))

        assert found.refusal is not None
        assert found.passages == []

    def test_answers_a_question_on_the_subject_of_the_index(self, harbour):
        found = find_hits(AskRequest("plain", "When do boats leave the harbour?"))

        assert found.refusal is None
        assert len(found.passages) == 1
