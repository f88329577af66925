"""The contract of all vector stores. A new store needs one line in STORES."""

import os
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from indexing.stores import (
    AllOf,
    AnyOf,
    CollectionSchema,
    Empty,
    Match,
    MatchText,
    Not,
    Point,
    Query,
    Range,
    RankFusion,
    SparseVector,
)
from retrieval.fusion import CollectionRankings, HybridFusion, fuse_collections
from tests.qdrant_loopback.process import qdrant_loopback

NAME = f"library.page_embeddings.{uuid.uuid4().hex[:8]}"  # a server may hold others
SCHEMA = CollectionSchema(
    dimension=4,
    fields={
        "venue": "keyword",
        "artifact_id": "uuid",
        "year": "integer",
        "weight": "float",
        "peer_reviewed": "bool",
        "published": "datetime",
        "title": "text",
    },
)


@contextmanager
def embedded(folder):
    from indexing.stores.embedded import EmbeddedStore

    yield EmbeddedStore(folder / "vectors")


@contextmanager
def memory(folder):
    from indexing.stores.qdrant import QdrantStore

    yield QdrantStore.in_memory()


@contextmanager
def loopback(folder):
    """A store over HTTP, with real requests; the Qdrant client's local mode answers them."""
    from indexing.stores.qdrant import QdrantStore

    with qdrant_loopback() as server:
        yield QdrantStore.connect(server.url)


@contextmanager
def cluster(folder):
    """Three nodes with three shards, each twice."""
    from indexing.stores.qdrant import QdrantStore

    with qdrant_loopback(shards=3) as server:
        yield QdrantStore.connect(server.url)


@contextmanager
def server(folder):
    from indexing.stores.qdrant import QdrantStore

    if "QDRANT_URL" not in os.environ:
        pytest.skip("QDRANT_URL names no Qdrant server")
    yield QdrantStore.connect(os.environ["QDRANT_URL"], os.environ.get("QDRANT_API_KEY", ""))


STORES = {
    "embedded": embedded,
    "memory": memory,
    "loopback": loopback,
    "cluster": cluster,
    "server": server,
}
ONE_SHARD = (27, 12, 21, 6, 24, 3)  # idf is counted per shard, and the cluster has three
LOCAL_MODE = {"memory", "loopback", "cluster"}  # answered by the client's own engine


@pytest.fixture(scope="module", params=STORES)
def store(request, tmp_path_factory):
    with STORES[request.param](tmp_path_factory.mktemp("store")) as store:
        yield store
        store.drop_collection(NAME)
        store.close()


@pytest.fixture
def collection(store):
    """An empty collection with all fields; shared by the tests, because creating one is slow."""
    store.ensure_collection(NAME, SCHEMA)
    yield NAME
    store.delete(NAME, [point.id for batch in store.scroll(NAME) for point in batch])


@pytest.fixture
def absent(store):
    """The name of a collection that does not exist; a test may create it."""
    name = f"{NAME}-absent"
    yield name
    store.drop_collection(name)


def point_id(number):
    return uuid.UUID(int=number)


def make_point(number, dense=(1, 0, 0, 0), sparse=None, **payload):
    return Point(
        point_id(number),
        None if dense is None else np.array(dense, dtype=np.float32),
        None if sparse is None else SparseVector(list(sparse), list(sparse.values())),
        payload,
    )


def vector(*values):
    return np.array(values, dtype=np.float32)


def numbers(points):
    return [point.id.int for point in points]


def stored_numbers(store, name=NAME):
    return [point.id.int for batch in store.scroll(name) for point in batch]


class TestCollections:
    def test_exist_once_ensured(self, store, absent):
        assert not store.has_collection(absent)

        store.ensure_collection(absent, CollectionSchema(4, {}))

        assert store.has_collection(absent)

    def test_keep_their_points_when_ensured_again(self, store, collection):
        store.upsert(collection, [make_point(1, year=2020)])

        store.ensure_collection(collection, SCHEMA)

        assert store.count(collection) == 1

    def test_can_be_given_more_fields(self, store, absent):
        store.ensure_collection(absent, CollectionSchema(4, {"year": "integer"}))
        store.upsert(absent, [make_point(1, year=2020, pages=3)])

        store.ensure_collection(
            absent, CollectionSchema(4, {"year": "integer", "pages": "integer"})
        )

        assert store.count(absent, Match("pages", [3])) == 1
        assert store.count(absent, Match("year", [2020])) == 1

    def test_do_not_exist_once_dropped(self, store, absent):
        store.ensure_collection(absent, CollectionSchema(4, {}))
        store.upsert(absent, [make_point(1)])

        store.drop_collection(absent)

        assert not store.has_collection(absent)
        store.ensure_collection(absent, CollectionSchema(4, {}))
        assert store.count(absent) == 0

    def test_can_be_dropped_if_they_do_not_exist(self, store, absent):
        store.drop_collection(absent)

    def test_can_have_no_sparse_vectors(self, store, absent):
        store.ensure_collection(absent, CollectionSchema(4, {}, has_sparse=False))
        store.upsert(absent, [make_point(1)])

        assert numbers(store.search(absent, Query(dense=vector(1, 0, 0, 0)))) == [1]

    @pytest.mark.parametrize("corpus", [None, Match("venue", ["acl"])])
    def test_can_leave_the_weights_of_terms_as_they_are(self, store, absent, corpus):
        schema = CollectionSchema(4, {"venue": "keyword"}, has_idf=False)
        store.ensure_collection(absent, schema)
        store.upsert(absent, [make_point(n, sparse={1: 0.5 * n}) for n in (1, 2)])

        query = SparseVector([1], [3.0], has_idf=False)
        found = store.search(absent, Query(sparse=query, corpus=corpus))

        assert [hit.score for hit in found] == pytest.approx([3.0, 1.5])

    def test_are_independent_of_each_other(self, store, collection, absent):
        store.ensure_collection(absent, CollectionSchema(2, {}))
        store.upsert(collection, [make_point(1)])
        store.upsert(absent, [make_point(2, (1, 0))])

        assert stored_numbers(store) == [1]
        assert stored_numbers(store, absent) == [2]


