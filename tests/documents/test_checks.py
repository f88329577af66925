import pytest

from documents.checks import check_document_limits, check_virus_scanner


class TestCheckDocumentLimits:
    def test_takes_the_defaults(self):
        assert check_document_limits(None) == []

    def test_refuses_a_limit_that_no_document_meets(self, settings):
        settings.STRATA_MAX_DOCUMENT_NODES = 0

        assert [error.id for error in check_document_limits(None)] == ["documents.E001"]


class TestCheckVirusScanner:
    @pytest.mark.parametrize("address", ["", "127.0.0.1:3310", "[::1]:3310", "/run/clamd.ctl"])
    def test_takes_an_address_or_none(self, settings, address):
        settings.STRATA_CLAMD = address

        assert check_virus_scanner(None) == []

    @pytest.mark.parametrize("address", ["clamd", "clamd:", ":3310", "clamd:port", "run/clamd.ctl"])
    def test_refuses_what_is_no_address(self, settings, address):
        settings.STRATA_CLAMD = address

        assert [error.id for error in check_virus_scanner(None)] == ["documents.E002"]
