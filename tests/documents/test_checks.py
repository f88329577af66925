import pytest

from documents.checks import check_source_overlap


class TestCheckSourceOverlap:
    @pytest.mark.parametrize("words", [-1, 251])
    def test_refuses_more_than_half_of_the_shortest_source(self, settings, words):
        settings.STRATA_SOURCE_OVERLAP_WORDS = words

        assert [error.id for error in check_source_overlap()] == ["documents.E001"]

    @pytest.mark.parametrize("words", [0, 250])
    def test_accepts_what_lies_between(self, settings, words):
        settings.STRATA_SOURCE_OVERLAP_WORDS = words

        assert check_source_overlap() == []