class TestAliases:
    @pytest.fixture
    def alias(self, store):
        """A name that is not an alias, before and after the test."""
        alias = f"{NAME}-alias"
        yield alias
        store.switch_aliases({alias: None})

    def test_can_be_switched_to_another_collection(self, store, collection, absent, alias):
        store.ensure_collection(absent, CollectionSchema(4, {}))
        assert alias not in store.aliases()

        store.switch_aliases({alias: collection})
        assert store.aliases()[alias] == collection

        store.switch_aliases({alias: absent})
        assert store.aliases()[alias] == absent

    def test_can_be_switched_together_and_removed(self, store, collection, absent, alias):
        other = f"{alias}-2"
        store.switch_aliases({alias: collection})

        store.switch_aliases({alias: None, other: collection})

        assert store.aliases().get(other) == collection
        assert alias not in store.aliases()
        store.switch_aliases({other: None})
        assert other not in store.aliases()


class TestMissingCollection:
    def test_is_empty_for_readers(self, store, absent):
        dense, sparse = vector(1, 0, 0, 0), SparseVector([1], [1.0])

        assert store.search(absent, Query(dense=dense)) == []
        assert store.search(absent, Query(sparse=sparse)) == []
        assert store.search(absent, Query(dense=dense, sparse=sparse, fusion=RankFusion())) == []
        assert store.count(absent) == 0
        assert store.retrieve(absent, [point_id(1)]) == {}
        assert list(store.scroll(absent)) == []
        assert store.facet(absent, "venue", limit=10) == {}

    def test_ignores_deletions_and_payload_changes(self, store, absent):
        store.delete(absent, [point_id(1)])
        store.replace_payloads(absent, {point_id(1): {"venue": "ACL"}})

    def test_refuses_points(self, store, absent):
        with pytest.raises(LookupError, match="no collection"):
            store.upsert(absent, [make_point(1)])


class TestUpsert:
    def test_replaces_whole_points(self, store, collection):
        store.upsert(collection, [make_point(1, (1, 0, 0, 0), {5: 1.0}, venue="ACL", year=2019)])

        store.upsert(collection, [make_point(1, (0, 1, 0, 0), venue="EMNLP")])

        stored = store.retrieve(collection, [point_id(1)], with_vectors=True)[point_id(1)]
        assert stored.payload == {"venue": "EMNLP"}
        assert stored.dense == pytest.approx([0, 1, 0, 0])
        assert stored.sparse is None
        assert store.count(collection) == 1

    def test_keeps_both_vectors(self, store, collection):
        store.upsert(collection, [make_point(1, (0.6, 0.8, 0, 0), {7: 0.5, 3: 2.0})])

        stored = store.retrieve(collection, [point_id(1)], with_vectors=True)[point_id(1)]

        assert stored.dense == pytest.approx([0.6, 0.8, 0, 0])
        assert stored.dense.dtype == np.float32
        assert dict(zip(stored.sparse.indices, stored.sparse.values, strict=True)) == {7: 0.5, 3: 2}

    def test_stores_payloads_unchanged(self, store, collection):
        payload = {
            "text": "東京 is 'Tokyo' — ไทย 🧬 \u200b\n\"quoted\"",
            "ключ": {"nested": [1, 2.5, None, True, "é"]},
            "empty": "",
            "large": 2**53 + 1,
        }
        store.upsert(collection, [make_point(1, **payload)])

        [hit] = store.search(collection, Query(dense=vector(1, 0, 0, 0)))

        assert store.retrieve(collection, [point_id(1)])[point_id(1)].payload == payload
        assert hit.payload == payload

    def test_accepts_points_without_terms_and_without_vectors(self, store, collection):
        store.upsert(collection, [make_point(1, sparse={}), make_point(2, dense=None)])

        assert store.count(collection) == 2
        assert store.search(collection, Query(sparse=SparseVector([1], [1.0]))) == []

    def test_accepts_an_empty_list(self, store, collection):
        store.upsert(collection, [])

        assert store.count(collection) == 0

    def test_accepts_more_than_one_batch(self, store, collection):
        store.upsert(collection, [make_point(number) for number in range(1, 1_202)])

        assert store.count(collection) == 1_201

    def test_raises_a_non_retryable_error_for_vectors_of_another_dimension(self, store, collection):
        with pytest.raises(Exception, match=r"(?i)dim|shape|broadcast") as caught:
            store.upsert(collection, [make_point(1, (1, 0))])

        assert not getattr(caught.value, "is_retryable", False)


