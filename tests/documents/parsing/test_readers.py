"""What each format's reader makes of a small document."""

import io
import json
import subprocess

import docx
import openpyxl
import pypdfium2
import pytest
from liteparse.types import LayoutBlock, LayoutCell

from core.text import clean_text
from documents.parsing import office, pdf, title_from_file_name
from documents.parsing.document import DocumentDraft
from tests.documents.parsing.conftest import LIMITS
from tests.documents.parsing.makers import (
    make_docx,
    make_epub,
    make_pdf,
    make_pdf_of_text,
    make_pdf_with_layout,
    make_pptx,
    make_pptx_with_charts,
    make_xlsx,
    make_zip,
    replace_member,
)

WORDS = [f"{letter}{number}" for letter in "abcdefg" for number in range(10)]


def texts(document):
    return [page.text for page in document.pages]


def labels(document):
    return [page.label for page in document.pages]


def warning_codes(document):
    return [warning.code for warning in document.warnings]


class TestPdf:
    def test_keeps_empty_pages(self, parse):
        document = parse(make_pdf("first", "", "third", title="The title"), "a.pdf")

        assert [text.strip() for text in texts(document)] == ["first", "", "third"]
        assert labels(document) == ["On first", "On first", "On third"]
        assert document.title == "The title"
        assert document.media_type == "application/pdf"

    def test_refuses_a_file_that_needs_a_password(self, parse, refusal):
        assert refusal(make_pdf("secret", password="open sesame"), "a.pdf") == "encrypted_pdf"

    def test_opens_a_file_whose_password_is_empty(self, parse):
        assert "secret" in parse(make_pdf("secret", password=""), "a.pdf").pages[0].text

    def test_refuses_a_damaged_file(self, refusal):
        assert refusal(b"%PDF-1.7\nnothing of the kind", "a.pdf") == "damaged_file"

    def test_writes_headings_lists_and_tables_as_markdown(self, parse):
        [page] = parse(make_pdf_with_layout("Annual report"), "report.pdf").pages

        assert page.text.startswith("# Annual report\n\nThe year went well")
        assert (
            "| Revenue | 2021 | 2022 |\n| --- | --- | --- |\n"
            "| Asia | $1,200 | $1,350 |\n| Europe | $2,400 | $2,150 |" in page.text
        )

    def test_writes_a_running_header_as_text_and_not_as_a_heading(self, parse):
        headings = ["Markets", "Costs", "People", "Outlook"]

        document = parse(make_pdf_with_layout(*headings, header="Table of Contents"), "a.pdf")

        for page, heading in zip(document.pages, headings, strict=True):
            assert page.text.startswith("Table of Contents\n")
            assert heading in page.text

    def test_does_not_take_a_header_with_the_page_number_for_a_title(self, parse):
        pages = [f"Annual Report {n}\n\n" + "The year went well there. " * 9 for n in range(5)]

        document = parse(make_pdf_of_text(*pages), "a.pdf")

        assert [page.text.splitlines()[0] for page in document.pages] == [
            f"Annual Report {n}" for n in range(5)
        ]

    def test_does_not_take_a_running_line_below_another_one_for_a_title(self, parse):
        titles = ["Balance Sheets", "Income Taxes", "Market Risks", "Legal Proceedings"]
        pages = [
            f"Annual Report\n\nNotes to Statements\n\n{title}\n\n" + "The year went well. " * 20
            for title in titles
        ]

        document = parse(make_pdf_of_text(*pages), "a.pdf")

        for page, title in zip(document.pages, titles, strict=True):
            assert page.text.startswith(f"Annual Report\n\nNotes to Statements\n\n## {title}\n\n")

    def test_keeps_the_heading_of_a_section_of_few_pages_below_a_running_line(self, parse):
        titles = ["Income Taxes (Continued)"] * 3 + [f"Part {'A' * n}" for n in range(1, 29)]
        pages = [f"Annual Report\n\n{title}\n\n" + "The year went well. " * 20 for title in titles]

        document = parse(make_pdf_of_text(*pages), "a.pdf")

        assert "\n\n## Income Taxes (Continued)\n\n" in document.pages[0].text

    def test_reads_the_title_of_a_page_as_a_heading_although_it_is_set_as_text(self, parse):
        pages = [
            f"Annual Report\n\n{title}\n\n" + "The year went well in all of our markets. " * 9
            for title in (
                "Consolidated Statements of Income",
                "we sold more",
                "Balance Sheets (in millions, except per share data)",
                "We sold more (in All Markets)",
            )
        ]

        found = parse(make_pdf_of_text(*pages), "a.pdf").pages

        assert "\n\n## Consolidated Statements of Income\n\n" in found[0].text
        assert "#" not in found[1].text
        assert "\n\n## Balance Sheets (in millions, except per share data)\n\n" in found[2].text
        assert "#" not in found[3].text

    @pytest.mark.parametrize(
        ("cells", "is_table"),
        [
            ([WORDS[::2], WORDS[1::2]], False),  # what stands left and right in each line
            ([WORDS[:35], WORDS[35:]], True),
            ([WORDS[n : n + 10 : 2] for n in range(0, 70, 5)], True),  # too short for prose
        ],
    )
    def test_writes_a_table_made_of_paragraphs_as_text(
        self, tmp_path, monkeypatch, cells, is_table
    ):
        path = tmp_path / "prose.pdf"
        path.write_bytes(make_pdf_of_text(" ".join(WORDS)))
        [[paragraph]] = pdf._read_layout(path.read_bytes()).values()
        row = [LayoutCell(" ".join(words)) for words in cells]
        table = LayoutBlock("table", rows=[row], bbox=paragraph.bbox)
        monkeypatch.setattr(pdf, "_read_layout", lambda *args: {0: [table]})
        draft = DocumentDraft(LIMITS)

        pdf.read(path, draft)

        [page] = draft.pages
        assert page.text.startswith("|") == is_table
        assert is_table or page.text.split() == WORDS

    def test_leaves_a_page_empty_that_only_the_layout_can_read(self, tmp_path, monkeypatch):
        path = tmp_path / "damaged.pdf"
        path.write_bytes(make_pdf_with_layout("Markets"))

        def refuse(document, index):
            raise pypdfium2.PdfiumError("Failed to load page.")

        monkeypatch.setattr(pypdfium2.PdfDocument, "__getitem__", refuse)
        draft = DocumentDraft(LIMITS)

        pdf.read(path, draft)

        assert texts(draft) == [""]
        assert [warning.code for warning in draft.warnings] == ["unreadable_page"]

    def test_falls_back_to_plain_text_where_the_layout_loses_text(self, tmp_path, monkeypatch):
        path = tmp_path / "layout.pdf"
        path.write_bytes(make_pdf_with_layout("Annual report"))
        monkeypatch.setattr(pdf, "MIN_SHARE_OF_TEXT", 1.01)  # no layout holds so much
        draft = DocumentDraft(LIMITS)

        pdf.read(path, draft)

        assert "Asia" in draft.pages[0].text
        assert "| Asia" not in draft.pages[0].text
        assert [warning.code for warning in draft.warnings] == ["plain_page"]


