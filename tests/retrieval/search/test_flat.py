import logging
import uuid
from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.exceptions import InvalidInput, UnknownIndex
from documents.models import Artifact, Source
from documents.services import TextContent, replace_content
from indexing.exceptions import StoreUnavailable
from indexing.models import Index, IndexBuild, Node
from indexing.services import load_specs
from indexing.stores import Point, get_store
from retrieval.search import Mode, SearchRequest, StaleHitPolicy, Verdict
from tests.factories import change_search, give, sync
from tests.retrieval.search.asking import search_chunks

SENTENCES = [f"The {bird} number {n} nests near water." for n, bird in enumerate(["heron"] * 30)]


def ask(query="heron nests", *, index="plain", **given):
    return search_chunks(SearchRequest(indexes=[index], query=query, **given))


def ids(answer):
    return [hit.node_id for hit in answer.hits]


def rewrite_payload(build, node, **changes):
    """Change the point's payload so that it differs from its row, like a defective writer."""
    store, collection = get_store(), build.collection("chunk")
    payload = store.retrieve(collection, [node.point_id])[node.point_id].payload
    store.replace_payloads(collection, {node.point_id: payload | changes})


@pytest.fixture
def notes(build):
    """Thirty artifacts of one chunk each, all about herons."""
    artifacts = [give(text, title=f"Note {n}") for n, text in enumerate(SENTENCES)]
    sync(build, *artifacts)
    return artifacts


class TestSearchChunks:
    @pytest.mark.parametrize(
        ("mode", "score_kind"),
        [(Mode.HYBRID, "rrf"), (Mode.DENSE, "cosine"), (Mode.SPARSE, "bm25")],
    )
    def test_finds_the_text_with_the_words(self, build, mode, score_kind):
        wanted, other = give("Granite cools slowly."), give("Yeast breathes in the dough.")
        sync(build, wanted, other)

        answer = ask("granite cools", mode=mode)

        assert answer.hits[0].payload["artifact_id"] == str(wanted.pk)
        assert answer.hits[0].verdict == Verdict.EXACT
        assert answer.score_kind == score_kind
        assert answer.builds == {"plain": build.number}

    def test_asks_the_store_once(self, notes, monkeypatch):
        asked = []
        real = get_store().search_many
        monkeypatch.setattr(
            get_store(), "search_many", lambda requests: asked.append(requests) or real(requests)
        )

        ask()

        [[(_, query)]] = asked
        assert query.fusion.k == 60
        assert query.fusion.prefetch == 100

    def test_asks_the_database_twice(self, notes):
        ask()  # the first search validates and caches the recipe

        with CaptureQueriesContext(connection) as queries:
            ask()

        assert len(queries) == 2  # index and build; rows and sources

    def test_does_not_read_rows_without_verification(self, notes):
        with CaptureQueriesContext(connection) as queries:
            answer = ask(verify=False)

        assert len(queries) == 1  # index and build
        assert {hit.verdict for hit in answer.hits} == {None}

    def test_returns_pages_without_overlaps_or_gaps(self, notes):
        whole = ids(ask(limit=30))

        pages = [ids(ask(limit=7, offset=offset)) for offset in range(0, 35, 7)]

        assert [each for page in pages for each in page] == whole
        assert len(set(whole)) == 30

    def test_fills_the_page_if_hits_are_dropped(self, build, notes):
        deleting = ids(ask(limit=10))[::2]
        Node.objects.filter(point_id__in=deleting).delete()

        answer = ask(limit=20)

        assert len(answer.hits) == 20
        assert not set(deleting) & set(ids(answer))
        assert answer.dropped.orphans == 5

    def test_finds_nothing_in_an_empty_index(self, build):
        assert ask().hits == []

    def test_finds_nothing_in_an_index_without_a_live_build(self, build, notes):
        Index.objects.filter(name="plain").update(live_build=None)

        answer = ask()

        assert answer.hits == []
        assert answer.builds == {"plain": None}

    def test_searches_a_build_that_is_not_live(self, build, notes):
        Index.objects.filter(name="plain").update(live_build=None)

        assert len(ask(index=build).hits) == 10

    def test_respects_a_filter(self, notes):
        chosen = str(notes[3].pk)

        answer = ask(filter={"artifact_id": chosen})

        assert [hit.payload["artifact_id"] for hit in answer.hits] == [chosen]

    def test_respects_a_minimum_score(self, notes):
        scores = [hit.score for hit in ask(limit=30).hits]

        answer = ask(limit=30, min_score=scores[11])

        assert [hit.score for hit in answer.hits] == [s for s in scores if s >= scores[11]]

    def test_ranks_by_similarity_if_the_query_has_no_terms(self, notes):
        answer = ask("the", limit=3)  # a stop word

        assert len(answer.hits) == 3
        assert answer.hits[0].score == pytest.approx(1 / 61)
        assert ask("the", mode=Mode.SPARSE).hits == []

    def test_answers_the_same_twice(self, notes):
        assert ids(ask()) == ids(ask())

    def test_returns_the_time_of_each_stage(self, notes):
        took = ask().took_ms

        assert took.keys() == {"embed", "search", "verify", "total"}
        assert took["total"] >= took["embed"] + took["search"] + took["verify"]

    def test_raises_the_error_of_an_unavailable_store(self, notes, monkeypatch):
        def refuse(*args):
            raise StoreUnavailable

        monkeypatch.setattr(get_store(), "search_many", refuse)

        with pytest.raises(StoreUnavailable):
            ask()

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"query": " "}, "query"),
            ({"query": "x" * 10_001}, "query"),
            ({"query": "half \ud800"}, "query"),
            ({"limit": 0}, "limit"),
            ({"limit": 101}, "limit"),
            ({"offset": -1}, "offset"),
            ({"offset": 1_001}, "offset"),
            ({"min_score": float("nan")}, "min_score"),
            ({"filter": {"yaer": 1}}, "filter.yaer"),
        ],
    )
    def test_refuses_wrong_parameters(self, build, given, field):
        with pytest.raises(InvalidInput) as refused:
            ask(**given)

        assert refused.value.field == field

    def test_names_the_existing_indexes(self, build):
        with pytest.raises(UnknownIndex) as refused:
            ask(index="plian")

        assert "plain" in refused.value.allowed


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