class TestReplacePayloads:
    def test_drops_old_keys_and_keeps_vectors(self, store, collection):
        store.upsert(collection, [make_point(1, (0, 0, 1, 0), {5: 2.0}, venue="ACL", year=2019)])

        store.replace_payloads(collection, {point_id(1): {"venue": "EMNLP"}})

        stored = store.retrieve(collection, [point_id(1)], with_vectors=True)[point_id(1)]
        assert stored.payload == {"venue": "EMNLP"}
        assert stored.dense == pytest.approx([0, 0, 1, 0])
        assert stored.sparse == SparseVector([5], [2.0])
        assert store.count(collection, Match("venue", ["EMNLP"])) == 1
        assert store.count(collection, Match("venue", ["ACL"])) == 0

    def test_makes_each_payload_equal_to_the_given_one(self, store, collection):
        before = [{"year": 1}, {"year": 1}, {"year": 1, "venue": "ACL"}, {"year": 1, "tags": ["a"]}]
        after = [{"year": True}, {"year": None}, {"year": 1, "venue": None}, {"tags": ["a", "b"]}]
        store.upsert(collection, [make_point(n, **payload) for n, payload in enumerate(before, 1)])

        store.replace_payloads(
            collection, {point_id(n): payload for n, payload in enumerate(after, 1)}
        )

        held = store.retrieve(collection, [point_id(n) for n in range(1, 5)])
        stored = [held[point_id(n)].payload for n in range(1, 5)]
        assert stored == after
        assert stored[0]["year"] is True

    def test_ignores_ids_without_a_point(self, store, collection):
        store.upsert(collection, [make_point(1, year=1), make_point(3, year=3)])

        store.replace_payloads(
            collection, {point_id(number): {"year": number * 10} for number in (1, 2, 3)}
        )

        assert store.count(collection) == 2
        assert store.count(collection, Match("year", [10, 20, 30])) == 2


class TestDelete:
    def test_removes_points(self, store, collection):
        store.upsert(collection, [make_point(number) for number in (1, 2, 3)])

        store.delete(collection, [point_id(1), point_id(3)])

        assert stored_numbers(store) == [2]
        assert numbers(store.search(collection, Query(dense=vector(1, 0, 0, 0)))) == [2]

    def test_ignores_ids_without_a_point(self, store, collection):
        store.upsert(collection, [make_point(1)])

        store.delete(collection, [point_id(2)])
        store.delete(collection, [])

        assert stored_numbers(store) == [1]


class TestRetrieve:
    def test_returns_existing_points_without_vectors(self, store, collection):
        store.upsert(collection, [make_point(1, year=2020)])

        found = store.retrieve(collection, [point_id(1), point_id(2)])

        assert list(found) == [point_id(1)]
        assert found[point_id(1)].payload == {"year": 2020}
        assert found[point_id(1)].dense is None
        assert store.retrieve(collection, []) == {}


class TestScroll:
    def test_yields_each_point_once_by_ascending_id(self, store, collection):
        rng = np.random.default_rng(7)
        ids = [uuid.UUID(bytes=rng.bytes(16)) for _ in range(57)]
        store.upsert(
            collection,
            [Point(each, vector(1, 0, 0, 0), None, {"year": i}) for i, each in enumerate(ids)],
        )

        batches = list(store.scroll(collection, batch=10))

        assert [point.id for batch in batches for point in batch] == sorted(ids)
        assert {len(batch) for batch in batches[:-1]} == {10}
        assert all(point.payload and point.dense is None for batch in batches for point in batch)

    def test_ends_after_a_full_last_batch(self, store, collection):
        store.upsert(collection, [make_point(number) for number in range(1, 21)])

        assert [len(batch) for batch in store.scroll(collection, batch=10)] == [10, 10]

    def test_starts_after_an_id_that_may_not_exist(self, store, collection):
        store.upsert(collection, [make_point(number) for number in range(2, 42, 2)])
        ids = sorted(point_id(number) for number in range(2, 42, 2))
        between = point_id(11)

        found = {
            after: [p.id for page in store.scroll(collection, after=after, batch=7) for p in page]
            for after in (ids[4], between, ids[-1])
        }

        assert found == {ids[4]: ids[5:], between: ids[5:], ids[-1]: []}

    def test_leaves_out_payloads_on_request(self, store, collection):
        store.upsert(collection, [make_point(1, venue="ACL")])

        [[point]] = store.scroll(collection, with_payload=False)

        assert point.payload == {}


