"""What Word shows: numbers, raised signs, notes, forms, and nothing that is hidden."""

import io
import zipfile

import docx
import pytest
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

NAMESPACES = (
    nsdecls("w", "r", "wp", "a")
    + ' xmlns:v="urn:schemas-microsoft-com:vml"'
    + ' xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
)
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RUN = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>".format


def paragraph(content, properties=""):
    return f"<w:p><w:pPr>{properties}</w:pPr>{content}</w:p>"


def make_word(body, numbering="", parts=None, suffix_of_type=""):
    """A document of this body; ``parts``: the kind of each other part, and its content."""
    parts = dict(parts or {})
    if numbering:
        parts["numbering"] = f"<w:numbering {NAMESPACES}>{numbering}</w:numbering>"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-'
            'officedocument.wordprocessingml.document.main+xml"/></Types>',
        )
        archive.writestr("_rels/.rels", relationships({"officeDocument": "word/document.xml"}))
        archive.writestr(
            "word/_rels/document.xml.rels",
            relationships({kind: f"{kind}.xml" for kind in parts}),
        )
        archive.writestr(
            "word/document.xml", f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>"
        )
        for kind, content in parts.items():
            archive.writestr(f"word/{kind}.xml", content)
    return file.getvalue()


def relationships(targets):
    links = (
        f'<Relationship Id="{kind}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for kind, target in targets.items()
    )
    return (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f"{''.join(links)}</Relationships>"
    )


def level(at, style, pattern, more=""):
    return (
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{style}"/>{more}'
        f'<w:lvlText w:val="{pattern}"/></w:lvl>'
    )


def in_list(text, at, list_id="1"):
    numbers = f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="{list_id}"/></w:numPr>'
    return paragraph(RUN(text), numbers)


class TestNumbers:
    NUMBERING = (
        f'<w:abstractNum w:abstractNumId="0">{level(0, "upperRoman", "Article %1.")}'
        f"{level(1, 'decimal', '%1.%2', '<w:isLgl/>')}{level(2, 'lowerLetter', '(%3)')}"
        '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        '<w:num w:numId="2"><w:abstractNumId w:val="0"/><w:lvlOverride w:ilvl="0">'
        '<w:startOverride w:val="7"/></w:lvlOverride></w:num>'
    )

    def test_are_those_that_word_shows(self, parse):
        body = "".join(
            in_list(*each)
            for each in [
                ("Scope", 0), ("Ships", 1), ("Boats", 1), ("rafts", 2), ("canoes", 2),
                ("Fees", 0), ("Tolls", 1), ("Later", 0, "2"),
            ]
        )  # fmt: skip

        [page] = parse(make_word(body, self.NUMBERING), "a.docx").pages

        assert page.text.split("\n") == [
            "Article I. Scope", "1.1 Ships", "1.2 Boats", "        (a) rafts", "        (b) canoes",
            "Article II. Fees", "2.1 Tolls", "Article VII. Later",
        ]  # fmt: skip

    def test_typed_by_hand_stand_once(self, parse):
        [page] = parse(make_word(paragraph(RUN("1. Scope")), self.NUMBERING), "a.docx").pages

        assert page.text == "1. Scope"

    def test_count_no_paragraph_that_is_hidden_or_deleted(self, parse):
        numbers = '<w:numPr><w:numId w:val="1"/></w:numPr><w:rPr><w:{}/></w:rPr>'.format
        gone = "<w:r><w:rPr><w:vanish/></w:rPr><w:t>Gone</w:t></w:r>"
        body = (
            in_list("One", 0) + paragraph(gone, numbers("vanish")) + paragraph("", numbers("del"))
            + paragraph(RUN("Two"), numbers("vanish"))
        )  # fmt: skip

        [page] = parse(make_word(body, self.NUMBERING), "a.docx").pages

        assert page.text == "Article I. One\nArticle II. Two"

    def test_are_left_out_where_the_list_has_none(self, parse):
        numbering = (
            f'<w:abstractNum w:abstractNumId="0">{level(0, "none", "")}</w:abstractNum>'
            '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>'
        )

        [page] = parse(make_word(in_list("Scope", 0), numbering), "a.docx").pages

        assert page.text == "Scope"

    def test_of_headings_come_from_their_style(self, parse):
        document = docx.Document()
        style = document.styles["Heading 1"].element
        style.get_or_add_pPr().append(
            parse_xml(f"<w:numPr {nsdecls('w')}><w:numId w:val='5'/></w:numPr>")
        )
        document.add_heading("Herons", 1)
        document.add_heading("Terns", 1)
        file = io.BytesIO()
        document.save(file)

        pages = parse(file.getvalue(), "a.docx").pages

        assert [page.text for page in pages] == ["# 1. Herons", "# 2. Terns"]