class TestTitles:
    @pytest.mark.parametrize(
        "title",
        [
            "Untitled",
            "(anonymous)",
            "Microsoft Word - final2.doc",
            "final2.docx",
            "0001018724-18-000005",
            " ",
        ],
    )
    def test_that_say_nothing_are_not_used(self, parse, title):
        assert parse(make_pdf("text", title=title), "a.pdf").title == ""

    @pytest.mark.parametrize(
        ("file_name", "title"),
        [
            ("3M_2018_10K.pdf", "3M 2018 10K"),
            ("annual-report-2022-03.pdf", "annual report 2022-03"),
            ("herons.md", "herons"),
            ("___.txt", "___.txt"),
            ("v1.2 notes.txt", "v1.2 notes"),
        ],
    )
    def test_are_made_of_the_words_of_a_file_name(self, file_name, title):
        assert title_from_file_name(file_name) == title


class TestPptx:
    def test_reads_charts_as_tables(self, parse):
        [page] = parse(make_pptx_with_charts(), "deck.pptx").pages

        assert page.text == (
            "Return to sport\n|  | Men | Women |\n| --- | --- | --- |\n"
            "| month 6 | 12 | 9.5 |\n| month 9 | 40 |  |"
            "\n\n|  | Load |\n| --- | --- |\n| 1 | 3 |\n| 2 | 4.5 |"
        )

    def test_reads_title_body_tables_groups_and_notes(self, parse):
        document = parse(make_pptx(), "deck.PPTX")

        assert texts(document) == [
            "# Results\n\nfirst point\nsecond point\n\nsaid aloud",
            "| r0c0 | r0c1 |\n| --- | --- |\n| r1c0 | r1c1 |\n\ndeep in a group",
        ]
        assert labels(document) == ["Slide 1: Results", "Slide 2"]
        assert document.title == "The deck"


