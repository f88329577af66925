"""Values of spreadsheets as their number formats show them."""

import pytest

from text.cell_formats import format_text, format_value


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (0.075, "0.0%", "7.5%"),
        (0.653035934239184, "0%", "65%"),
        (0.075, "General", "0.075"),
        (1234.5, '"$"#,##0.00', "$1,234.50"),
        (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
        (123, "00000", "00123"),
        (1234567890, "(000) 000-0000", "(123) 456-7890"),
        (-1234.5, "#,##0.00;[Red](#,##0.00)", "(1,234.50)"),
        (0, '#,##0.00;(#,##0.00);"-"??', "-"),
        (-5, "0.0", "-5.0"),
        (9876543, '#,##0 "t"', "9,876,543 t"),
        (9876543, '0.0,,"M"', "9.9M"),
        (2.5, "0", "3"),
        (1.5, "#.##", "1.5"),
        (0.5, "#,##0.###", "0.5"),
        (123456, "0.00E+00", "1.23E+05"),
        (0.00012, "0.0E+0", "1.2E-4"),
        (1.5, "# ?/?", "1 1/2"),
        (150, '[>=100]"high";[<=10]"low";0', "high"),
        (50, '[>=100]"high";[<=10]"low";0', "50"),
        (7, ";;;", ""),
        (45000, "yyyy-mm-dd", "2023-03-15"),
        (45000.5, "dd/mm/yyyy hh:mm", "15/03/2023 12:00"),
        (45000.75, "d mmmm yy h:mm AM/PM", "15 March 23 6:00 PM"),
        (45000, "[$-F800]dddd, mmmm dd, yyyy", "2023-03-15"),
        (1.2604166667, "[h]:mm", "30:15"),
        (0.0005, "mm:ss.0", "00:43.2"),
        (1, "yyyy-mm-dd", "1900-01-01"),
        (-1, "yyyy-mm-dd", "-1"),
        (12, "@", "12"),
        (3, "General", "3"),
        (0.1 + 0.2, "General", "0.3"),
    ],
)
def test_a_number_is_written_as_its_format_shows_it(value, code, shown):
    assert format_value(value, code) == shown


def test_dates_of_both_calendars_are_right():
    assert format_value(43538, "yyyy-mm-dd", is_1904=True) == "2023-03-15"


def test_text_takes_the_words_of_its_section():
    assert format_text("late", '0;-0;0;"Note: "@') == "Note: late"
    assert format_text("late", "0.00") == "late"
