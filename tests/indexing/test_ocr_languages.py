"""A spec names only languages that OCR can read."""

import pytest

from indexing.exceptions import InvalidSpec
from indexing.spec import parse_spec


class TestOcrLanguages:
    def test_refuse_one_without_weights_and_name_the_others(self):
        with pytest.raises(InvalidSpec, match=r"ocr_languages: .*'ru'; allowed here: af, .*zh"):
            parse_spec("plain", "ocr_languages: [de, ru]")

    def test_need_no_new_build(self):
        spec = parse_spec("plain", "ocr_languages: [de, zh]")

        assert spec.ocr_languages == ("de", "zh")
        assert spec.fingerprint == parse_spec("plain", "").fingerprint