class TestDocx:
    def test_makes_a_page_of_each_top_heading_with_its_content_in_order(self, parse):
        document = parse(make_docx(), "a.docx")

        assert labels(document) == ["", "One", "Two"]
        assert texts(document)[0] == "Before all headings."
        assert texts(document)[1] == (
            "# One\n\nUnder one.\n| r0c0 | r0c1 |\n| --- | --- |\n| r1c0 | r1c1 |"
            "\n\nAfter the table."
            "\n\n## Detail\n\n- a point"
        )

    def test_reads_what_a_frame_holds_as_if_there_were_no_frame(self, parse):
        document = docx.Document()
        cell = document.add_table(1, 1).cell(0, 0)
        cell.paragraphs[0].text = "In a frame."
        inner = cell.add_table(2, 2)
        for row in range(2):
            for column in range(2):
                inner.cell(row, column).text = f"r{row}c{column}"
        file = io.BytesIO()
        document.save(file)

        [page] = parse(file.getvalue(), "a.docx").pages

        assert page.text == "In a frame.\n| r0c0 | r0c1 |\n| --- | --- |\n| r1c0 | r1c1 |"

    def test_reads_content_controls_and_insertions_but_not_deletions(self, parse):
        marked_up = (
            b"<w:sdt><w:sdtContent><w:p><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>"
            b"<w:del><w:r><w:delText>deleted</w:delText></w:r></w:del></w:p>"
            b"</w:sdtContent></w:sdt><w:p"
        )
        content = replace_member(make_docx(), "word/document.xml", (b"<w:p", marked_up))

        first = parse(content, "a.docx").pages[0].text

        assert first == "inserted\n\nBefore all headings."

    def test_refuses_a_dtd(self, refusal):
        bomb = b'<!DOCTYPE w [<!ENTITY a "aaaa">]><w:document'
        content = replace_member(make_docx(), "word/document.xml", (b"<w:document", bomb))

        assert refusal(content, "a.docx") == "damaged_file"

    def test_recognises_a_document_with_a_password(self, refusal):
        content = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")

        assert refusal(content, "a.docx") == "encrypted_file"


class TestXlsx:
    def test_makes_a_page_of_each_sheet_and_a_table_of_each_run_of_rows(self, parse):
        document = parse(make_xlsx(), "a.xlsx")

        assert texts(document) == [
            "# Prices\n\n| name | price | sold |\n| --- | --- | --- |\n| pear | 2 | TRUE |"
            "\n\nfar below",
            "",
        ]
        assert labels(document) == ["Prices", "Empty"]

    def test_refuses_a_dtd(self, refusal):
        bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa">]><worksheet'
        content = replace_member(make_xlsx(), "xl/worksheets/sheet1.xml", (b"<worksheet", bomb))

        assert refusal(content, "a.xlsx") == "damaged_file"


class TestPagesOfSeparators:
    def test_of_a_spreadsheet_with_a_column_for_each_row_are_refused(self, refusal):
        workbook = openpyxl.Workbook()
        for at in range(1, 200):
            workbook.active.cell(at, at, "x")
        file = io.BytesIO()
        workbook.save(file)

        assert refusal(file.getvalue(), "far.xlsx") == "mostly_separators"

    def test_are_not_made_by_empty_columns(self, parse):
        workbook = openpyxl.Workbook()
        for row in range(1, 6):
            workbook.active.cell(row, 16_384, f"far {row}")  # the last column
        file = io.BytesIO()
        workbook.save(file)

        assert texts(parse(file.getvalue(), "far.xlsx")) == ["far 1\nfar 2\nfar 3\nfar 4\nfar 5"]
        assert texts(parse("a,b\n" + "," * 9_000 + "c\n", "far.csv")) == [
            "| a | b |  |\n| --- | --- | --- |\n|  |  | c |"
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "-" * 4_000,  # a ruled line
            "Lamp " * 100 + " " * 50_000,
            "\n".join(f"Chapter {n} {'.' * 100} {n}" for n in range(100)),
            "│ 7 │\n├───┤\n" * 3_000,
            "灯塔" * 5_000,
        ],
    )
    def test_with_enough_words_are_read(self, parse, text):
        assert len(parse(text, "a.txt").pages) == 1