class TestCountRoughly:
    def test_is_near_the_number_of_points(self, store, collection, absent):
        store.upsert(collection, [make_point(number) for number in range(1, 21)])
        store.delete(collection, [point_id(1)])

        assert store.count_roughly(collection) == pytest.approx(19, abs=1)
        assert store.count_roughly(absent) == 0


class TestFacet:
    @pytest.fixture
    def collection(self, collection, store):
        venues = ["ACL", ["ACL", "TACL"], "EMNLP", ["TACL", "ACL"], "coling", None]
        store.upsert(
            collection, [make_point(number, venue=each) for number, each in enumerate(venues, 1)]
        )
        return collection

    def test_counts_the_points_that_hold_each_value_most_first(self, store, collection):
        counts = store.facet(collection, "venue", limit=10)

        assert list(counts.items()) == [("ACL", 3), ("TACL", 2), ("EMNLP", 1), ("coling", 1)]

    def test_counts_integers_and_booleans(self, store, collection):
        store.upsert(collection, [make_point(1, year=2019, peer_reviewed=True)])

        assert store.facet(collection, "year", limit=10) == {"2019": 1}
        assert store.facet(collection, "peer_reviewed", limit=10) == {"True": 1}

    def test_returns_the_most_frequent_values_up_to_the_limit(self, store, collection):
        assert store.facet(collection, "venue", limit=2) == {"ACL": 3, "TACL": 2}
        assert store.facet(collection, "venue", limit=0) == {}

    def test_counts_ids(self, store, collection):
        ids = [str(point_id(number)) for number in (1, 2)]
        points = [make_point(number, artifact_id=ids[number % 3 != 0]) for number in (1, 2, 3)]
        store.upsert(collection, points)

        assert store.facet(collection, "artifact_id", limit=10) == {ids[1]: 2, ids[0]: 1}
        assert store.count(collection, Match("artifact_id", [ids[0]])) == 1
        assert store.count(collection, Match("artifact_id", [ids[1], "no id"])) == 2

    def test_counts_points_after_changes(self, store, collection):
        store.delete(collection, [point_id(3)])
        store.upsert(collection, [make_point(1, venue="LREC")])

        assert store.facet(collection, "venue", limit=10) == {
            "ACL": 2, "TACL": 2, "LREC": 1, "coling": 1,
        }  # fmt: skip

    def test_counts_only_the_points_that_match(self, store, collection):
        counts = store.facet(collection, "venue", limit=10, filter=Match("venue", ["ACL"]))

        assert counts["ACL"] == store.count(collection, Match("venue", ["ACL"]))
        assert sum(counts.values()) < sum(store.facet(collection, "venue", limit=10).values())

    def test_returns_more_values_than_a_page_of_hits(self, store, collection):
        many = [make_point(number, venue=f"v{number}") for number in range(7, 1_507)]
        store.upsert(collection, many)

        assert len(store.facet(collection, "venue", limit=10_000)) == 1_504


