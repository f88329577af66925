"""The contract of all retrievers where each test needs an index of its own."""

import asyncio
import threading

import pytest

from retrieval.search import targets
from tests.contracts.test_retrievers import RETRIEVERS, fill
from tests.written import ALL_KINDS, make_build


@pytest.fixture
def build(db, store, embedder):
    return make_build("full", **ALL_KINDS)


class TestEveryRetriever:
    @pytest.mark.parametrize("retriever", RETRIEVERS.values(), ids=list(RETRIEVERS))
    def test_finds_nothing_in_an_empty_index(self, build, retriever):
        assert retriever.make(build).retrieve("granite") == []

    @pytest.mark.django_db(transaction=True)
    def test_keeps_the_event_loop_free(self, build, monkeypatch, subtests):
        fill(build)
        is_loop_free = threading.Event()
        real = targets.parse_filter

        def wait_for_the_loop(*args):
            assert is_loop_free.wait(timeout=10)
            return real(*args)

        monkeypatch.setattr(targets, "parse_filter", wait_for_the_loop)

        async def retrieve_beside_others(retriever):
            retrieving = asyncio.ensure_future(retriever.aretrieve("granite crystals"))
            await asyncio.sleep(0.01)
            is_loop_free.set()
            return await retrieving

        for name, retriever in RETRIEVERS.items():
            is_loop_free.clear()
            with subtests.test(retriever=name):
                assert asyncio.run(retrieve_beside_others(retriever.make(build)))
