"""A spec names only languages that OCR can read."""

import pytest

from indexing.exceptions import InvalidSpec
from indexing.spec import parse_spec


class TestOcrLanguages:
    def test_refuse_one_without_weights_and_name_the_others(self):
        with pytest.raises(InvalidSpec, match=r"ocr_languages: .*'xx'; allowed here: af, .*ru, "):
            parse_spec("plain", "ocr_languages: [de, xx]")

    def test_refuse_one_that_no_recogniser_reads_together_with_another(self):
        with pytest.raises(InvalidSpec, match="no weights for 'rm'"):
            parse_spec("plain", "ocr_languages: [rm, ru]")

    def test_allow_those_of_both_recognisers(self):
        parse_spec("plain", "ocr_languages: [rm, de]")

        assert parse_spec("plain", "ocr_languages: [ru, en]").ocr_languages == ("ru", "en")

    def test_need_no_new_build(self):
        spec = parse_spec("plain", "ocr_languages: [de, zh]")

        assert spec.ocr_languages == ("de", "zh")
        assert spec.fingerprint == parse_spec("plain", "").fingerprint
