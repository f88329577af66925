import pytest

from documents.checks import check_documents


class TestLimits:
    def test_accepts_the_defaults(self):
        assert check_documents(None) == []

    def test_refuses_a_limit_of_zero(self, settings):
        settings.STRATA_MAX_DOCUMENT_NODES = 0

        assert [error.id for error in check_documents(None)] == ["documents.E001"]


class TestFetchHosts:
    @pytest.mark.parametrize(
        "entry", ["docs.example", "*.docs.example:8443", "*", "[2001:db8::1]:80", "127.0.0.1"]
    )
    def test_accepts_a_host(self, settings, entry):
        settings.STRATA_FETCH_HOSTS = [entry]

        assert check_documents(None) == []

    @pytest.mark.parametrize(
        "entry",
        ["docs.example:port", "docs.example:0", "docs.example:70000", "https://docs.example",
         "docs.example/a", "::1", ":80", "a@docs.example", "[docs"],
    )  # fmt: skip
    def test_refuses_what_is_none(self, settings, entry):
        settings.STRATA_FETCH_HOSTS = [entry]

        assert [error.id for error in check_documents(None)] == ["documents.E008"]


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


class TestReaders:
    @pytest.mark.parametrize(
        "readers",
        [
            {},
            {"pdf": "docling-serve", "docx": "docling-serve@2"},
            {"7z": "pytest:Thing", "c++": "tests.documents.test_checks:TestReaders.Nested"},
        ],
    )
    def test_accepts_names_and_classes(self, settings, readers):
        settings.STRATA_READERS = readers
        settings.STRATA_DOCLING_SERVE_URL = "http://docling:5001"

        assert check_documents(None) == []

    @pytest.mark.parametrize(
        ("ending", "reader"),
        [
            ("PDF", "docling-serve"), (".pdf", "docling-serve"), ("tar.gz", "docling-serve"),
            ("", "docling-serve"), ("pdf", ""), ("pdf", "docling_serve"), ("pdf", "pytest"),
            ("pdf", "pytest:"), ("pdf", "some path:Thing"),
        ],
    )  # fmt: skip
    def test_refuses_what_is_no_ending_or_no_reader(self, settings, ending, reader):
        settings.STRATA_READERS = {ending: reader}
        settings.STRATA_DOCLING_SERVE_URL = "http://docling:5001"

        [error] = check_documents(None)

        assert error.id == "documents.E005"
        assert f"{ending}={reader}" in error.msg

    def test_refuses_docling_serve_without_an_address(self, settings):
        settings.STRATA_READERS = {"pdf": "docling-serve"}

        assert [error.id for error in check_documents(None)] == ["documents.E006"]

    @pytest.mark.parametrize("reader", ["docling", "unstructured", "no_such.package:Reader"])
    def test_refuses_a_package_that_is_not_installed(self, settings, reader):
        settings.STRATA_READERS = {"pdf": reader}

        assert [error.id for error in check_documents(None)] == ["documents.E007"]
