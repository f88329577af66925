import unicodedata
from time import process_time

import pytest

from core.text import MAX_MARKS, clean_name, clean_page, clean_text, normalise, shorten

JOINER = "\N{COMBINING GRAPHEME JOINER}"
ABOVE, BELOW = "\N{COMBINING ACUTE ACCENT}", "\N{COMBINING GRAVE ACCENT BELOW}"


class TestCleanText:
    def test_composes_characters(self):
        assert clean_text(f"cafe{ABOVE}") == "café"

    def test_keeps_thirty_marks_as_they_are(self):
        text = "x" + BELOW * 15 + ABOVE * 15

        assert clean_text(text) == text

    @pytest.mark.parametrize(
        "text",
        [
            "x" + BELOW * 100,
            "x" + (ABOVE + BELOW) * 100,
            BELOW * 31,
            "ᾂ" + BELOW * 30,
            "x" + "\u0344" * 100,  # is decomposed to two marks
            "x" + "\u0f73" * 100,  # is itself no mark, but decomposed to two
            "a " + "\uff9e" * 100,
        ],
        ids=ascii,
    )
    def test_leaves_nothing_out_and_inserts_a_joiner_after_thirty_marks(self, text):
        cleaned = clean_text(text)

        parts = cleaned.split(JOINER)
        assert len(parts) > 1
        for part in parts:
            marks = [*map(unicodedata.combining, unicodedata.normalize("NFKD", part))]
            assert sum(map(bool, marks)) <= MAX_MARKS
        assert sorted(unicodedata.normalize("NFD", cleaned.replace(JOINER, ""))) == sorted(
            unicodedata.normalize("NFD", text)
        )

    def test_changes_nothing_the_second_time(self):
        cleaned = clean_text("ᾂ" + "\u0344\u0f73\u0316" * 50 + "क़" + BELOW * 64)

        assert clean_text(cleaned) == cleaned

    def test_replaces_what_cannot_be_stored(self):
        assert clean_text("a\x00b\ud800") == "a\ufffdb\ufffd"


@pytest.mark.parametrize("form", ["NFC", "NFKC", "NFKD"])
def test_normalises_marks_in_linear_time(form):
    def seconds(count):
        text = "x" + ABOVE * count + BELOW * count

        def measure():
            started = process_time()
            normalise(text, form)
            return process_time() - started

        return min(measure() for _ in range(5))

    # In quadratic time the ratio is 64.
    assert seconds(32_000) < 28 * seconds(4_000)


class TestCleanPage:
    def test_leaves_out_codes_for_terminals(self):
        text = "\x1b[2m10:00\x1b[0m con\x1b[4mtroller\x1b[0m \x1b]0;title\x07of \x1b(Blamps\x1b"

        assert clean_page(text) == "10:00 controller of lamps"
        assert clean_page(r"print('\x1b[31m')") == r"print('\x1b[31m')"

    @pytest.mark.parametrize(
        ("text", "cleaned"),
        [
            ("Kün\u00addi\u00adgung", "Kündigung"),
            ("con\u200bfigu\u2060ration\ufeff", "configuration"),
            ("Auf\u200clage", "Auflage"),
            ("a\U000e0068\U000e0069b", "ab"),  # letters that only programs see
            ("e\u00ad\u0301", "é"),
            ("\u00ad", ""),
            ("a\0\u00ad\ud800b", "a\ufffd\ufffdb"),
        ],
        ids=ascii,
    )
    def test_leaves_out_what_is_not_seen(self, text, cleaned):
        assert clean_page(text) == cleaned

    @pytest.mark.parametrize(
        "text",
        [
            "می\u200cخواهم",
            "क्\u200dष",
            "👨\u200d👩\u200d👧 ❤\ufe0f\u200d🔥",
            "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
            "ไทย\u200bภาษา",
            "ភាសា\u200bខ្មែរ",
            "4\u202f200\u00a0kg, non\u2011breaking, \u200fשלום",
        ],
        ids=ascii,
    )
    def test_keeps_what_scripts_and_emoji_need(self, text):
        assert clean_page(text) == text


class TestCleanName:
    def test_cannot_be_shown_in_another_order(self):
        assert clean_name("invoice\u202efdp.exe") == "invoicefdp.exe"
        assert clean_name("\u2067a\u2069 \u202ab\u202c") == "a b"

    def test_keeps_names_of_scripts_from_right_to_left(self):
        name = "\u200fשלום.pdf\u200e"
        assert clean_name(name) == name


class TestShorten:
    def test_keeps_a_text_that_is_not_too_long(self):
        assert shorten("x" * 10, 10) == "x" * 10

    def test_keeps_the_start_and_the_end_of_a_longer_one(self):
        assert shorten("begin" + "x" * 50 + "end", 10) == "beginx…end"


def test_a_soft_hyphen_at_the_end_of_a_line_joins_its_word():
    assert clean_page("wea\u00ad\nthered, lar\u00ad\r\n  ger, well\nknown") == (
        "weathered, larger, well\nknown"
    )
