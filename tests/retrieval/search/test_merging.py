"""Hits of several indexes, and of several strategies of one index, in one ranking. Most tests write
to both indexes, so that each has a store of its own."""

from dataclasses import replace

import pytest

from indexing.models import Index, IndexBuild, Node
from indexing.services import load_specs
from retrieval.search import Mode
from tests.factories import change_search, give, sync
from tests.retrieval.search.asking import SearchRequest, search_chunks
from tests.retrieval.search.test_flat import SENTENCES, ask, ids


class TestSearchOfSeveralIndexes:
    @pytest.fixture
    def second(self, build):
        """Another index with the same recipe."""
        recipe = build.recipe | {"name": "second"}
        index = Index.objects.create(name="second")
        made = IndexBuild.objects.create(
            index=index, number=4, recipe=recipe, fingerprint="", state="live"
        )
        index.live_build = made
        index.save()
        return made

    def test_merges_by_score_and_embeds_the_query_once(self, build, second, embedder, monkeypatch):
        sync(build, give("Granite cools slowly under the ground."))
        sync(second, give("Granite cools.", index="second"))
        embedded = []
        real = embedder.embed_query
        monkeypatch.setattr(
            embedder, "embed_query", lambda text: embedded.append(text) or real(text)
        )

        answer = search_chunks(
            SearchRequest(indexes=["plain", "second"], query="granite cools", mode=Mode.DENSE)
        )

        assert answer.builds == {"plain": build.number, "second": 4}
        assert [hit.index for hit in answer.hits] == ["second", "plain"]
        assert embedded == ["granite cools"]

    def test_returns_pages_over_both_indexes(self, build, second):
        sync(build, *[give(text) for text in SENTENCES[:9]])
        sync(second, *[give(text, index="second") for text in SENTENCES[9:20]])
        request = SearchRequest(indexes=["plain", "second"], query="heron nests", limit=20)
        whole = ids(search_chunks(request))

        pages = [
            ids(search_chunks(replace(request, limit=6, offset=offset)))
            for offset in (0, 6, 12, 18)
        ]

        assert [each for page in pages for each in page] == whole
        assert len(set(whole)) == 20

    def test_ranks_them_together_despite_different_settings(self, build, second):
        right = "A recursive depth tracking counter is kept for each frame."
        others = ["Each counter is kept.", "For each frame.", "Depth is kept."]
        sync(build, give(right), *[give(f"{text} {n}") for n, text in enumerate(SENTENCES[:4])])
        sync(second, *[give(text, index="second") for text in others])
        change_search(second, rrf_k=3)

        answer = search_chunks(
            SearchRequest(
                indexes=["plain", "second"],
                query="recursive depth tracking counter for each frame",
                explain=True,
            )
        )

        assert answer.hits[0].payload["text"] == right
        assert answer.hits[0].score == pytest.approx(2 / 14)
        assert len({hit.explanation.dense.rank for hit in answer.hits}) == len(answer.hits)
        assert {hit.explanation.fusion.k for hit in answer.hits} == {13}  # between 60 and 3

    @pytest.fixture
    def second_of_another_model(self, second):
        second.recipe["embedding"]["query_prefix"] = "query: "
        second.save()
        return IndexBuild.objects.get(pk=second.pk)

    @pytest.mark.parametrize("mode", Mode)
    def test_does_not_compare_cosines_of_different_models(
        self, build, second_of_another_model, mode
    ):
        sync(build, *[give(text) for text in SENTENCES[:4]])
        sync(second_of_another_model, *[give(text, index="second") for text in SENTENCES[4:8]])
        request = SearchRequest(
            indexes=["plain", "second"], query="heron nests", mode=mode, limit=8, explain=True
        )

        answer = search_chunks(request)

        assert answer.score_kind == ("bm25" if mode == Mode.SPARSE else "rrf")
        if mode == Mode.DENSE:
            assert [hit.score for hit in answer.hits] == [
                pytest.approx(1 / (60 + rank)) for rank in (1, 1, 2, 2, 3, 3, 4, 4)
            ]
            assert [hit.explanation.dense.rank for hit in answer.hits] == [1, 1, 2, 2, 3, 3, 4, 4]


class TestSeveralStrategies:
    @pytest.fixture
    def cut_twice(self, db, store, embedder, settings, tmp_path):
        (tmp_path / "plain.yaml").write_text(
            "chunks: {strategies: [{name: sentence, max_chars: 50}, {name: paragraph}]}"
        )
        settings.STRATA_SPECS_DIR = tmp_path
        load_specs()
        return IndexBuild.objects.live().get(index="plain")

    def test_find_the_same_text_once(self, cut_twice):
        sentences = ["Granite cools slowly under the ground.", "Basalt cools fast in the cold sea."]
        sync(cut_twice, give(" ".join(sentences)), give("Herons nest in trees."))
        assert Node.objects.count() == 5

        hits = ask("granite cools slowly under the ground", mode=Mode.DENSE).hits

        assert [hit.payload["text"] for hit in hits] == [*sentences, "Herons nest in trees."]

    def test_find_a_whole_text_that_is_better_than_its_parts(self, cut_twice):
        text = "Granite cools slowly under the ground. Basalt cools fast in the cold sea."
        sync(cut_twice, give(text))

        hits = ask("granite basalt cools slowly fast ground sea").hits

        assert [hit.payload["text"] for hit in hits] == [text]
