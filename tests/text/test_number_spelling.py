import pytest

from text.number_spelling import spell_numbers, uses_decimal_comma


class TestSpellNumbers:
    @pytest.mark.parametrize(
        ("text", "spelt"),
        [
            ("sold 4,120,300 of them", "sold 4120300 of them"),
            ("sold 4.120.300,5 of them", "sold 4120300.5 of them"),
            ("sold 4'120'300 of them", "sold 4120300 of them"),
            ("sold 4\u202f120\u202f300 of them", "sold 4120300 of them"),
            ("sold 4,120 and 1.5 of them", "sold 4120 and 1.5 of them"),
            ("it was 4.120 of that", "it was 4.120 of that"),
            ("es waren 4.120 von 8 und nicht mehr", "es waren 4120 von 8 und nicht mehr"),
            ("es waren 4,120 und 1,5 von 8", "es waren 4.120  und 1.5  von 8"),
            ("weighs 2.5kg", "weighs 2.5 kg"),
            ("rows 100 200 300", "rows 100 200 300"),
            ("on 31.12.2018 and 1,2,3", "on 31.12.2018 and 1,2,3"),
            ("0.123 of v1.234", "0.123 of v1.234"),
        ],
    )
    def test_writes_digits_and_at_most_one_point(self, text, spelt):
        assert spell_numbers(text, "en")[0] == spelt

    def test_reads_an_ambiguous_number_of_a_query_in_both_ways(self):
        spelt, readings = spell_numbers("4,120", "en", is_query=True)

        assert spelt == "4120"
        assert [(each.spelt, each.is_key) for each in readings] == [
            ("4.120", False),
            ("4,120", True),
        ]

    def test_joins_groups_of_a_query_that_spaces_separate(self):
        assert spell_numbers("4 120 300 tons", "en", is_query=True)[0] == "4120300 tons"


class TestUsesDecimalComma:
    @pytest.mark.parametrize(
        ("text", "language", "expected"),
        [
            ("3,5 und 4.120", "en", True),
            ("3.5 and 4,120", "de", False),
            ("das ist nicht viel", "en", True),
            ("that is not much", "de", False),
            ("4.120", "de", True),
            ("4.120", "en", False),
        ],
    )
    def test_follows_other_numbers_then_the_language(self, text, language, expected):
        assert uses_decimal_comma(text, language) is expected
