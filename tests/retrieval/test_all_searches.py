"""The table of searches, and the parameters and arguments that must agree with it."""

import inspect

import pytest

from access.grants import EVERYTHING, Grant
from core.exceptions import UnknownIndex
from retrieval.all_searches import SEARCHES, load_retriever, run_search
from retrieval.retrievers import IndexRetriever
from retrieval.search import SearchOptions
from tests.factories import PARAGRAPHS, give, sync
from tests.written import ALL_KINDS, make_build, write_all


class TestTheTable:
    @pytest.mark.parametrize("name", SEARCHES)
    def test_names_a_retriever_that_takes_the_parameters(self, name):
        retriever = load_retriever(name)
        assert issubclass(retriever, IndexRetriever)
        taken = {
            parameter
            for each in retriever.__mro__
            for parameter in inspect.signature(each.__init__).parameters
        }

        fields = SEARCHES[name].parameters().fields.values()

        # ``query`` goes to the search method; q, collection and structure have other names there.
        given = {field.source for field in fields} - {"query", "q", "collection", "structure"}
        assert given <= taken | set(SearchOptions.__dataclass_fields__)


@pytest.fixture
def written(db, store):
    """Two documents in an index of all kinds, and an index without any."""
    make_build("empty", **ALL_KINDS)
    build = make_build("full", **ALL_KINDS)
    for title, text in (("Notes", PARAGRAPHS[1]), ("Others", PARAGRAPHS[0])):
        write_all(build, give(text, index="full", title=title))


class TestRunSearch:
    def test_returns_the_answer_of_the_api(self, build):
        sync(build, give("Granite cools slowly under the ground."))

        response = run_search("pages", {"index": "plain", "q": "granite", "limit": 1}, EVERYTHING)

        [hit] = response.content["hits"]
        assert hit["text"] == "Granite cools slowly under the ground."

    def test_gives_the_cosine_of_hits_by_question(self, written):
        asked = {"index": "full", "query": "granite crystals"}

        [first, *_] = run_search("questions", asked, EVERYTHING).content["hits"]
        by_words = run_search("questions", {**asked, "mode": "sparse"}, EVERYTHING).content["hits"]

        assert 0 < first["similarity"] <= 1
        assert [hit["similarity"] for hit in by_words] == [None] * len(by_words)

    def test_returns_five_documents_of_a_hierarchical_search_by_default(self, db, store):
        build = make_build("full", **ALL_KINDS)
        write_all(build, *(give(f"Granite {n}.", index="full", title=f"{n}") for n in range(6)))

        answer = run_search("hierarchical", {"index": "full", "query": "granite"}, EVERYTHING)

        assert len(answer.content["artifacts"]) == 5

    @pytest.mark.parametrize("name", ["pages", "hierarchical", "concepts", "sources", "images"])
    def test_hides_indexes_outside_the_grant(self, build, name):
        grant = Grant(indexes=frozenset({"other"}))

        with pytest.raises(UnknownIndex) as refused:
            run_search(name, {"index": "plain", "query": "granite"}, grant)

        assert refused.value.detail == "There is no index named 'plain'."
        assert refused.value.allowed == []
