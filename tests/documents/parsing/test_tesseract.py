"""Which languages Tesseract reads, and what must be installed for them."""

import pytest

from documents.parsing import ocr, tesseract
from documents.partial_reading import add_fixes

SCANNED = {"code": "scanned_page", "detail": "Page 1 is a picture; its text was not read."}


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Install RapidOCR or not, Tesseract's library or not, and the weights of these names."""

    def install(*names: str, rapidocr: bool = True, library: bool = True) -> None:
        monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
        monkeypatch.setattr(ocr, "is_installed", lambda: rapidocr)
        monkeypatch.setattr(tesseract, "_has_library", lambda: library)
        for name in names:
            (tmp_path / f"{name}.traineddata").touch()

    return install


class TestListMissing:
    def test_is_empty_where_everything_is_installed(self, installed):
        installed("rus", "eng")

        assert ocr.list_missing(["ru", "en"]) == []

    @pytest.mark.parametrize("languages", [[], ["de", "zh"], ["rm"]])
    def test_names_nothing_of_tesseract_if_rapidocr_reads_the_languages(self, installed, languages):
        installed(library=False)

        assert ocr.list_missing(languages) == []

    def test_names_the_packages_of_all_languages_if_rapidocr_lacks_one(self, installed):
        installed("kor", rapidocr=False, library=False)

        assert ocr.list_missing(["ko", "zh", "sr"]) == [
            "strata install ocr",
            "apt-get install libtesseract5 tesseract-ocr-chi-sim tesseract-ocr-srp",
        ]


class TestFixes:
    def test_say_what_to_install_for_the_languages_of_the_index(self, installed):
        installed("eng")

        [warning] = add_fixes([SCANNED], lambda: ["ru", "en"])

        assert warning["fix"] == (
            "Install OCR of ru, en: apt-get install tesseract-ocr-rus. "
            "Read the documents of the index anew: strata apply INDEX --reread."
        )

    def test_say_only_how_to_read_anew_where_nothing_is_missing(self, installed):
        installed()

        [warning] = add_fixes([SCANNED], list)

        assert warning["fix"].startswith("Read the documents")

    def test_do_not_look_up_languages_for_other_warnings(self):
        def find():
            pytest.fail("The languages were looked up.")

        [warning] = add_fixes([{"code": "xfa_form", "detail": "…"}], find)

        assert "Adobe" in warning["fix"]


class TestWeights:
    def test_are_there_for_all_that_rapidocr_reads_except_one(self):
        assert set(ocr.RAPIDOCR_LANGUAGES) - set(tesseract.WEIGHTS) == {"rm"}
