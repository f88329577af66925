import pytest

from concepts.quote_matching import find_quote

TEXT = "The “grey heron” stands\n  in the shal­lows – at dawn. Cafe\u0301 ﬁsh, STRASSE."


class TestFindQuote:
    def test_finds_an_exact_match(self):
        start, end = find_quote(TEXT, "at dawn")

        assert TEXT[start:end] == "at dawn"

    @pytest.mark.parametrize(
        ("quote", "found"),
        [
            ('the "GREY heron"', "The “grey heron”"),
            ("heron” stands in the", "heron” stands\n  in the"),
            ("shallows - at", "shal­lows – at"),
            ("Café fish", "Cafe\u0301 ﬁsh"),
            ("straße", "STRASSE"),
            ("  at   dawn ", "at dawn"),
        ],
    )
    def test_ignores_differences_in_case_quotation_marks_and_white_space(self, quote, found):
        start, end = find_quote(TEXT, quote)

        assert TEXT[start:end] == found

    @pytest.mark.parametrize("quote", ["the blue heron", "", " \n", "at dawn. Tea", "\u00ad"])
    def test_does_not_find_a_quote_that_is_not_in_the_text(self, quote):
        assert find_quote(TEXT, quote) is None

    def test_does_not_take_a_power_for_digits(self):
        assert find_quote("It counts 10⁶ events.", "106 events") is None
        assert find_quote("It counts 10⁶ events.", "10⁶ EVENTS") == (10, 20)
        assert find_quote("An area of 12 m² of CO₂", "12 m2 of co2") == (11, 23)

    def test_finds_the_first_of_two_matches(self):
        assert find_quote("so and so", "so") == (0, 2)
