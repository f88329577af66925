"""Struck text is kept apart in every format, and only what is struck."""

import io

import openpyxl
import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font

from documents.parsing import ParsedDocument
from tests.documents.parsing.makers import make_epub
from tests.documents.parsing.test_opendocument import make_document, style
from tests.documents.parsing.test_powerpoint import add_box, make_slides
from tests.documents.parsing.test_unseen_parts import STRUCK
from tests.documents.parsing.test_word import NAMESPACES, RUN, in_list, level, make_word, paragraph

NOT_STRUCK = 'style:text-line-through-style="none" style:text-line-through-type="none"'


def word_run(text: str, properties: str) -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"


def make_docx() -> bytes:
    runs = RUN("The fee is "), word_run("60", "<w:strike/>"), word_run("65", "<w:dstrike/>")
    return make_word(paragraph("".join([*runs, word_run(" 70", '<w:strike w:val="0"/>')])))


def make_pptx() -> bytes:
    def fill(slide):
        run = '<a:r><a:rPr strike="{}"/><a:t>{}</a:t></a:r>'.format
        add_box(
            slide,
            run("noStrike", "The fee is ") + run("sngStrike", "60") + run("dblStrike", "65")
            + "<a:r><a:t> 70</a:t></a:r>",
        )  # fmt: skip

    return make_slides(fill)


def save(book: openpyxl.Workbook) -> bytes:
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def make_xlsx() -> bytes:
    book = openpyxl.Workbook()
    struck = TextBlock(InlineFont(strike=True), "60")
    book.active.append([CellRichText("The fee is ", struck, " 70")])
    book.active.append([65])
    book.active["A2"].font = Font(strike=True)
    return save(book)


def make_odt() -> bytes:
    styles = style("S", STRUCK) + style("N", NOT_STRUCK)
    span = '<text:span text:style-name="{}">{}</text:span>'.format
    return make_document(
        "text",
        f"<office:text><text:p>The fee is {span('S', '60')}</text:p>"
        f'<text:p text:style-name="S">65{span("N", "70")}</text:p></office:text>',
        styles,
    )


def make_ods() -> bytes:
    cell = "<table:table-cell{}><text:p>{}</text:p></table:table-cell>".format
    rows = [
        cell("", "60") + cell("", "The fee is"),
        cell(' table:style-name="N"', "70") + cell(' table:style-name="S"', "65"),
    ]
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return make_document(
        "spreadsheet",
        '<office:spreadsheet><table:table table:name="Fees"><table:table-column '
        'table:default-cell-style-name="S"/><table:table-column/>'
        f"{table}</table:table></office:spreadsheet>",
        style("S", STRUCK) + style("N", NOT_STRUCK),
    )


HTML = (
    "<p>The fee is <del>60</del><s>6</s><span style='text-decoration: line-through'>5</span>"
    " <u>70</u></p>"
)
FILES = {
    "a.docx": make_docx,
    "a.pptx": make_pptx,
    "a.xlsx": make_xlsx,
    "a.odt": make_odt,
    "a.ods": make_ods,
    "a.rtf": lambda: "{\\rtf1 The fee is {\\strike 60}\\striked1 65\\striked0  70}",
    "a.html": lambda: HTML,
    "a.epub": lambda: make_epub(HTML),
    "a.md": lambda: "The fee is ~~60~~ <s>65</s> 70",
}


def text_of(document: ParsedDocument) -> str:
    return "\n".join(page.text for page in document.pages)


def struck_of(document: ParsedDocument) -> str:
    unseen = [each for page in document.pages for each in page.unseen]
    assert {each.reason for each in unseen} <= {"deleted"}
    return " ".join(each.text for each in unseen)


class TestStruckText:
    @pytest.mark.parametrize("name", FILES)
    def test_is_kept_apart(self, parse, name):
        document = parse(FILES[name](), name)

        text, struck = text_of(document), struck_of(document)
        assert "The fee is" in text
        assert "70" in text
        assert not {"60", "65"} & set(text.split())
        assert "60" in struck
        assert "65" in struck.replace(" ", "")

    def test_of_a_style_of_word_is_kept_apart(self, parse):
        styles = (
            f"<w:styles {NAMESPACES}><w:style w:type='character' w:styleId='Gone'>"
            "<w:rPr><w:strike/></w:rPr></w:style></w:styles>"
        )
        run = word_run("60", "<w:rStyle w:val='Gone'/>") + RUN("70")

        document = parse(make_word(paragraph(run), parts={"styles": styles}), "a.docx")

        assert (text_of(document).strip(), struck_of(document)) == ("70", "60")

    def test_of_a_whole_clause_keeps_its_number(self, parse):
        numbering = (
            f'<w:abstractNum w:abstractNumId="0">{level(0, "decimal", "%1.")}</w:abstractNum>'
            '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        )
        struck = in_list("Dogs are allowed.", 0).replace("<w:r>", "<w:r><w:rPr><w:strike/></w:rPr>")
        body = in_list("Pay at noon.", 0) + struck + in_list("Leave at ten.", 0)

        document = parse(make_word(body, numbering), "a.docx")

        assert "3. Leave at ten." in text_of(document)
        assert "Dogs" not in text_of(document)

    def test_leaves_other_lines_and_tildes_of_markdown(self, parse):
        text = (
            "About ~~ 5 and ~~ 6, ~7~, \\~~8~~ and `~~9~~`.\n\n    ~~10~~\n\n~~~\n~~11~~\n~~~\n\n"
            "Not ~~closed\n\nhere~~, <section>12</section>"
        )

        document = parse(text, "a.md")

        assert text_of(document) == text
        assert struck_of(document) == ""

    def test_is_no_heading_of_markdown(self, parse):
        document = parse("# ~~Old~~ fees\n\nSeventy euro.", "a.md")

        assert document.pages[0].label == "fees"
        assert "Old" not in text_of(document)

    def test_is_counted_in_the_warning(self, parse):
        [warning] = parse("Fee: ~~60~~ 70", "a.md").warnings

        assert warning.code == "hidden_text"
        assert warning.detail == "2 characters of page 1 cannot be seen there or are struck out."
