from indexing.kinds import KINDS
from retrieval.hits import HIT_KINDS, get_hit_check, get_hit_renderer
from retrieval.search_table import SEARCHES


class TestHitKinds:
    def test_are_the_kinds_of_node(self):
        assert HIT_KINDS.keys() == KINDS.keys()

    def test_can_all_be_checked_and_rendered(self):
        for kind in HIT_KINDS:
            assert callable(get_hit_check(kind))
            assert callable(get_hit_renderer(kind))

    def test_name_searches_of_the_table(self):
        assert {kind.search for kind in HIT_KINDS.values()} <= SEARCHES.keys()
