"""The preset for financial reports: a ratio finds the lines from which it is computed."""

from itertools import chain

import pytest

from indexing.spec.loaded import get_specs
from retrieval.retrievers import ChunkRetriever
from retrieval.search.query_vectors import add_synonyms
from tests.factories import give, load_index, sync

pytestmark = pytest.mark.django_db

BALANCE = (
    "| | 2031 | 2030 |\n| --- | --- | --- |\n| Inventories | 41 | 38 |\n"
    "| Total current assets | 212 | 190 |\n| Total current liabilities | 120 | 131 |\n"
)
FERRIES = "Quick crossings: the ratio of ferries on time rose again at Fjordline in 2031."


@pytest.fixture
def groups():
    return get_specs()["filings"].search.synonyms


class TestSynonyms:
    def test_let_a_ratio_find_its_lines(self, embedder):
        build = load_index("filings")
        sync(build, give(FERRIES, index="filings"), give(BALANCE, index="filings"))

        found = ChunkRetriever("filings", mode="sparse").search("Fjordline's acid test in 2031")

        assert "Total current assets" in found.hits[0].payload["text"]

    @pytest.mark.parametrize("query", ["inventories in 2031", "total current assets", "net sales"])
    def test_leave_a_query_for_one_of_the_lines_as_it_is(self, groups, query):
        assert add_synonyms(query, groups) == query

    def test_name_each_ratio_once(self, groups):
        names = [name.casefold() for name in chain.from_iterable(groups)]

        assert len(names) == len(set(names))