class TestHtml:
    def test_keeps_visible_text_and_its_blocks(self, parse):
        document = parse(
            "<title>The\n title</title><h1>One</h1><p>Some <i>text</i>\nhere<br>and there"
            "<ul><li>a<li>b</ul><table><tr><th>x<th>y<tr><td>1<td>2</table>"
            "<pre>  kept\n   so</pre><h2>Sub</h2><div>more</div>"
            "<script>no()</script><style>no</style><template>no</template><!-- no -->"
            "<p hidden>no</p><p style='display: none'>no</p><h1>Two</h1><p>end",
            "a.html",
        )

        assert texts(document) == [
            "# One\n\nSome text here\nand there\n\n- a\n- b\n| x | y |\n| --- | --- |\n| 1 | 2 |"
            "\n\n  kept\n   so\n\n## Sub\n\nmore",
            "# Two\n\nend",
        ]
        assert labels(document) == ["One", "Two"]
        assert document.title == "The title"

    def test_repeats_cells_of_several_rows(self, parse):
        table = (
            "<table><tr><th>Year<th>Month<th colspan=2>Cost"
            "<tr><td rowspan=2>2025<td>May<td>$1<td>high<tr><td>June<td>$2<td>low"
            "<tr><td>2026<td>July<td rowspan=many>$3</table>"
        )

        [page] = parse(table, "a.html").pages

        assert page.text == (
            "| Year | Month | Cost |  |\n| --- | --- | --- | --- |\n| 2025 | May | $1 | high |\n"
            "| 2025 | June | $2 | low |\n| 2026 | July | $3 |  |"
        )

    def test_reads_a_table_that_lays_out_the_page_as_text(self, parse):
        page = "<table><tr><td><p>Left side<p>of it<td>Right side</table>"

        assert texts(parse(page, "a.html")) == ["Left side\nof it\n\nRight side"]

    def test_uses_the_declared_encoding_if_it_is_not_utf_8(self, parse):
        source = '<meta charset="windows-1251"><p>Кот'

        document = parse(source, "a.html", encoding="cp1251")

        assert texts(document) == ["Кот"]
        assert document.encoding == "cp1251"

    def test_reads_utf_8_despite_another_declared_encoding(self, parse):
        assert texts(parse('<meta charset="iso-8859-1"><p>Größe', "a.htm")) == ["Größe"]

    def test_reads_deeply_nested_elements(self, parse):
        assert texts(parse("<div><b>" * 50_000 + "deep", "a.html")) == ["deep"]

    def test_takes_linear_time_for_a_long_row(self, parse, limits):
        source = "<table><tr>" + "<td> </td>" * 60_000 + "<td>end</table>"

        assert texts(parse(source, "a.html", limits=limits(seconds=10))) == ["end"]

    def test_does_not_expand_declared_entities(self, parse):
        bomb = '<!DOCTYPE html [<!ENTITY a "boom">]><html><p>&a; &amp; &eacute;</html>'

        assert "boom" not in parse(bomb, "a.xhtml").pages[0].text.split("\n")[-1]


class TestMarkdown:
    def test_cuts_pages_at_top_headings_and_changes_nothing(self, parse):
        source = (
            "intro\r\n\r\n# One *fine* [day](http://x)\r\n```\n# no heading\n```\n"
            "## Sub\r\n> # quoted\n\nTwo\n===\nend"
        )

        document = parse(source, "a.md")

        assert "".join(texts(document)) == source
        assert labels(document) == ["", "One fine day", "Two"]
        assert document.title == ""

    def test_takes_the_only_top_heading_as_the_title(self, parse):
        document = parse("intro\n\n# One *fine* day\n\n## Morning\n\n## Noon\n", "a.md")

        assert document.title == "One fine day"

    def test_reads_the_title_from_front_matter(self, parse):
        document = parse('---\ntitle: "Given"\nother: x\n---\n# One\ntext', "a.markdown")

        assert document.title == "Given"
        assert labels(document) == ["", "One"]

    def test_reads_a_megabyte_in_seconds(self, parse):
        assert len(parse("# Head\n\nSome *words* and more.\n\n" * 5_000, "a.md").pages) == 5_000


