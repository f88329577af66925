import pytest

from documents.checks import check_documents


class TestLimits:
    def test_accepts_the_defaults(self):
        assert check_documents(None) == []

    def test_refuses_a_limit_of_zero(self, settings):
        settings.STRATA_MAX_DOCUMENT_NODES = 0

        assert [error.id for error in check_documents(None)] == ["documents.E001"]


class TestVirusScanner:
    @pytest.mark.parametrize("address", ["", "127.0.0.1:3310", "[::1]:3310", "/run/clamd.ctl"])
    def test_accepts_an_address_or_none(self, settings, address):
        settings.STRATA_CLAMD = address

        assert check_documents(None) == []

    @pytest.mark.parametrize("address", ["clamd", "clamd:", ":3310", "clamd:port", "run/clamd.ctl"])
    def test_refuses_an_invalid_address(self, settings, address):
        settings.STRATA_CLAMD = address

        assert [error.id for error in check_documents(None)] == ["documents.E002"]


class TestSourceOverlap:
    @pytest.mark.parametrize("words", [-1, 251])
    def test_refuses_more_than_half_of_the_shortest_source(self, settings, words):
        settings.STRATA_SOURCE_OVERLAP_WORDS = words

        assert [error.id for error in check_documents(None)] == ["documents.E003"]

    @pytest.mark.parametrize("words", [0, 250])
    def test_accepts_up_to_half_of_the_shortest_source(self, settings, words):
        settings.STRATA_SOURCE_OVERLAP_WORDS = words

        assert check_documents(None) == []