FILTERS = {
    "keyword": (Match("venue", ["ACL"]), {1, 3}),
    "any of keywords": (Match("venue", ["ACL", "EMNLP"]), {1, 2, 3}),
    "no keyword": (Match("venue", []), set()),
    "unknown keyword": (Match("venue", ["acl"]), set()),
    "integer": (Match("year", [2020]), {2}),
    "any of integers": (Match("year", [2019, 2020]), {1, 2}),
    "float": (Match("weight", [0.5]), {1}),
    "any of floats": (Match("weight", [0.5, 2.5]), {1, 3}),
    "true": (Match("peer_reviewed", [True]), {1, 3}),
    "false": (Match("peer_reviewed", [False]), {2}),
    "either bool": (Match("peer_reviewed", [True, False]), {1, 2, 3}),
    "bool is no integer": (Match("peer_reviewed", [1]), set()),
    "text": (MatchText("title", "retrieval"), {1, 2}),
    "all words of a text": (MatchText("title", "models RETRIEVAL"), {1}),
    "a word that is missing": (MatchText("title", "retrieval absent"), set()),
    "part of a word": (MatchText("title", "retriev"), set()),
    "no word": (MatchText("title", ""), set()),
    "integers from": (Range("year", gte=2020), {2, 3}),
    "integers above": (Range("year", gt=2020), {3}),
    "integers below": (Range("year", lt=2021), {1, 2}),
    "integers between": (Range("year", gte=2020, lte=2020), {2}),
    "floats between": (Range("weight", gt=0.5, lte=2.5), {2, 3}),
    "dates from": (Range("published", gte="2020-06-01T00:00:00Z"), {2, 3}),
    "days": (Range("published", gte="2019-01-01", lt="2020-01-01"), {1}),
    "other time zones": (Range("published", gt="2020-06-01T02:00:00+02:00"), {3}),
    "not": (Not(Match("venue", ["ACL"])), {2, 4}),
    "all of": (AllOf([Match("venue", ["ACL"]), Match("year", [2021])]), {3}),
    "any of": (AnyOf([Match("year", [2019]), Match("year", [2020])]), {1, 2}),
    "all of nothing": (AllOf([]), {1, 2, 3, 4}),
    "any of nothing": (AnyOf([]), set()),
    "not any of nothing": (Not(AnyOf([])), {1, 2, 3, 4}),
    "not all of nothing": (Not(AllOf([])), set()),
    "nested": (
        AllOf(
            [
                AnyOf([Match("venue", ["EMNLP"]), Range("year", gte=2021)]),
                Not(Match("year", [2020])),
            ]
        ),
        {3},
    ),
    "nothing beside something": (AnyOf([AnyOf([]), Match("year", [2019])]), {1}),
    "any of many keywords": (Match("venue", ["ACL", *"abcdefgh"]), {1, 3}),
    "field nobody has": (Match("nobody", ["x"]), set()),
    "empty list": (Empty("venue"), {4}),
    "null": (Empty("year"), {4}),
    "no date": (Empty("published"), {4}),
    "no text": (AnyOf([Empty("title"), Match("title", [""])]), {4}),
    "any float": (Not(Empty("weight")), {1, 2, 3}),
    "neither bool": (Empty("peer_reviewed"), {4}),
    "a day": (Range("published", gte="2019-07-28", lte="2019-07-28T23:59:59.999999Z"), {1}),
}  # fmt: skip


class TestFilters:
    @pytest.fixture
    def collection(self, collection, store):
        store.upsert(
            collection,
            [
                make_point(
                    1, (1, 0, 0, 0), {1: 1.0}, venue="ACL", year=2019, weight=0.5,
                    peer_reviewed=True, published="2019-07-28T10:00:00Z",
                    title="Retrieval for language models",
                ),
                make_point(
                    2, (1, 1, 0, 0), {1: 1.0}, venue=["EMNLP", "NAACL"], year=2020, weight=1.5,
                    peer_reviewed=False, published="2020-06-01T00:00:00Z",
                    title="Dense-Retrieval, revisited",
                ),
                make_point(
                    3, (1, 2, 0, 0), {1: 1.0}, venue=["ACL", "TACL"], year=[2021, 2022], weight=2.5,
                    peer_reviewed=True, published="2021-01-01T00:00:00.5Z", title="Parsing",
                ),
                make_point(4, (1, 3, 0, 0), {1: 1.0}, venue=[], year=None),
            ],
        )  # fmt: skip
        return collection

    @pytest.mark.parametrize(("filter", "expected"), FILTERS.values(), ids=FILTERS)
    def test_apply_to_counts_and_searches(self, store, collection, filter, expected):
        dense, sparse = vector(1, 0, 0, 0), SparseVector([1], [1.0])

        assert store.count(collection, filter) == len(expected)
        for query in (
            Query(dense=dense, filter=filter),
            Query(sparse=sparse, filter=filter),
            Query(dense=dense, sparse=sparse, fusion=RankFusion(), filter=filter),
        ):
            assert set(numbers(store.search(collection, query))) == expected

    def test_are_applied_before_candidates_are_selected(self, store, collection):
        fusion = RankFusion(prefetch=1)  # unfiltered, the one candidate would be point 1
        query = Query(
            dense=vector(1, 0, 0, 0),
            sparse=SparseVector([1], [1.0]),
            fusion=fusion,
            filter=Match("venue", ["NAACL"]),
        )

        assert numbers(store.search(collection, query)) == [2]

    def test_find_words_in_texts_without_spaces(self, store, collection, request):
        if request.node.callspec.params["store"] in LOCAL_MODE:
            pytest.skip("the client's local mode has no text index and splits at spaces only")
        store.upsert(
            collection, [make_point(5, title="东京是日本的首都"), make_point(6, title="大阪")]
        )

        assert store.count(collection, MatchText("title", "东京")) == 1
        assert store.count(collection, MatchText("title", "首都 日本")) == 1
        assert store.count(collection, MatchText("title", "东京 大阪")) == 0