class TestCsv:
    @pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
    def test_finds_the_delimiter(self, parse, delimiter):
        rows = ["name", "note"], ["pear", '"two\nlines"'], ["fig", "x"]

        document = parse("\n".join(delimiter.join(row) for row in rows), "a.csv")

        assert texts(document) == [
            "| name | note |\n| --- | --- |\n| pear | two lines |\n| fig | x |"
        ]


class TestJson:
    def test_writes_a_line_for_each_value_unchanged(self, parse):
        document = parse('{"title": "T", "a": [{"b": 1.50}, true, null]}', "a.json")

        assert texts(document) == ["title: T\na[0].b: 1.50\na[1]: true"]
        assert document.title == "T"

    def test_refuses_invalid_json(self, refusal):
        assert refusal("{oops", "a.json") == "wrong_format"

    def test_refuses_deep_nesting(self, refusal):
        assert refusal("[" * 200_000 + "]" * 200_000, "a.json") == "too_deep"

    def test_refuses_long_keys_with_many_values(self, refusal, limits):
        content = json.dumps({"k" * 100_000: list(range(1_000))})

        assert refusal(content, "a.json", limits=limits(max_text_chars=1_000_000)) == "too_large"

    def test_makes_a_paragraph_of_each_line_of_json_lines(self, parse):
        document = parse('{"a": 1}\n\nnot json\n{"b": "x"}\n', "a.jsonl")

        assert texts(document) == ["a: 1\n\nnot json\n\nb: x"]
        assert warning_codes(document) == ["invalid_line"]


class TestEml:
    def test_reads_headers_and_body_and_names_attachments(self, parse):
        document = parse(
            "From: Ann <a@x.org>\r\nTo: b@x.org\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\n"
            'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="B"\r\n\r\n'
            "--B\r\nContent-Type: text/html; charset=iso-8859-1\r\n"
            "Content-Transfer-Encoding: quoted-printable\r\n\r\n<p>K=E4se<p>zwei\r\n"
            '--B\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename="n.txt"'
            "\r\n\r\nunread\r\n--B--\r\n",
            "a.eml",
        )

        assert texts(document) == [
            "Subject: Grüße\nFrom: Ann <a@x.org>\nTo: b@x.org\nAttachments: n.txt\n\nKäse\n\nzwei"
        ]
        assert document.title == "Grüße"

    def test_refuses_a_file_without_headers(self, refusal):
        assert refusal("just some text\nand more", "a.eml") == "wrong_format"


class TestEpub:
    def test_keeps_hidden_text_apart(self, parse):
        chapter = '<html><body><p>Seen.</p><p style="display:none">Not seen.</p></body></html>'

        page = parse(make_epub(chapter), "a.epub").pages[0]

        assert (page.text, page.unseen) == ("Seen.", (("Not seen.", "hidden"),))

    def test_makes_a_page_of_each_part_of_the_spine(self, parse):
        document = parse(make_epub(), "a.epub")

        assert texts(document) == ["# Own\n\nFirst text.", "Second text.", ""]
        assert labels(document) == ["Own", "Named in the contents", ""]
        assert document.title == "The book"
        assert warning_codes(document) == ["missing_part"]

    def test_does_not_expand_entities(self, parse, refusal):
        bomb = (b"<package", b'<!DOCTYPE p [<!ENTITY t "boom">]><package')
        content = replace_member(make_epub(), "book/package.opf", bomb)
        content = replace_member(content, "book/package.opf", (b"The book", b"The &t;"))

        assert "boom" not in parse(content, "a.epub").title


