"""What a request asks for more than once is computed once."""

import pytest

from access.grants import EVERYTHING
from retrieval.all_searches import run_search
from retrieval.request_cache import keep_for_request, once
from retrieval.search import targets
from tests.factories import give
from tests.written import ALL_KINDS, make_build, write_all


@pytest.fixture
def full(db, store, embedder):
    build = make_build("full", **ALL_KINDS)
    write_all(build, give("The heron waits for fish.", title="Heron", index="full"))
    return build


@pytest.fixture
def embedded(embedder, monkeypatch):
    """The queries that are embedded."""
    queries = []
    embed_query, embed_queries = embedder.embed_query, embedder.embed_queries
    monkeypatch.setattr(
        embedder, "embed_query", lambda text: queries.append(text) or embed_query(text)
    )
    monkeypatch.setattr(
        embedder, "embed_queries", lambda texts: queries.extend(texts) or embed_queries(texts)
    )
    return queries


@pytest.fixture
def reads(monkeypatch):
    """The reads of live builds."""
    done = []
    read = targets.read_live_builds
    monkeypatch.setattr(
        targets, "read_live_builds", lambda names, grant: done.append(names) or read(names, grant)
    )
    return done


class TestOnce:
    def test_keeps_nothing_outside_of_a_request(self):
        calls = []

        for _ in range(2):
            once("a", lambda: calls.append(1))

        assert calls == [1, 1]

    def test_keeps_a_result_for_one_request(self):
        calls = []

        for _ in range(2):
            with keep_for_request():
                assert once("a", lambda: len(calls.append(1) or calls)) == len(calls)
                once("a", lambda: calls.append(1))

        assert calls == [1, 1]


class TestRequests:
    def test_a_recursive_search_embeds_its_query_once(self, full, embedded, reads):
        run_search("recursive", {"index": "full", "query": "heron"}, EVERYTHING)

        assert embedded == ["heron"]
        assert len(reads) == 1