class TestLetters:
    def test_that_are_raised_and_lowered_stay_apart(self, parse):
        raised = '<w:r><w:rPr><w:vertAlign w:val="{}"/></w:rPr><w:t>{}</w:t></w:r>'.format
        shifted = '<w:r><w:rPr><w:position w:val="6"/><w:sz w:val="16"/></w:rPr><w:t>3</w:t></w:r>'
        body = paragraph(
            RUN("10") + raised("superscript", "-6") + RUN(" m") + shifted + RUN(" of CO")
            + raised("subscript", "2") + RUN(" or K") + raised("subscript", "max A")
        )  # fmt: skip

        [page] = parse(make_word(body), "a.docx").pages

        assert page.text == "10⁻⁶ m³ of CO₂ or K_(max A)"

    def test_of_fonts_of_signs_are_read(self, parse):
        body = paragraph(
            RUN("Angle ") + '<w:r><w:sym w:font="Symbol" w:char="F061"/></w:r>'
            + '<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>' + RUN(" insured")
        )  # fmt: skip

        [page] = parse(make_word(body), "a.docx").pages

        assert page.text == "Angle α[x] insured"

    def test_of_readings_stand_apart(self, parse):
        ruby = "<w:r><w:ruby><w:rt>{}</w:rt><w:rubyBase>{}</w:rubyBase></w:ruby></w:r>".format
        body = paragraph(ruby(RUN("みなと"), RUN("港")) + ruby(RUN("く"), RUN("区")) + RUN("です"))

        [page] = parse(make_word(body), "a.docx").pages

        assert page.text == "港区です\n\n[Reading] 港: みなと, 区: く"


class TestUnseenText:
    def test_is_kept_apart(self, parse):
        body = (
            paragraph(
                RUN("The fee is 95.") + "<w:r><w:rPr><w:vanish/></w:rPr><w:t>Take 60.</w:t></w:r>"
            )
            + paragraph(
                '<w:del w:id="1"><w:r><w:delText>was 120</w:delText></w:r></w:del>'
                '<w:ins w:id="2"><w:r><w:t>From May on.</w:t></w:r></w:ins>'
            )
            + paragraph("<w:r><w:rPr><w:rStyle w:val='Secret'/></w:rPr><w:t>Not this.</w:t></w:r>")
            + paragraph(
                '<w:r><w:rPr><w:vanish w:val="0"/><w:webHidden/></w:rPr><w:t>Seen.</w:t></w:r>'
            )
        )
        styles = (
            f'<w:styles {NAMESPACES}><w:style w:styleId="Base"><w:rPr><w:vanish/></w:rPr></w:style>'
            '<w:style w:styleId="Secret"><w:basedOn w:val="Base"/></w:style></w:styles>'
        )

        document = parse(make_word(body, parts={"styles": styles}), "a.docx")

        [page] = document.pages
        assert page.text == "The fee is 95.\n\nFrom May on.\n\nSeen."
        assert page.unseen == (
            ("Take 60.", "hidden"), ("was 120", "deleted"), ("Not this.", "hidden"),
        )  # fmt: skip
        assert [warning.code for warning in document.warnings] == ["hidden_text"]


class TestForms:
    def test_show_their_boxes_and_choices(self, parse):
        box = (
            '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:checkBox><w:default w:val="{}"/>'
            '</w:checkBox></w:ffData></w:fldChar></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
        ).format
        choice = (
            '<w:r><w:fldChar w:fldCharType="begin"><w:ffData><w:ddList><w:result w:val="1"/>'
            '<w:listEntry w:val="north"/><w:listEntry w:val="south"/></w:ddList></w:ffData>'
            "</w:fldChar></w:r><w:r><w:instrText>FORMDROPDOWN</w:instrText></w:r>"
            '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
        )
        control = "<w:sdt><w:sdtContent><w:r><w:t>☒</w:t></w:r></w:sdtContent></w:sdt>"
        body = paragraph(
            RUN("Insured: ") + box(1) + RUN(" Dogs: ") + box(0) + RUN(" Quay: ") + choice
            + RUN(" Paid: ") + control
        )  # fmt: skip

        [page] = parse(make_word(body), "a.docx").pages

        assert page.text == "Insured: [x] Dogs: [ ] Quay: south Paid: [x]"


