import pytest

from access.grants import EVERYTHING, NOTHING, Grant, Scope, UserRights, unite

RED = frozenset({"red"})
HANDBOOK = frozenset({"handbook"})


class TestUnite:
    def test_adds_indexes_and_groups(self):
        both = unite([Grant(HANDBOOK, RED), Grant(frozenset({"minutes"}), frozenset({"blue"}))])

        assert both == Grant(frozenset({"handbook", "minutes"}), frozenset({"red", "blue"}))

    def test_keeps_the_restriction_to_groups_of_documents(self):
        canteen = Grant(frozenset({"canteen"}))

        for grants in ([Grant(HANDBOOK, RED), canteen], [canteen, Grant(HANDBOOK, RED)]):
            assert unite(grants) == Grant(frozenset({"canteen", "handbook"}), RED)

    @pytest.mark.parametrize("widest", [EVERYTHING, Grant(HANDBOOK), Grant(HANDBOOK, RED | {"a"})])
    def test_drops_a_grant_that_another_covers(self, widest):
        assert unite([Grant(HANDBOOK, RED), widest]) == widest
        assert unite([widest, Grant(HANDBOOK, RED)]) == widest

    def test_returns_nothing_for_no_grants(self):
        assert unite([]) == NOTHING
        assert unite([NOTHING, Grant(HANDBOOK, RED)]) == Grant(HANDBOOK, RED)


class TestUserRights:
    RIGHTS = UserRights(((Scope.WRITE, Grant(HANDBOOK, RED)), (Scope.SEARCH, Grant())))

    def test_have_the_widest_scope_of_their_groups(self):
        assert self.RIGHTS.scope == Scope.WRITE
        assert UserRights(()).scope is None

    def test_count_a_group_only_for_what_its_scope_includes(self):
        assert self.RIGHTS.grant_for(Scope.SEARCH) == EVERYTHING
        assert self.RIGHTS.grant_for(Scope.WRITE) == Grant(HANDBOOK, RED)
        assert self.RIGHTS.grant_for(Scope.MANAGE) == NOTHING
