import io
import random
import re

import pytest
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont, TTFontFile
from reportlab.pdfgen.canvas import Canvas

from documents.parsing import pdf
from documents.parsing.document import DocumentDraft
from documents.parsing.ocr import LineBox, Recognised
from documents.parsing.page_pictures import find_boxes
from tests.documents.parsing.conftest import LIMITS
from tests.documents.parsing.pdf_maker import FONT, PdfMaker
from tests.documents.parsing.test_hostile_pdfs import make_raw_pdf, make_stream


def make_line(*parts, font="Helvetica"):
    """Parts of a line, each with its text, its size and how far it is raised."""
    stream = io.BytesIO()
    canvas = Canvas(stream)
    text = canvas.beginText(60, 700)
    for part, size, rise in parts:
        text.setFont(font, size)
        text.setRise(rise)
        text.textOut(part)
    canvas.drawText(text)
    canvas.save()
    return stream.getvalue()


def make_text(*lines):
    pdfmetrics.registerFont(TTFont("Vera", FONT))
    stream = io.BytesIO()
    canvas = Canvas(stream)
    canvas.setFont("Vera", 11)
    for number, line in enumerate(lines):
        canvas.drawString(60, 700 - 14 * number, line)
    canvas.save()
    return stream.getvalue()


class TestScripts:
    @pytest.mark.parametrize(
        ("parts", "text"),
        [
            ([("about 10", 12, 0), ("6", 7, 5), (" events", 12, 0)], "about 10⁶ events"),
            ([("10", 12, 0), ("-12", 8, 4), (" m", 12, 0), ("2", 8, 4)], "10⁻¹² m²"),
            ([("451", 12, 0), ("2", 7, 5), (" million", 12, 0)], "451² million"),
            ([("H", 12, 0), ("2", 8, -3), ("O is water", 12, 0)], "H₂O is water"),
            ([("1", 7, 5), ("In millions.", 12, 0)], "¹In millions."),
            # They look alike, but are not raised, or can be told apart as they are.
            ([("106 in", 12, 0), (" 2024", 7, 0)], "106 in 2024"),
            ([("Total 12", 12, 0), ("50", 12, 0)], "Total 1250"),
            ([("the 1", 12, 0), ("st", 7, 5), (" of May", 12, 0)], "the 1st of May"),
            ([("Revenue", 12, 0), ("(1)", 7, 5)], "Revenue(1)"),
        ],
    )
    def test_are_written_as_such(self, parse, parts, text):
        assert parse(make_line(*parts), "a.pdf").pages[0].text.strip() == text

    def test_are_marked_with_what_they_stand_at(self, tmp_path):
        path = tmp_path / "a.pdf"
        path.write_bytes(make_line(("about 10", 12, 0), ("6", 7, 5), (" events", 12, 0)))

        [box] = find_boxes(path, 0, "about 10⁶ events", 6, 9)

        assert box.left == pytest.approx(93.4 / 595, abs=0.01)
        assert box.right == pytest.approx(110.6 / 595, abs=0.01)


class TestBrokenWords:
    def test_are_joined(self, parse):
        made = make_text("Schäden durch Überschwem\u00ad", "mung und die Kündigungs-", "frist")

        text = parse(made, "a.pdf").pages[0].text

        assert " ".join(text.split()) == "Schäden durch Überschwemmung und die Kündigungsfrist"

    def test_of_numbers_keep_their_hyphen(self, parse):
        text = parse(make_text("from 2019\u00ad2020 on"), "a.pdf").pages[0].text

        assert text.strip() == "from 2019-2020 on"

    def test_have_letters_instead_of_ligatures(self, parse):
        assert parse(make_text("he \ufb01nds the \ufb02oor"), "a.pdf").pages[0].text == (
            "he finds the floor"
        )