class TestHitCheck:
    @pytest.fixture
    def node(self, build):
        sync(build, give("Granite cools slowly under the ground."))
        return Node.objects.get()

    def test_flags_a_hit_whose_source_changed_without_a_signal(self, node):
        Source.objects.update(text="Basalt cools fast. Granite cools slowly under the ground.")

        answer = ask("granite")

        assert [hit.verdict for hit in answer.hits] == [Verdict.STALE]
        assert answer.stale_ids == [node.artifact_id]

    def test_omits_stale_hits_on_request(self, node):
        Source.objects.update(text="Basalt cools fast.")

        answer = ask("granite", stale=StaleHitPolicy.OMIT)

        assert answer.hits == []
        assert answer.stale_ids == [node.artifact_id]

    def test_flags_a_hit_whose_source_is_gone(self, node):
        Source.objects.all().delete()

        assert [hit.verdict for hit in ask("granite").hits] == [Verdict.STALE]

    def test_flags_the_old_text_of_a_document_until_the_new_is_synced(self, build, node):
        artifact = Artifact.objects.get()
        replace_content(artifact.pk, TextContent(("Granite cools very slowly indeed.",)))

        before = ask("granite").hits
        sync(build, artifact)
        after = ask("granite").hits

        assert [(hit.node_id, hit.verdict) for hit in before] == [(node.point_id, Verdict.STALE)]
        assert [hit.verdict for hit in after] == [Verdict.EXACT]
        assert after[0].payload["text"] == "Granite cools very slowly indeed."

    def test_flags_a_deleting_row_whose_source_changed(self, node):
        Node.objects.update(state=Node.State.DELETING)
        Source.objects.update(text="Basalt.")

        assert [hit.verdict for hit in ask("granite").hits] == [Verdict.STALE]

    def test_drops_a_hit_without_a_row(self, node):
        Node.objects.all().delete()

        answer = ask("granite")

        assert answer.hits == []
        assert answer.dropped.orphans == 1

    def test_drops_a_hit_whose_artifact_is_gone(self, node):
        Artifact.objects.get().delete()

        answer = ask("granite")

        assert answer.hits == []
        assert answer.dropped.orphans == 1

    @pytest.mark.parametrize(
        "changes",
        [
            {"text": "Granite cools quickly under the ground."},
            {"start_offset": 1},
            {"end_offset": 5},
            {"start_offset": None},
            {"source_id": "nonsense"},
            {"source_id": None},
            {"text_hash": "0" * 64},
        ],
    )
    def test_drops_counts_and_reports_a_hit_whose_text_is_not_in_its_source(
        self, build, node, changes, caplog
    ):
        rewrite_payload(build, node, **changes)

        with caplog.at_level(logging.ERROR, logger="retrieval.search"):
            answer = ask("granite")

        assert answer.hits == []
        assert answer.dropped.integrity_errors == 1
        assert str(node.point_id) in caplog.text

    def test_ignores_a_null_hash(self, build, node):
        rewrite_payload(build, node, text_hash=None, source_hash=None)

        assert [hit.verdict for hit in ask("granite").hits] == [Verdict.EXACT]

    def test_flags_a_text_that_moved_under_a_null_hash(self, build, node):
        rewrite_payload(build, node, text_hash=None, source_hash=None)
        Source.objects.update(text="Now: Granite cools slowly under the ground.")

        assert [hit.verdict for hit in ask("granite").hits] == [Verdict.STALE]

    def test_counts_characters_as_code_points(self, build):
        sync(build, give("🪨🪨 e\u0301 first.\r\n\r\n" + "Granite cools. " * 60))

        hits = ask("granite cools", limit=50).hits

        assert len(hits) > 1
        assert {hit.verdict for hit in hits} == {Verdict.EXACT}

    def test_drops_a_point_without_a_node(self, build, node, embedder):
        stranger = Point(uuid.uuid4(), embedder.embed_query("granite"), None, {"text": "granite"})
        get_store().upsert(build.collection("chunk"), [stranger])

        answer = ask("granite")

        assert ids(answer) == [node.point_id]
        assert answer.dropped.orphans == 1