class TestParts:
    def test_of_the_margin_are_read_once_without_page_numbers(self, parse):
        section = (
            '<w:sectPr><w:headerReference w:type="default" r:id="header"/>'
            '<w:footerReference w:type="first" r:id="footer"/></w:sectPr>'
        )
        header = paragraph(
            RUN("Case 7/26") + "<w:r><w:tab/></w:r>" + RUN("Page ")
            + f'<w:fldSimple w:instr=" PAGE ">{RUN("1")}</w:fldSimple>'
        )  # fmt: skip
        parts = {
            "header": f"<w:hdr {NAMESPACES}>{header}</w:hdr>",
            "footer": f"<w:ftr {NAMESPACES}>{paragraph(RUN('Only on first pages'))}</w:ftr>",
        }
        body = paragraph(RUN("One."), section) + paragraph(RUN("Two."), section)

        [page] = parse(make_word(body, parts=parts), "a.docx").pages

        assert page.text == "Case 7/26\n\nOne.\n\nTwo."

    def test_of_notes_stand_below_with_their_mark(self, parse):
        body = paragraph(
            RUN("It was 451") + '<w:r><w:footnoteReference w:id="2"/></w:r>' + RUN(" euro.")
        )
        notes = (
            f'<w:footnotes {NAMESPACES}><w:footnote w:id="2">{paragraph(RUN("Without tax."))}'
            f"{paragraph(RUN('Rounded.'))}</w:footnote></w:footnotes>"
        )

        [page] = parse(make_word(body, parts={"footnotes": notes}), "a.docx").pages

        assert page.text == "It was 451¹ euro.\n\n[Note 1] Without tax. Rounded."

    @pytest.mark.parametrize(
        "chunk",
        [
            "<html><body><p>The ferry leaves.</p></body></html>",
            "MIME-Version: 1.0\nContent-Type: multipart/related; boundary=b\n\n--b\n"
            "Content-Type: text/html; charset=utf-8\n"
            "Content-Transfer-Encoding: quoted-printable\n\n"
            "<p>The fer=\nry leaves.</p>\n--b--\n",
            make_word(paragraph(RUN("The ferry leaves."))),
        ],
    )
    def test_in_other_formats_are_read_in_their_place(self, parse, chunk):
        body = f"{paragraph(RUN('Timetable'))}<w:altChunk r:id='aFChunk'/>{paragraph(RUN('End'))}"

        [page] = parse(make_word(body, parts={"aFChunk": chunk}), "a.docx").pages

        assert page.text == "Timetable\n\nThe ferry leaves.\n\nEnd"

    def test_of_diagrams_are_read_in_their_order(self, parse):
        point = (
            '<dgm:pt modelId="{}"><dgm:t><a:p><a:r><a:t>{}</a:t></a:r></a:p></dgm:t></dgm:pt>'
        ).format
        link = '<dgm:cxn srcId="{}" destId="{}" srcOrd="{}"/>'.format
        data = (
            f'<dgm:dataModel {NAMESPACES}><dgm:ptLst><dgm:pt modelId="0" type="doc"/>'
            f"{point(3, 'Land')}{point(1, 'Call')}{point(2, 'Wait')}</dgm:ptLst><dgm:cxnLst>"
            f"{link(0, 1, 0)}{link(1, 2, 0)}{link(0, 3, 1)}</dgm:cxnLst></dgm:dataModel>"
        )
        body = paragraph("<w:r><w:drawing><dgm:relIds r:dm='diagramData'/></w:drawing></w:r>")

        [page] = parse(make_word(body, parts={"diagramData": data}), "a.docx").pages

        assert page.text == "- Call\n    - Wait\n- Land"

    def test_of_strict_files_and_templates_are_read(self, parse):
        transitional = make_word(paragraph(RUN("Deep.")))
        file = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(transitional)) as old, zipfile.ZipFile(file, "w") as new:
            for name in old.namelist():
                data = old.read(name).replace(b"document.main", b"template.main")
                for part in (b"wordprocessingml", b"officeDocument"):
                    data = data.replace(
                        b"http://schemas.openxmlformats.org/%s/2006/" % part,
                        b"http://purl.oclc.org/ooxml/%s/" % part,
                    )
                new.writestr(name, data)

        document = parse(file.getvalue(), "a.dotx")

        assert document.pages[0].text == "Deep."
