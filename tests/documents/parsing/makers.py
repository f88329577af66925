"""Make small documents as real programs would."""

import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import docx
import openpyxl
import pptx
from aspose.email_foss.msg import CommonMessagePropertyId, MapiMessage, PropertyTypeCode
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
from reportlab.lib import colors
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    Flowable,
    PageBreak,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
)

ARABIC_FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


def make_pdf(*pages: str, title: str = "", password: str | None = None) -> bytes:
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=A5, encrypt=password)
    canvas.setTitle(title)
    for text in pages:
        if text:
            canvas.bookmarkPage(text)
            canvas.addOutlineEntry(f"On {text}", text)
            canvas.drawString(50, 500, text)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


def make_pdf_of_text(*pages: str) -> bytes:
    """Pages of paragraphs, which are separated by empty lines."""
    normal = getSampleStyleSheet()["Normal"]
    story: list[Flowable] = []
    for page in pages:
        for paragraph in page.split("\n\n"):
            story += [Paragraph(paragraph, normal), Spacer(1, 24)]
        story.append(PageBreak())
    stream = io.BytesIO()
    SimpleDocTemplate(stream, pagesize=A5).build(story)
    return stream.getvalue()


def make_arabic_pdf(text: str) -> bytes:
    """A page in ``ARABIC_FONT``, whose ligature of lam and alef stands for the two letters, as most
    programs write it."""
    pdfmetrics.registerFont(TTFont("Arabic", ARABIC_FONT))
    stream = io.BytesIO()
    canvas = Canvas(stream, pageCompression=0)
    canvas.setFont("Arabic", 12)
    canvas.drawString(100, 700, text[::-1].replace("أل", "\ufef7"))
    canvas.save()
    return stream.getvalue().replace(b"<FEF7>", b"<06440623>")


def make_pdf_with_layout(*headings: str, header: str = "") -> bytes:
    """For each heading a page with it, a paragraph of two lines, and a table with ruled lines."""
    normal = getSampleStyleSheet()["Normal"]
    table = [
        ["Revenue", "2021", "2022"],
        ["Asia", "$1,200", "$1,350"],
        ["Europe", "$2,400", "$2,150"],
    ]
    story: list[Flowable] = []
    for heading in headings:
        story += [
            Paragraph(heading, getSampleStyleSheet()["Heading1"]),
            Paragraph(
                "The year went well in nearly all of the markets in which we sell. " * 4, normal
            ),
            Spacer(1, 12),
            Table(table, colWidths=80, style=[("GRID", (0, 0), (-1, -1), 1, colors.black)]),
            PageBreak(),
        ]

    def draw_header(canvas: Canvas, _template: object) -> None:
        canvas.setFont("Helvetica-Bold", 14)
        canvas.drawString(50, 565, header)

    stream = io.BytesIO()
    SimpleDocTemplate(stream, pagesize=A5).build(
        story, onFirstPage=draw_header, onLaterPages=draw_header
    )
    return stream.getvalue()


def make_pptx() -> bytes:
    presentation = pptx.Presentation()
    presentation.core_properties.title = "The deck"
    first = presentation.slides.add_slide(presentation.slide_layouts[1])
    first.shapes.title.text = "Results"
    first.placeholders[1].text = "first point\nsecond point"
    first.notes_slide.notes_text_frame.text = "said aloud"
    second = presentation.slides.add_slide(presentation.slide_layouts[6])
    table = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for row in range(2):
        for column in range(2):
            table.cell(row, column).text = f"r{row}c{column}"
    outer = second.shapes.add_group_shape()
    inner = outer.shapes.add_group_shape()
    inner.shapes.add_textbox(0, 0, Inches(1), Inches(1)).text_frame.text = "deep in a group"
    return _saved(presentation)


def make_pptx_with_charts() -> bytes:
    """A slide with a chart of two series, in one of which a value is missing, and a scatter."""
    presentation = pptx.Presentation()
    shapes = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes
    bars = CategoryChartData()
    bars.categories = ["month 6", "month 9"]
    bars.add_series("Men", (12, 40))
    bars.add_series("Women", (9.5, None))
    box = (Inches(1), Inches(1), Inches(4), Inches(2))
    chart = shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *box, bars).chart
    chart.chart_title.text_frame.text = "Return to sport"
    points = XyChartData()
    series = points.add_series("Load")
    for x, y in ((1, 3), (2, 4.5)):
        series.add_data_point(x, y)
    shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, *box, points)
    return _saved(presentation)


def make_docx(paragraph_count: int = 0) -> bytes:
    document = docx.Document()
    document.add_paragraph("Before all headings.")
    document.add_heading("One", level=1)
    document.add_paragraph("Under one.")
    table = document.add_table(2, 2)
    for row in range(2):
        for column in range(2):
            table.cell(row, column).text = f"r{row}c{column}"
    document.add_paragraph("After the table.")
    document.add_heading("Detail", level=2)
    document.add_paragraph("a point", style="List Bullet")
    document.add_heading("Two", level=1)
    document.add_paragraph("Under two.")
    for number in range(paragraph_count):
        document.add_paragraph(f"Paragraph {number}.")
    return _saved(document)


def make_xlsx() -> bytes:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Prices"
    sheet.append(["name", "price", "sold"])
    sheet.append(["pear", 2, True])
    sheet["C9"] = "far below"
    workbook.create_sheet("Empty")
    return _saved(workbook)


def make_zip(members: Mapping[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def replace_member(content: bytes, name: str, change: tuple[bytes, bytes]) -> bytes:
    """The archive with one replacement made in one of its members."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    assert change[0] in members[name]
    return make_zip({**members, name: members[name].replace(*change, 1)})


def make_epub(chapter: str = "<html><body><h1>Own</h1><p>First text.</p></body></html>") -> bytes:
    return make_zip(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": (
                '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
                '<rootfile full-path="book/package.opf"/></rootfiles></container>'
            ),
            "book/package.opf": (
                '<package xmlns="http://www.idpf.org/2007/opf">'
                '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
                "<dc:title>The book</dc:title></metadata><manifest>"
                '<item id="n" href="nav.xhtml" properties="nav"/>'
                '<item id="b" href="two.xhtml"/><item id="a" href="one%201.xhtml"/>'
                '<item id="c" href="gone.xhtml"/></manifest>'
                '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine>'
                "</package>"
            ),
            "book/nav.xhtml": (
                '<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol><li>'
                '<a href="two.xhtml#x">Named in the contents</a></li></ol></nav></body></html>'
            ),
            "book/one 1.xhtml": chapter,
            "book/two.xhtml": "<html><body><p>Second text.</p></body></html>",
        }
    )


def _saved(document: object) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def make_msg(
    subject: str = "Plans",
    body: str = "See the files.",
    *,
    unicode_strings: bool = True,
    attachments: Iterable[tuple[str, bytes]] = (),
) -> MapiMessage:
    message = MapiMessage.create(subject, body, unicode_strings=unicode_strings)
    message.set_property(CommonMessagePropertyId.SENDER_NAME, PropertyTypeCode.PTYP_STRING, "Ann")
    message.set_property(
        CommonMessagePropertyId.SENDER_EMAIL_ADDRESS, PropertyTypeCode.PTYP_STRING, "ann@x.org"
    )
    message.add_recipient("bob@x.org", display_name="Bob Müller")
    for name, content in attachments:
        message.add_attachment(name, content)
    return message