class TestExplain:
    @pytest.fixture
    def twins(self, build):
        """Artifacts with many equal texts, so that both rankings have many ties."""
        texts = ["The heron nests near water."] * 8 + [
            "A heron waits.",
            "Granite cools slowly.",
        ] * 4
        sync(build, *[give(text, external_id=str(n)) for n, text in enumerate(texts)])

    @pytest.mark.parametrize(("dense", "sparse"), [(1.0, 1.0), (2.0, 0.5), (0.0, 1.0), (1.0, 0.0)])
    def test_adds_up_to_the_score_despite_ties(self, build, twins, dense, sparse):
        change_search(build, dense_weight=dense, sparse_weight=sparse, prefetch=5)

        hits = ask("heron nests", limit=20, explain=True).hits

        assert hits
        for hit in hits:
            shares = [hit.explanation.dense, hit.explanation.sparse]
            total = sum(share.contribution for share in shares if share)
            assert total == pytest.approx(hit.score, abs=1e-6)
            assert all(share.rank <= 5 for share in shares if share)

    @pytest.mark.parametrize("mode", [Mode.DENSE, Mode.SPARSE])
    def test_returns_the_rank_of_a_single_ranking(self, notes, mode):
        hits = ask(mode=mode, offset=3, limit=2, explain=True).hits

        shares = [getattr(hit.explanation, mode) for hit in hits]
        assert [share.rank for share in shares] == [4, 5]
        assert [share.contribution for share in shares] == [hit.score for hit in hits]

    def test_is_left_out_by_default(self, notes):
        assert {hit.explanation for hit in ask().hits} == {None}