class TestSearch:
    def test_ranks_by_cosine(self, store, collection):
        store.upsert(
            collection,
            [make_point(1, (0, 5, 0, 0)), make_point(2, (3, 4, 0, 0)), make_point(3, (9, 0, 0, 0))],
        )

        hits = store.search(collection, Query(dense=vector(2, 0, 0, 0)))

        assert numbers(hits) == [3, 2, 1]
        assert [hit.score for hit in hits] == pytest.approx([1, 0.6, 0], abs=1e-6)

    def test_weighs_terms_by_their_rarity(self, store, collection):
        store.upsert(
            collection,
            [make_point(3, sparse={1: 1.0}), make_point(6, sparse={1: 1.0, 2: 1.0}),
             make_point(9, sparse={1: 1.0})],
        )  # fmt: skip

        hits = store.search(collection, Query(sparse=SparseVector([1, 2], [1.0, 1.0])))

        # ln((N - n + 0.5) / (n + 0.5) + 1) for a term in n of N points
        common, rare = np.log(0.5 / 3.5 + 1), np.log(2.5 / 1.5 + 1)
        assert numbers(hits) == [6, 3, 9]
        assert [hit.score for hit in hits] == pytest.approx([common + rare, common, common])

    def test_weighs_terms_without_deleted_points(self, store, collection):
        gone = [make_point(number, sparse={1: 1.0}) for number in range(100, 300)]
        store.upsert(collection, [make_point(1, sparse={1: 1.0}), make_point(2), *gone])
        store.delete(collection, [point.id for point in gone])

        def has_forgotten() -> bool:
            [hit] = store.search(collection, Query(sparse=SparseVector([1], [1.0])))
            expected = pytest.approx(np.log(0.5 / 1.5 + 1))  # of the 1 point with terms
            return bool(hit.score == expected)

        # A server forgets deleted points when it vacuums the segment, which took it 5 s.
        deadline = time.monotonic() + 60
        while not has_forgotten():
            assert time.monotonic() < deadline
            time.sleep(0.5)

    def test_weighs_terms_by_the_points_of_a_corpus(self, store, collection):
        """Its points are those of one shard, and the others change no digit of a score."""
        corpus, terms = Match("venue", ["acl"]), SparseVector([1, 2], [1.0, 1.0])
        store.upsert(
            collection,
            [make_point(3, sparse={1: 1.0}, venue="acl"),
             make_point(6, sparse={1: 1.0, 2: 1.0}, venue="acl"),
             make_point(12, sparse={2: 1.0}, venue="other")],
        )  # fmt: skip
        query = Query(sparse=terms, filter=corpus, corpus=corpus)
        fused = replace(query, dense=vector(1, 0, 0, 0), fusion=RankFusion())

        before = [store.search(collection, each) for each in (query, fused)]
        others = [make_point(number, sparse={1: 1.0}, venue="other") for number in range(100, 300)]
        store.upsert(collection, others)
        between = [store.search(collection, each) for each in (query, fused)]
        store.delete(collection, [point.id for point in others])
        after = [store.search(collection, each) for each in (query, fused)]

        common, rare = np.log(0.5 / 2.5 + 1), np.log(1.5 / 1.5 + 1)
        assert [hit.score for hit in before[0]] == pytest.approx([common + rare, common])
        assert before == between == after

    def test_ranks_both_vectors_by_the_points_of_a_corpus(self, store, collection):
        """Term 1 is rare among all points and frequent in the corpus, term 2 the reverse."""
        store.upsert(
            collection,
            [make_point(3, sparse={1: 1.5}, venue="acl")]
            + [make_point(6, sparse={2: 1.0}, venue="acl")]
            + [make_point(number, sparse={1: 1.0}, venue="acl") for number in (12, 21, 24, 27)]
            + [make_point(number, sparse={2: 1.0}) for number in range(100, 200)],
        )  # fmt: skip
        query = Query(
            sparse=SparseVector([1, 2], [1.0, 1.0]),
            fusion=RankFusion(),
            filter=Match("venue", ["acl"]),
            limit=1,
        )

        assert numbers(store.search(collection, query)) == [3]
        query = replace(query, corpus=query.filter)
        assert numbers(store.search(collection, query)) == [6]

    def test_leaves_out_points_that_share_no_term(self, store, collection):
        store.upsert(collection, [make_point(1, sparse={1: 1.0}), make_point(2, sparse={2: 1.0})])

        assert numbers(store.search(collection, Query(sparse=SparseVector([2], [1.0])))) == [2]

    def test_finds_nothing_without_terms(self, store, collection):
        store.upsert(collection, [make_point(1, sparse={1: 1.0})])

        assert store.search(collection, Query(sparse=SparseVector([], []))) == []

    def test_finds_nothing_without_vectors_or_with_limit_zero(self, store, collection):
        store.upsert(collection, [make_point(1)])

        assert store.search(collection, Query()) == []
        assert store.search(collection, Query(dense=vector(1, 0, 0, 0), limit=0)) == []

    def test_refuses_two_vectors_without_a_fusion(self, store, collection):
        with pytest.raises(ValueError, match="fusion"):
            store.search(
                collection, Query(dense=vector(1, 0, 0, 0), sparse=SparseVector([1], [1.0]))
            )

    def test_breaks_ties_by_id(self, store, collection):
        store.upsert(collection, [make_point(n, sparse={1: 1.0}) for n in ONE_SHARD])

        for query in (Query(dense=vector(1, 0, 0, 0)), Query(sparse=SparseVector([1], [1.0]))):
            assert numbers(store.search(collection, query)) == sorted(ONE_SHARD)

    def test_pages_without_gaps_or_repeats(self, store, collection):
        store.upsert(
            collection, [make_point(n, (1, n % 4, 0, 0), {1: 1.0 + n % 3}) for n in range(1, 31)]
        )
        whole = Query(
            dense=vector(1, 0, 0, 0), sparse=SparseVector([1], [1.0]), fusion=RankFusion(), limit=30
        )
        for query in (whole, Query(dense=whole.dense, limit=30)):
            pages = [
                store.search(collection, replace(query, limit=7, offset=start))
                for start in range(0, 35, 7)
            ]
            expected = store.search(collection, query)
            assert numbers(hit for page in pages for hit in page) == numbers(expected)
            assert len(expected) == 30

    @pytest.mark.parametrize(
        ("asked", "expected"), [(False, {}), (["year", "weight"], {"year": 2019})]
    )
    def test_leaves_out_payloads_on_request(self, store, collection, asked, expected):
        store.upsert(collection, [make_point(1, venue="ACL", year=2019)])

        [hit] = store.search(collection, Query(dense=vector(1, 0, 0, 0), with_payload=asked))

        assert hit.payload == expected

    def test_returns_the_terms_of_points_on_request(self, store, collection):
        store.upsert(collection, [make_point(1, sparse={3: 1.0, 7: 0.5})])
        query = Query(sparse=SparseVector([7], [1.0]))

        [hit] = store.search(collection, replace(query, with_terms=True))
        [other] = store.search(collection, query)

        assert (sorted(hit.terms), list(other.terms)) == ([3, 7], [])

    def test_leaves_out_hits_below_the_minimum_score(self, store, collection):
        store.upsert(collection, [make_point(1, (1, 0, 0, 0)), make_point(2, (0, 1, 0, 0))])

        assert numbers(
            store.search(collection, Query(dense=vector(1, 0, 0, 0), min_score=0.5))
        ) == [1]