def make_pdf_without_letters():
    """A page that names its glyphs by their numbers in the font."""
    glyphs = TTFontFile(FONT).charToGlyph
    lines = ["The harbour fee is due on arrival at the office.", "Those that stay pay half of it."]
    shown = b" ".join(
        b"1 0 0 1 50 %d Tm <%s> Tj"
        % (700 - 20 * number, b"".join(b"%04X" % glyphs[ord(letter)] for letter in line))
        for number, line in enumerate(lines)
    )
    name = b"/BaseFont/ABCDEF+Vera"
    return make_raw_pdf(
        b"BT /F 11 Tf %s ET" % shown,
        b"null",
        b"<</Type/Font/Subtype/Type0%s/Encoding/Identity-H/DescendantFonts[8 0 R]>>" % name,
        b"<</Type/Font/Subtype/CIDFontType2%s/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)"
        b"/Supplement 0>>/FontDescriptor 9 0 R/CIDToGIDMap/Identity/DW 600>>" % name,
        b"<</Type/FontDescriptor/FontName/ABCDEF+Vera/Flags 4/FontBBox[-183 -236 1287 928]"
        b"/ItalicAngle 0/Ascent 928/Descent -236/CapHeight 730/StemV 80/FontFile2 10 0 R>>",
        make_stream(FONT.read_bytes(), b"/Length1 %d" % FONT.stat().st_size),
        resources=b"/Font<</F 7 0 R>>",
    )


class TestUnreadableText:
    def test_is_left_out_and_counted(self, parse):
        document = parse(make_pdf_without_letters(), "a.pdf")

        [page] = document.pages
        assert page.text == ""
        assert page.unreadable_chars > 60
        assert "unreadable_text" in [warning.code for warning in document.warnings]

    def test_is_read_by_ocr_where_it_is_installed(self, tmp_path):
        maker = PdfMaker(1)
        maker.plain()
        maker.in_a_font_with_wrong_letters()
        path = tmp_path / "a.pdf"
        path.write_bytes(maker.make().content)
        pictures = []

        def read(page, page_count, render):
            pictures.append(render())
            return Recognised("read by OCR", [LineBox(1, 0, 0, 1, 1)])

        draft = DocumentDraft(LIMITS, ocr=read)
        pdf.read(path, draft)

        [page] = draft.pages
        assert page.text == f"{' '.join(maker.made.visible)}\n\nread by OCR"
        assert page.unreadable_chars == 0
        [picture] = pictures
        width, height = picture.size
        lines = [picture.crop((0, int(top * height), width, int((top + 0.02) * height)))
                 for top in (0.085, 0.118)]  # fmt: skip
        assert [len(set(line.convert("L").tobytes())) > 1 for line in lines] == [False, True]

    @pytest.mark.parametrize(
        "line",
        [
            "Gur uneobhe srr vf qhr ba neeviny ng gur bssvpr ba gur abegu dhnl.",  # a cipher
            "BRT-4410-XK ZQW-0071-PL KJH-9932-TT VNM-1200-SX QPD-5523-RR WXC-7",
            "VGhlIGhhcmJvdXIgZmVlIGlzIGR1ZSBvbiBhcnJpdmFsIGF0IHRoZSBvZmZpY2Uu",
            "Kowalczyk Szczepan Hrvoje Krstić Nguyễn Văn Đức Þórður Ægisson Łukasz",
            "TOTAL ASSETS GOODWILL INVENTORIES RECEIVABLES PREPAYMENTS EQUITY",
            "Habari ya asubuhi rafiki yangu mpendwa karibu sana nyumbani kwetu leo",
            "x_1 + y_2 = {a, b}; f(x) := \\lambda * (k^2 - 1) / [n + 1] ~ #3 & %4 | @5",
        ],
    )
    def test_is_not_text_whose_letters_the_page_shows(self, parse, line):
        document = parse(make_text(line, line), "a.pdf")

        assert document.pages[0].unreadable_chars == 0
        assert document.warnings == ()

    def test_is_not_base64(self, parse):
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        lines = ["".join(random.Random(n).choices(letters, k=64)) for n in range(20)]

        [page] = parse(make_text(*lines), "a.pdf").pages

        assert page.unreadable_chars == 0
        assert re.sub(r"\s", "", page.text) == "".join(lines)
