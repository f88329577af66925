"""A document is edited and indexed after a search read the store and before it reads the ledger."""

import pytest

from access.grants import EVERYTHING
from retrieval.search import (
    SearchOptions,
)
from retrieval.search.hierarchy import search_hierarchical
from tests.factories import give, sync
from tests.retrieval.search.asking import SearchRequest, search_chunks
from tests.written import make_build, write_all


@pytest.fixture
def edited_meanwhile(monkeypatch, store):
    """Calls ``edit`` once, as soon as the store has answered."""

    def arrange(edit):
        search = store.search_many
        edits = [edit]

        def search_and_edit(*asked):
            found = search(*asked)
            if edits:
                edits.pop()()
            return found

        monkeypatch.setattr(store, "search_many", search_and_edit)

    return arrange


class TestSearchChunks:
    def test_returns_the_edited_document(self, build, edited_meanwhile):
        sync(build, give("The heron stood.", external_id="a"))
        edited_meanwhile(lambda: sync(build, give("The heron flew.", external_id="a")))

        answer = search_chunks(SearchRequest(indexes=["plain"], query="heron"))

        assert [hit.payload["text"] for hit in answer.hits] == ["The heron flew."]
        assert answer.dropped.orphans == 0


class TestSearchHierarchical:
    def test_returns_the_edited_document(self, db, store, embedder, edited_meanwhile):
        build = make_build("deck", page_summaries=True)
        write_all(build, give("The heron stood.", index="deck", external_id="a"))

        def edit():
            write_all(build, give("The heron flew.", index="deck", external_id="a"))

        edited_meanwhile(edit)

        answer = search_hierarchical(["deck"], "heron", SearchOptions(), EVERYTHING)

        [artifact] = answer.artifacts
        [page] = artifact.pages
        assert [hit.payload["text"] for hit in page.chunks] == ["The heron flew."]