class TestText:
    @pytest.mark.parametrize(
        ("text", "encoding"),
        [
            ("Größe, Müller und Straße", "cp1252"),
            ("Café — l’été déjà", "cp1252"),
            ("Съешь же ещё этих мягких французских булок, да выпей чаю. " * 5, "koi8-r"),
            ("Съешь же ещё этих мягких французских булок, да выпей чаю.", "cp1251"),
            ("Příliš žluťoučký kůň úpěl ďábelské ódy, a to je všechno. " * 5, "cp1250"),
            ("黑豹队的防守只丢了三百零八分，在联赛中排名第六。" * 5, "gb18030"),
            ("こんにちは世界。これは日本語の文章です。" * 5, "shift_jis"),
            ("こんにちは世界。これは日本語の文章です。", "iso2022_jp"),
            ("plain with ünïcode 文", "utf-8-sig"),
            ("plain with ünïcode 文", "utf-16"),
            ("plain with ünïcode 文", "utf-32"),
        ],
    )
    def test_reports_the_encoding(self, parse, text, encoding):
        assert texts(parse(text, "a.txt", encoding=encoding)) == [text]

    def test_replaces_and_reports_invalid_bytes(self, parse):
        document = parse("Größe über alles: ".encode() + b"\xff." + "äöü".encode(), "a.txt")

        assert texts(document) == ["Größe über alles: \ufffd.äöü"]
        assert warning_codes(document) == ["invalid_bytes"]

    def test_refuses_binary_data(self, refusal):
        assert refusal(bytes(range(256)) * 40, "a.txt") == "binary_file"

    @pytest.mark.parametrize("content", ["", " \n\t\r\n"])
    def test_warns_of_a_file_without_text(self, parse, content):
        assert warning_codes(parse(content, "a.txt")) == ["no_text"]


class TestFormats:
    def test_refuses_empty_files_of_formats_that_cannot_be_empty(self, refusal):
        assert {refusal(b"", f"a.{suffix}") for suffix in ("pdf", "docx", "epub")} == {"empty_file"}

    @pytest.mark.parametrize(
        ("content", "file_name"),
        [
            (make_pdf("x"), "a.txt"),
            (make_pdf("x"), "a.docx"),
            (make_docx(), "a.pptx"),
            (make_docx(), "a.md"),
            (make_zip({"hello.txt": "x"}), "a.docx"),
            ("<html><p>x", "a.pdf"),
            (b"\x89PNG\r\n\x1a\n", "a.txt"),
        ],
    )
    def test_refuses_a_suffix_that_does_not_match_the_content(self, refusal, content, file_name):
        assert refusal(content, file_name) == "wrong_format"

    def test_recognises_a_file_without_a_suffix_by_its_content(self, parse):
        assert parse(make_pdf("x"), "upload").media_type == "application/pdf"
        assert parse(make_docx(), "upload.tmp").media_type.endswith("wordprocessingml.document")
        assert parse("words", "README").media_type == "text/plain"

    def test_refuses_text_under_an_unknown_suffix(self, refusal):
        assert refusal("words", "a.xyz") == "unsupported_format"


class TestCleanText:
    def test_replaces_characters_that_cannot_be_stored_and_composes_accents(self):
        assert clean_text("e\u0301\r\n\0 \ud800 \x07") == "\u00e9\r\n\ufffd \ufffd \x07"


class TestOldOffice:
    """With LibreOffice: ``tests/office``."""

    OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)

    @pytest.mark.parametrize("suffix", ["doc", "xls", "ppt"])
    def test_is_refused_without_libreoffice(self, refusal, monkeypatch, suffix):
        monkeypatch.setenv("PATH", "")

        assert refusal(self.OLE, f"a.{suffix}") == "needs_libreoffice"

    def test_reads_other_formats_that_word_saves_under_its_ending(self, parse, refusal):
        assert parse(r"{\rtf1 Herons wait.}", "a.doc").media_type == "application/rtf"
        assert parse(make_docx(), "a.doc").media_type.endswith("wordprocessingml.document")
        assert refusal("words", "a.xls") == "wrong_format"

    def test_is_refused_if_the_conversion_takes_too_long(self, refusal, monkeypatch):
        def take_too_long(*arguments):
            raise subprocess.TimeoutExpired("soffice", 1)

        monkeypatch.setattr(office, "is_installed", lambda: True)
        monkeypatch.setattr(office, "convert", take_too_long)

        assert refusal(self.OLE, "a.doc") == "parse_timeout"
