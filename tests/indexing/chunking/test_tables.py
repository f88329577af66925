from indexing.chunking import find_continued_header, find_tables

TEXT = """Birds of Oslo

## Counts
| Bird | 2021 \\| 2022 |
| --- | --- |
| Heron | 3 |
| Gull | 9 |

End."""


class TestFindTables:
    def test_names_each_by_caption_and_cells(self):
        [table] = find_tables(TEXT)

        assert table.header == "Counts Bird 2021 | 2022"
        assert TEXT[table.start : table.end].startswith("| Bird")
        assert TEXT[table.start : table.end].endswith("| 9 |")

    def test_finds_tables_without_a_caption(self):
        tables = find_tables("| a | b |\n|:--|--:|\n| 1 | 2 |\n\n| c | d |\n| --- | --- |")

        assert [table.header for table in tables] == ["a b", "c d"]

    def test_shortens_long_headers(self):
        [table] = find_tables("words " * 100 + "\n| " + "column " * 100 + "|\n|---|\n| 1 |")

        assert len(table.header) == 300
        assert table.header.count("column") > 10

    def test_ignores_rows_without_a_header(self):
        assert find_tables("| a | b |\n| 1 | 2 |") == []


class TestFindContinuedHeader:
    def test_is_that_of_the_table_around_the_position(self):
        tables = find_tables(TEXT)

        found = {
            word: find_continued_header(tables, TEXT.index(word))
            for word in ("Birds", "| Bird", "| Heron", "| Gull", "End")
        }

        assert found == {
            "Birds": "",
            "| Bird": "",
            "| Heron": "Counts Bird 2021 | 2022",
            "| Gull": "Counts Bird 2021 | 2022",
            "End": "",
        }
