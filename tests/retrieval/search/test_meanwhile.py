"""A document is edited, and indexed, between a search's look into the store and into the ledger."""

import pytest

from retrieval.search import (
    HierarchicalRequest,
    SearchRequest,
    search_chunks,
    search_hierarchical,
)
from tests.factories import give, sync
from tests.written import make_build, write_all


@pytest.fixture
def edited_meanwhile(monkeypatch, store):
    """Has ``edit`` done once, as soon as the store has answered."""

    def arrange(name, edit):
        search = getattr(store, name)
        edits = [edit]

        def search_and_edit(*asked):
            found = search(*asked)
            if edits:
                edits.pop()()
            return found

        monkeypatch.setattr(store, name, search_and_edit)

    return arrange


class TestSearchChunks:
    def test_finds_the_document_as_it_is_then(self, build, edited_meanwhile):
        sync(build, give("The heron stood.", external_id="a"))
        edited_meanwhile("search", lambda: sync(build, give("The heron flew.", external_id="a")))

        answer = search_chunks(SearchRequest(indexes=["plain"], query="heron"))

        assert [hit.payload["text"] for hit in answer.hits] == ["The heron flew."]
        assert answer.dropped.orphans == 0


class TestSearchHierarchical:
    def test_finds_the_document_as_it_is_then(self, db, store, embedder, edited_meanwhile):
        build = make_build("deck", page_summaries=True)
        write_all(build, give("The heron stood.", index="deck", external_id="a"))

        def edit():
            write_all(build, give("The heron flew.", index="deck", external_id="a"))

        edited_meanwhile("search_many", edit)

        answer = search_hierarchical(HierarchicalRequest(indexes=["deck"], query="heron"))

        [artifact] = answer.artifacts
        [page] = artifact.pages
        assert [hit.payload["text"] for hit in page.chunks] == ["The heron flew."]