class TestSearchMany:
    DENSE, SPARSE = vector(1, 0, 0, 0), SparseVector([1], [1.0])

    @pytest.fixture
    def second(self, store, absent):
        store.ensure_collection(absent, SCHEMA)
        store.upsert(absent, [make_point(n, (n, 1, 0, 0), {1: 1.0 + n}) for n in range(21, 30)])
        return absent

    def test_returns_the_result_of_each_search_in_order(self, store, collection, second):
        store.upsert(collection, [make_point(n, (n, 1, 0, 0), {1: 1.0 + n}) for n in range(1, 10)])
        requests = [
            (collection, Query(self.DENSE, self.SPARSE, RankFusion(), limit=3)),
            (second, Query(dense=self.DENSE, limit=4, offset=2)),
            (collection, Query(sparse=self.SPARSE, filter=Match("venue", ["ACL"]))),
            (second, Query(self.DENSE, self.SPARSE, RankFusion(), min_score=2 / 61 - 1e-6)),
        ]

        answers = store.search_many(requests)

        assert answers == [store.search(*request) for request in requests]
        assert [len(answer) for answer in answers] == [3, 4, 0, 1]

    def test_finds_nothing_in_a_collection_that_is_missing(self, store, collection, absent):
        store.upsert(collection, [make_point(1)])
        query = Query(dense=self.DENSE)

        found, nothing = store.search_many([(collection, query), (absent, query)])

        assert numbers(found) == [1]
        assert nothing == []

    def test_returns_no_results_for_no_searches(self, store):
        assert store.search_many([]) == []

    def test_raises_the_error_of_one_search(self, store, collection):
        fine, wrong = Query(dense=self.DENSE), Query(self.DENSE, self.SPARSE)

        with pytest.raises(ValueError, match="fusion"):
            store.search_many([(collection, fine), (collection, wrong)])

    def test_serves_many_threads_at_once(self, store, collection):
        store.upsert(collection, [make_point(n, (n, 1, 0, 0)) for n in range(1, 10)])
        requests = [(collection, Query(dense=self.DENSE, limit=n)) for n in (1, 2, 3)]

        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda _: store.search_many(requests), range(40)))

        assert all([len(found) for found in answer] == [1, 2, 3] for answer in answers)


