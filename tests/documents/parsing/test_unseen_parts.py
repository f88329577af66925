"""Documents made at random of parts that are seen and parts that are not, in each format that has
both; those of PDF are in ``test_pdf_visibility.py``."""

import io
import random
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import openpyxl
import pytest
from openpyxl.styles import Font

from tests.documents.parsing.makers import make_epub
from tests.documents.parsing.test_mail import multipart, part
from tests.documents.parsing.test_opendocument import make_document, style
from tests.documents.parsing.test_powerpoint import add_box, make_slides
from tests.documents.parsing.test_word import RUN, make_word, paragraph

SEEDS = 18
STRUCK = 'style:text-line-through-style="solid" style:text-line-through-type="single"'


class Part(NamedTuple):
    text: str
    is_unseen: bool


def make_parts(seed: int) -> list[Part]:
    choose = random.Random(seed)
    count = choose.randint(6, 14)
    parts = [
        Part(
            " ".join(
                f"word{seed}n{number}n{at}x" for at in range(choose.randint(3, 12))
            ).capitalize() + ".",
            number % 3 == 2,
        )
        for number in range(count)
    ]  # fmt: skip
    choose.shuffle(parts)
    return parts


def make_html(parts: Sequence[Part], choose: random.Random) -> str:
    ways = [
        "<p hidden>{}</p>", '<div style="display: none"><p>{}</p></div>', "<p><del>{}</del></p>",
        '<p>Shown <span style="visibility:hidden">{}</span></p>',
    ]  # fmt: skip
    seen = ["<p>{}</p>", '<p style="color: #999">{}</p>', "<p><b>{}</b></p>", "<li>{}</li>"]
    body = "".join(
        choose.choice(ways if each.is_unseen else seen).format(each.text) for each in parts
    )
    return f"<html><body>{body}</body></html>"


def make_mail(parts: Sequence[Part], choose: random.Random) -> str:
    plain = part("See this message in a program that shows HTML.")
    html = part(make_html(parts, choose), "text/html; charset=utf-8")
    return "From: a@example.org\nMIME-Version: 1.0\n" + multipart("alternative", plain, html)


def make_docx(parts: Sequence[Part], choose: random.Random) -> bytes:
    hidden = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>{}</w:t></w:r>".format
    deleted = (
        '<w:del w:id="1" w:author="A"><w:r><w:delText xml:space="preserve">{}</w:delText></w:r>'
        "</w:del>"
    ).format
    grey = '<w:r><w:rPr><w:color w:val="AAAAAA"/></w:rPr><w:t>{}</w:t></w:r>'.format
    struck = "<w:r><w:rPr><w:strike/></w:rPr><w:t>{}</w:t></w:r>".format
    ways = {True: [hidden, deleted, struck], False: [RUN, grey]}
    return make_word(
        "".join(paragraph(choose.choice(ways[each.is_unseen])(each.text)) for each in parts)
    )


def make_pptx(parts: Sequence[Part], choose: random.Random) -> bytes:
    def fill(each: Part) -> Callable[[object], None]:
        def fill_slide(slide):
            is_struck = each.is_unseen and choose.random() < 0.5
            strike = '<a:rPr strike="sngStrike"/>' if is_struck else ""
            add_box(slide, f"<a:r>{strike}<a:t>{each.text}</a:t></a:r>")
            if each.is_unseen and not is_struck:
                slide._element.set("show", "0")

        return fill_slide

    return make_slides(*map(fill, parts))


