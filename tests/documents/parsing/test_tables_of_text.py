"""CSV as programs and people write it."""

import pytest


def table(*rows, header="| Part | Price | Stock |"):
    return "\n".join([header, "| --- | --- | --- |", *rows])


class TestCsv:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    def test_is_read_with_any_separator(self, parse, delimiter):
        rows = ["Part,Price,Stock", "Hinge,2.50,120", "Bolt,0.12,40"]
        content = "\r\n".join(rows).replace(",", delimiter)

        [page] = parse(content, "a.csv").pages

        assert page.text == table("| Hinge | 2.50 | 120 |", "| Bolt | 0.12 | 40 |")

    @pytest.mark.parametrize("first", ["sep=;", "\ufeffsep=;", "SEP=;", '"sep=;"'])
    def test_may_name_its_separator(self, parse, first):
        [page] = parse(f"{first}\r\nPart;Price;Stock\r\nHinge;1,95;120\r\n", "a.csv").pages

        assert page.text == table("| Hinge | 1,95 | 120 |")

    @pytest.mark.parametrize("comma", ["1,95", "1.234,56", "-0,5"])
    def test_may_have_decimal_commas(self, parse, comma):
        [page] = parse(f"Part;Price;Stock\nHinge;{comma};1\nBolt;{comma};2\n", "a.csv").pages

        assert page.text == table(f"| Hinge | {comma} | 1 |", f"| Bolt | {comma} | 2 |")

    def test_keeps_what_stands_above_the_table_as_text(self, parse):
        above = "Stock of the harbour\nPrinted;1 May 2026, 9:00\n\n"
        content = f"{above}Part;Price;Stock;Place\nHinge;2;1;A\nBolt;1;2;B\nRope;1;2;B\n"

        [page] = parse(content, "a.csv").pages

        assert page.text == (
            "Stock of the harbour\nPrinted; 1 May 2026, 9:00\n| Part | Price | Stock | Place |\n"
            "| --- | --- | --- | --- |\n| Hinge | 2 | 1 | A |\n| Bolt | 1 | 2 | B |\n"
            "| Rope | 1 | 2 | B |"
        )

    def test_keeps_a_header_that_is_shorter_than_its_rows(self, parse):
        [page] = parse('"Price","Stock"\n"1",3,4\n"2",5,6\n', "a.csv").pages

        assert page.text.startswith("| Price | Stock |  |\n| --- |")

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ('3/4"', '3/4"'),
            ('"12" pipe"', '12" pipe'),
            ('"19"" wide"', '19" wide'),
            ('"a ""b"" c"', 'a "b" c'),
            ('"5, 6"', "5, 6"),
            (' "5, 6" ', "5, 6"),
            ('"two\nlines"', "two lines"),
            ('2"', '2"'),
        ],
    )
    def test_may_have_loose_quotes(self, parse, value, text):
        [page] = parse(f"Part,Price,Stock\nHinge,{value},1\nBolt,2,3\n", "a.csv").pages

        assert page.text == table(f"| Hinge | {text} | 1 |", "| Bolt | 2 | 3 |")

    def test_goes_on_after_a_quote_that_does_not_end(self, parse):
        [page] = parse('Part,Price,Stock\nHinge,1,"new\nBolt,2,3\nRope,4,5\n', "a.csv").pages

        assert page.text.endswith("| Bolt | 2 | 3 |\n| Rope | 4 | 5 |")

    @pytest.mark.parametrize(
        ("first", "second"), [("2026-01-03,Berth 4,12.5", "2026-01-04,Berth 7,9.0")]
    )
    def test_without_a_header_has_an_empty_one(self, parse, first, second):
        [page] = parse(f"{first}\n{second}\n{second}\n", "a.csv").pages

        assert page.text == (
            "|  |  |  |\n| --- | --- | --- |\n| 2026-01-03 | Berth 4 | 12.5 |"
            + "\n| 2026-01-04 | Berth 7 | 9.0 |" * 2
        )

    @pytest.mark.parametrize(
        "header", ["Berth,2024,2025", "Hour,1,2", "Date,2026-01-01,2026-01-02", "a,b,c"]
    )
    def test_keeps_a_first_row_that_may_be_its_header(self, parse, header):
        [page] = parse(f"{header}\n4,1.5,2.5\n7,0.5,3.5\n", "a.csv").pages

        assert page.text.startswith(f"| {header.replace(',', ' | ')} |\n| --- |")

    def test_of_one_column_is_lines(self, parse):
        [page] = parse("Name\nHinge\nBolt\n", "a.csv").pages

        assert page.text == "Name\nHinge\nBolt"
