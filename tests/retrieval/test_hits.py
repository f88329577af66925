from indexing.kinds import KINDS
from retrieval.all_searches import SEARCHES
from retrieval.hits import get_hit_check, get_hit_renderer


class TestHitsOfKinds:
    def test_can_all_be_checked_and_rendered(self):
        for kind in KINDS:
            assert callable(get_hit_check(kind))
            assert callable(get_hit_renderer(kind))

    def test_are_found_by_searches_of_the_table(self):
        assert {kind.search for kind in KINDS.values()} <= SEARCHES.keys()
