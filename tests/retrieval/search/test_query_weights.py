"""A ranking that cannot read the query does not count."""

import json
from typing import Any

import pytest

from access.grants import EVERYTHING, Grant
from indexing.models import Index
from indexing.spec import parse_spec
from retrieval import document_languages
from retrieval.retrievers import ChunkRetriever
from retrieval.search.query_weights import (
    BOTH_READ,
    OTHER_LANGUAGE_WEIGHT,
    QueryWeights,
    weigh_rankings,
)
from tests.factories import give, sync
from tests.written import make_build

MULTILINGUAL = {"provider": "openai", "model": "multilingual-e5-small", "window": 512}
GERMAN = "Der Teig ruht eine Nacht, und dann wird das Brot in dem Ofen gebacken."


def weigh(query: str) -> QueryWeights:
    spec = parse_spec("plain", "title: Plain")
    return weigh_rankings(spec, spec.embedding, query, EVERYTHING)


class TestAnEnglishModel:
    @pytest.mark.parametrize(
        "query",
        [
            "when is the lamp lit", "NadD with compound SACC-111 by TAMU",
            "naïve Bayes à la carte", "De-Bias for Generative Extraction", "Gödel", "lamp",
            "BERT是什么",
        ],
    )  # fmt: skip
    def test_counts_in_full_for_a_query_that_it_reads(self, query):
        assert weigh(query) == BOTH_READ

    @pytest.mark.parametrize("query", ["P01234", "LH 454", "0.5 kg", "16 GB", "RX 7 mm"])
    def test_counts_little_for_a_code_or_a_quantity(self, query):
        assert weigh(query).dense == OTHER_LANGUAGE_WEIGHT

    @pytest.mark.parametrize("query", ["vitamin B12", "lamp 454", "0.5 kg of salt", "LH lamp"])
    def test_counts_in_full_for_other_words(self, query):
        assert weigh(query) == BOTH_READ

    @pytest.mark.parametrize(
        "query", ["كم نقطة تخلى عنها الدفاع؟", "花岗岩是什么", "Что такое гранит?"]
    )
    def test_does_not_count_for_a_script_that_it_does_not_read(self, query):
        weights = weigh(query)

        assert (weights.dense, weights.sparse) == (0, 1)
        assert "by its words only" in weights.note

    @pytest.mark.parametrize(
        "query",
        ["Wer hielt die Lampe im Sturm?", "Comment le granite refroidit-il dans la terre ?"],
    )
    def test_counts_little_for_a_language_that_it_does_not_read(self, query):
        weights = weigh(query)

        assert (weights.dense, weights.sparse) == (OTHER_LANGUAGE_WEIGHT, 1)
        assert "mostly by its words" in weights.note


@pytest.mark.django_db
class TestAMultilingualModel:
    @pytest.fixture
    def spec(self):
        document_languages._find_text_languages.cache_clear()
        return parse_spec("texts", json.dumps({"title": "Texts", "embedding": MULTILINGUAL}))

    def fill(self, *texts: str, **given: Any) -> None:
        Index.objects.get_or_create(name="texts")
        for text in texts:
            give(text, index="texts", **given)

    def test_words_count_for_the_language_of_the_texts(self, spec):
        self.fill(GERMAN, "花岗岩在地下慢慢冷却。")

        for query in ("Wann wird das Brot gebacken?", "花岗岩是什么", "Brot"):
            assert weigh_rankings(spec, spec.embedding, query, EVERYTHING) == BOTH_READ

    @pytest.mark.parametrize("text", [GERMAN, "花岗岩在地下慢慢冷却。"])
    def test_words_do_not_count_for_another_language(self, spec, text):
        self.fill(text)

        weights = weigh_rankings(
            spec, spec.embedding, "How long does the dough rest in the night?", EVERYTHING
        )

        assert (weights.dense, weights.sparse) == (1, 0)
        assert "by its meaning only" in weights.note

    def test_only_visible_documents_tell_the_language(self, spec):
        self.fill(GERMAN)
        self.fill("How long the dough rests is up to the baker.", groups=["bakers"])
        query = "How long does the dough rest in the night?"

        for groups, weight in ((frozenset({"bakers"}), 1), (frozenset({"millers"}), 0)):
            grant = Grant(groups=groups)
            assert weigh_rankings(spec, spec.embedding, query, grant).sparse == weight

    def test_words_count_in_an_empty_index(self, spec):
        self.fill()

        assert weigh_rankings(spec, spec.embedding, "Brot", EVERYTHING) == BOTH_READ


@pytest.mark.django_db
class TestAHybridSearch:
    def test_finds_a_text_in_another_script_by_its_words(self, store):
        build = make_build("rocks")
        sync(
            build,
            give("花岗岩 在 地下 慢慢 冷却。", index="rocks", title="岩石"),
            *[give(f"Bread number {n} is baked.", index="rocks") for n in range(5)],
        )

        answer = ChunkRetriever("rocks", explain=True).search("花岗岩 冷却")

        assert [hit.payload["artifact_title"] for hit in answer.hits] == ["岩石"]
        [note] = answer.notes
        assert "all-MiniLM-L6-v2 reads English only" in note
        explanation = answer.hits[0].explanation
        assert explanation.fusion.dense_weight == 0
        assert explanation.dense is None

    def test_finds_the_text_with_a_code_first(self, store):
        build = make_build("codes")
        give_all = [give(f"Protein P0{n} binds.", index="codes") for n in range(1200, 1350)]
        sync(build, *give_all)

        answer = ChunkRetriever("codes").search("P01234")

        assert answer.hits[0].payload["text"] == "Protein P01234 binds."

    def test_keeps_the_vectors_where_no_word_is_searched(self, store):
        build = make_build("lamps", search={"sparse_weight": 0})
        sync(build, give("The lamp is lit.", index="lamps"))

        answer = ChunkRetriever("lamps").search("灯 什么 时候")

        assert answer.hits
        assert answer.notes == []