def make_xlsx(parts: Sequence[Part], choose: random.Random) -> bytes:
    book = openpyxl.Workbook()
    sheet, hidden = book.active, book.create_sheet("Lists")
    hidden.sheet_state = "hidden"
    for row, each in enumerate(parts, start=1):
        if each.is_unseen and choose.random() < 0.5:
            hidden.append([each.text])
            continue
        cell = sheet.cell(row, 1, each.text)
        sheet.cell(row, 2, row)
        if each.is_unseen and choose.random() < 0.5:
            cell.font = Font(strike=True)
        else:
            sheet.row_dimensions[row].hidden = each.is_unseen
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def make_odt(parts: Sequence[Part], choose: random.Random) -> bytes:
    changes, body = [], []
    for number, each in enumerate(parts):
        if not each.is_unseen:
            body.append(f"<text:p>{each.text}</text:p>")
        elif choose.random() < 0.5:
            name = choose.choice("HS")
            body.append(
                f'<text:p>Shown <text:span text:style-name="{name}">{each.text}</text:span>'
                "</text:p>"
            )
        else:
            changes.append(
                f'<text:changed-region text:id="c{number}"><text:deletion><text:p>{each.text}'
                "</text:p></text:deletion></text:changed-region>"
            )
    tracked = f"<text:tracked-changes>{''.join(changes)}</text:tracked-changes>" if changes else ""
    styles = style("H", 'text:display="none"', ' style:family="text"') + style("S", STRUCK)
    return make_document("text", f"<office:text>{tracked}{''.join(body)}</office:text>", styles)


def make_ods(parts: Sequence[Part], choose: random.Random) -> bytes:
    def row(each: Part, more: str = "") -> str:
        cells = "".join(
            f"<table:table-cell><text:p>{text}</text:p></table:table-cell>"
            for text in (each.text, "row")
        )
        return f"<table:table-row{more}>{cells}</table:table-row>"

    hidden = choose.choice([' table:visibility="collapse"', ' table:visibility="filter"'])
    rows = "".join(row(each, hidden if each.is_unseen else "") for each in parts)
    table = f'<table:table table:name="Fees">{rows}</table:table>'
    return make_document("spreadsheet", f"<office:spreadsheet>{table}</office:spreadsheet>")


def make_rtf(parts: Sequence[Part], choose: random.Random) -> str:
    ways = ["{{\\v {}}}", "{{\\deleted {}}}", "{{\\strike {}}}", "{{\\striked1 {}}}"]
    seen = ["{}", "{{\\cf1 {}}}", "{{\\b {}}}"]
    body = "\\par\n".join(
        choose.choice(ways if each.is_unseen else seen).format(each.text) for each in parts
    )
    return "{\\rtf1\\ansi{\\colortbl;\\red170\\green170\\blue170;}\n" + body + "}"


def make_markdown(parts: Sequence[Part], choose: random.Random) -> str:
    ways = ["~~{}~~", "- ~~{}~~ done", "<del>{}</del>", "> <s>{}</s>", "## ~~{}~~"]
    seen = ["{}", "- {}", "# {}", "`~~{}~~`", "```\n~~{}~~\n```", "~ {} ~"]
    lines = (choose.choice(ways if each.is_unseen else seen).format(each.text) for each in parts)
    return "\n\n".join(lines)


MAKERS: dict[str, Callable[[Sequence[Part], random.Random], bytes | str]] = {
    "a.html": make_html, "a.eml": make_mail, "a.docx": make_docx, "a.pptx": make_pptx,
    "a.xlsx": make_xlsx, "a.odt": make_odt, "a.ods": make_ods, "a.rtf": make_rtf,
    "a.md": make_markdown,
    "a.epub": lambda parts, choose: make_epub(make_html(parts, choose)),
}  # fmt: skip


def words(texts: Iterable[str]) -> set[str]:
    return set(re.findall(r"word\w+x", " ".join(texts).lower()))


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_only_what_is_seen_is_text(parse, name, seed):
    parts = make_parts(seed)

    document = parse(MAKERS[name](parts, random.Random(seed)), name)

    text = words(page.text for page in document.pages)
    unseen = words(each.text for page in document.pages for each in page.unseen)
    assert text == words(each.text for each in parts if not each.is_unseen)
    assert unseen == words(each.text for each in parts if each.is_unseen)
    assert "hidden_text" in {warning.code for warning in document.warnings}