class TestHybridSearch:
    """Dense ranks 1, 2, 3, 4, 5; sparse ranks 5, 3, 6."""

    DENSE, SPARSE = vector(1, 0, 0, 0), SparseVector([1], [1.0])
    DENSE_RANKS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 5}
    SPARSE_RANKS = {5: 1, 3: 2, 6: 3}

    @pytest.fixture
    def collection(self, collection, store):
        store.upsert(
            collection,
            [
                make_point(number, (10, number, 0, 0), sparse)
                for number, sparse in (
                    (1, None),
                    (2, None),
                    (3, {1: 2.0}),
                    (4, None),
                    (5, {1: 3.0}),
                )
            ]
            + [make_point(6, dense=None, sparse={1: 1.0})],
        )
        return collection

    @pytest.mark.parametrize("k", [60, 2, 1])
    def test_scores_by_reciprocal_rank(self, store, collection, k):
        query = Query(dense=self.DENSE, sparse=self.SPARSE, fusion=RankFusion(k))

        hits = store.search(collection, query)

        scores = {
            number: sum(
                1 / (k + ranks[number])
                for ranks in (self.DENSE_RANKS, self.SPARSE_RANKS)
                if number in ranks
            )
            for number in self.DENSE_RANKS | self.SPARSE_RANKS
        }
        ranked = sorted(scores, key=lambda number: (-scores[number], number))
        assert [(hit.id.int, hit.score) for hit in hits] == [
            (number, pytest.approx(scores[number])) for number in ranked
        ]

    @pytest.mark.parametrize("prefetch", [2, 4, 100])
    def test_returns_the_ids_and_scores_of_a_fusion_of_both_rankings(
        self, store, collection, prefetch
    ):
        engine = Query(self.DENSE, self.SPARSE, RankFusion(7, prefetch))
        alone = {"limit": prefetch, "with_payload": False}

        fused_hits, dense, sparse = store.search_many(
            [
                (collection, engine),
                (collection, Query(dense=self.DENSE, **alone)),
                (collection, Query(sparse=self.SPARSE, **alone)),
            ]
        )

        dense, sparse = ([(hit.id.int, hit.score) for hit in each] for each in (dense, sparse))
        fusion = HybridFusion(k=7, prefetch=prefetch)
        ranking = fuse_collections([CollectionRankings(list(dense), list(sparse))], fusion)
        assert [(hit.id.int, hit.score) for hit in fused_hits] == [
            (id, pytest.approx(score)) for id, score in ranking.fused
        ]

    def test_fuses_only_the_requested_candidates_of_each_ranking(self, store, collection):
        fusion = RankFusion(prefetch=1)

        hits = store.search(collection, Query(self.DENSE, self.SPARSE, fusion))

        assert numbers(hits) == [1, 5]

    def test_leaves_out_hits_below_the_minimum_score(self, store, collection):
        query = Query(self.DENSE, self.SPARSE, RankFusion(), min_score=1 / 61 - 1e-6)

        assert numbers(store.search(collection, query)) == [3, 5, 1]

    def test_is_a_dense_search_if_the_query_has_no_terms(self, store, collection):
        for sparse in (None, SparseVector([], [])):
            hits = store.search(collection, Query(self.DENSE, sparse, RankFusion()))

            assert numbers(hits) == [1, 2, 3, 4, 5]
            assert hits[0].score == pytest.approx(1 / 61)

    def test_returns_the_same_hits_every_time(self, store, collection):
        # Each point has a dense and a sparse rank, so that pairs of points have equal scores.
        store.upsert(
            collection,
            [make_point(n, (1, n, 0, 0), {2: 1.0 + n}) for n in range(10, 50)],
        )
        query = Query(self.DENSE, SparseVector([2], [1.0]), RankFusion(), limit=15)

        answers = [store.search(collection, query) for _ in range(10)]

        assert len({tuple(numbers(answer)) for answer in answers}) == 1
        for better, worse in pairwise(answers[0]):
            assert (-better.score, better.id) < (-worse.score, worse.id)


class TestThreads:
    def test_can_write_and_search_at_once(self, store, collection):
        def write(start):
            for number in range(start, start + 40, 4):
                points = [make_point(n, (1, n, 0, 0), {1: 1.0}) for n in range(number, number + 4)]
                store.upsert(collection, points)
                assert set(store.retrieve(collection, [p.id for p in points])) == {
                    p.id for p in points
                }
            return 0

        def read(_):
            for _ in range(20):
                query = Query(vector(1, 0, 0, 0), SparseVector([1], [1.0]), RankFusion(), limit=5)
                hits = store.search(collection, query)
                assert len(hits) <= 5
            return 0

        with ThreadPoolExecutor(6) as threads:
            jobs = [threads.submit(write, start) for start in (1, 1_001, 2_001)]
            jobs += [threads.submit(read, None) for _ in range(3)]
            for job in jobs:
                job.result(timeout=60)

        assert store.count(collection) == 120

    def test_can_ensure_one_collection_at_once(self, store, absent):
        with ThreadPoolExecutor(4) as threads:
            schema = CollectionSchema(4, {"year": "integer"})
            list(threads.map(lambda _: store.ensure_collection(absent, schema), range(4)))

        assert store.has_collection(absent)


class TestAvailability:
    def test_answers_a_ping(self, store):
        store.ping()
