"""What the readers of OpenDocument, RTF and notebooks make of small documents."""

import json

import pytest

from tests.documents.parsing.makers import make_zip

NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        "office": "office", "text": "text", "table": "table", "draw": "drawing",
        "presentation": "presentation",
    }.items()
)  # fmt: skip
META = (
    f'<office:document-meta {NAMESPACES} xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<office:meta><dc:title>{}</dc:title></office:meta></office:document-meta>"
)


def make_opendocument(kind: str, body: str, title: str = "") -> bytes:
    media_type = f"application/vnd.oasis.opendocument.{kind}"
    content = f"<office:document-content {NAMESPACES}><office:body>{body}</office:body>"
    return make_zip(
        {
            "mimetype": media_type,
            "content.xml": f"{content}</office:document-content>",
            "meta.xml": META.format(title),
        }
    )


def cell(text: str, repeated: int = 1) -> str:
    shown = f"<text:p>{text}</text:p>" if text else ""
    return (
        f'<table:table-cell table:number-columns-repeated="{repeated}">{shown}</table:table-cell>'
    )


def row(*cells: str) -> str:
    return f"<table:table-row>{''.join(cells)}</table:table-row>"


class TestText:
    def test_has_a_page_for_each_top_heading(self, parse):
        document = parse(
            make_opendocument(
                "text",
                "<office:text>"
                '<text:h text:outline-level="1">Birds</text:h>'
                "<text:p>Terns<text:s text:c='2'/>fly<text:line-break/>far.</text:p>"
                '<text:h text:outline-level="2">Nests</text:h>'
                "<text:list><text:list-item><text:p>of grass</text:p></text:list-item>"
                "<text:list-item><text:p>of stone</text:p></text:list-item></text:list>"
                '<text:h text:outline-level="1">Fish</text:h><text:p>Cod swim.</text:p>'
                "</office:text>",
                title="The coast",
            ),
            "coast.odt",
        )

        assert document.title == "The coast"
        assert document.media_type == "application/vnd.oasis.opendocument.text"
        assert [(page.label, page.text) for page in document.pages] == [
            ("Birds", "# Birds\n\nTerns  fly\nfar.\n\n## Nests\n\n- of grass\n- of stone"),
            ("Fish", "# Fish\n\nCod swim."),
        ]

    def test_keeps_notes_and_boxes_and_leaves_out_what_was_deleted(self, parse):
        [page] = parse(
            make_opendocument(
                "text",
                "<office:text><text:tracked-changes><text:p>Deleted.</text:p>"
                "</text:tracked-changes><text:p>Kept"
                "<text:note><text:note-citation>1</text:note-citation>"
                "<text:note-body><text:p>A note.</text:p></text:note-body></text:note>.</text:p>"
                "<text:p><draw:frame><draw:text-box><text:p>In a box.</text:p></draw:text-box>"
                "</draw:frame></text:p></office:text>",
            ),
            "a.odt",
        ).pages

        assert page.text == "Kept¹.\n\n[Note 1] A note.\n\nIn a box."

    def test_is_refused_if_it_declares_entities(self, refusal):
        content = make_zip(
            {
                "mimetype": "application/vnd.oasis.opendocument.text",
                "content.xml": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
            }
        )

        assert refusal(content, "a.odt") == "damaged_file"


class TestSpreadsheet:
    def test_has_a_page_for_each_sheet_and_a_table_for_each_run_of_rows(self, parse):
        sheet = (
            row(cell("Year"), cell("Catch"), cell("", 16_000))
            + row(cell("2021"), cell("7"))
            + row(cell("", 16_000))
            + row(cell("Total"), cell("7"))
        )
        [page] = parse(
            make_opendocument(
                "spreadsheet",
                '<office:spreadsheet><table:table table:name="Catches">'
                f"{sheet}</table:table></office:spreadsheet>",
            ),
            "a.ods",
        ).pages

        assert page.label == "Catches"
        assert page.text == (
            "# Catches\n\n| Year | Catch |\n| --- | --- |\n| 2021 | 7 |"
            "\n\n| Total | 7 |\n| --- | --- |"
        )

    def test_reads_a_table_in_a_cell_once(self, parse):
        inner = f"<table:table>{row(cell('a'), cell('b'))}</table:table>"
        outer = f"<table:table-row>{cell('c')}<table:table-cell>{inner}</table:table-cell>"
        body = f"<office:text><table:table>{outer}</table:table-row></table:table></office:text>"
        [page] = parse(make_opendocument("text", body), "a.odt").pages

        assert page.text.count("a") == 1


class TestPresentation:
    def test_has_a_page_for_each_slide_with_its_notes(self, parse):
        slide = (
            '<draw:page><draw:frame presentation:class="title"><draw:text-box>'
            "<text:p>Tides</text:p></draw:text-box></draw:frame>"
            "<draw:frame><draw:text-box><text:p>They rise.</text:p></draw:text-box></draw:frame>"
            "<presentation:notes><draw:frame><draw:text-box><text:p>Speak slowly.</text:p>"
            "</draw:text-box></draw:frame></presentation:notes></draw:page>"
        )
        body = f"<office:presentation>{slide}<draw:page/></office:presentation>"
        document = parse(make_opendocument("presentation", body), "a.odp")

        assert document.title == "Tides"
        assert [(page.label, page.text) for page in document.pages] == [
            ("Slide 1: Tides", "# Tides\n\nThey rise.\n\nSpeak slowly."),
            ("Slide 2", ""),
        ]


class TestRtf:
    def test_is_read_without_formatting(self, parse):
        content = (
            rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}\f0 Terns {\b fly}.\par "
            rb"Sch\'fctze \u8211? 3}"
        )
        document = parse(content, "a.rtf")

        assert document.media_type == "application/rtf"
        assert document.pages[0].text == "Terns fly.\n\nSchütze – 3"

    def test_with_the_name_of_a_text_is_refused(self, refusal):
        assert refusal(rb"{\rtf1 Terns}", "a.txt") == "wrong_format"


class TestNotebook:
    def test_keeps_text_code_and_what_it_printed(self, parse):
        cells = [
            {"cell_type": "markdown", "source": ["# Gauges\n", "They count."]},
            {
                "cell_type": "code",
                "source": "# not a heading\nprint(7)",
                "outputs": [
                    {"output_type": "stream", "text": ["7\n"]},
                    {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo="}},
                ],
            },
        ]
        document = parse(json.dumps({"cells": cells, "nbformat": 4}), "a.ipynb")

        assert document.title == "Gauges"
        [page] = document.pages
        assert page.text == (
            "# Gauges\nThey count.\n\n```\n# not a heading\nprint(7)\n```\n\n```\n7\n```"
        )

    @pytest.mark.parametrize("content", ["[1]", "{}", '{"cells": [1]}', '{"cells": [{}]}', "no"])
    def test_of_another_shape_is_refused(self, refusal, content):
        assert refusal(content, "a.ipynb") == "wrong_format"


class TestXml:
    def test_is_read_as_a_line_for_each_element_with_text(self, parse):
        content = """<?xml version="1.0" encoding="UTF-8"?>
            <!-- not read -->
            <feed><title>Tides</title>
              <entry><head>High <b>tide</b>
                 comes.</head><note/><p>Then it falls.</p></entry>
            </feed>"""
        document = parse(content, "a.xml")

        assert (document.media_type, document.title) == ("application/xml", "Tides")
        assert document.pages[0].text == "Tides\nHigh tide comes.\nThen it falls."

    def test_fetches_and_expands_no_entity(self, parse):
        content = (
            '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y "yyyy">]>'
            "<a><b>&x;</b><b>&y;</b><c>Tides rise.</c></a>"
        )
        [page] = parse(content, "a.xml").pages

        assert "root" not in page.text
        assert "yyyy" not in page.text
        assert "Tides rise." in page.text

    @pytest.mark.parametrize("content", ["no XML", "<a><b></a>", "<a/><b/>"])
    def test_that_is_not_well_formed_is_refused(self, refusal, content):
        assert refusal(content, "a.xml") == "wrong_format"

    def test_in_another_encoding_is_read(self, parse):
        content = '<?xml version="1.0" encoding="ISO-8859-1"?><a>Schütze</a>'.encode("latin-1")

        assert parse(content, "a.xml").pages[0].text == "Schütze"


@pytest.mark.parametrize("name", ["tides.py", "Tides.java", "tides.yaml", "tides.tex"])
def test_source_code_is_read_as_written(parse, name):
    code = "def rise(tide):\n    return tide + 1\n"

    document = parse(code, name)

    assert document.media_type == "text/plain"
    assert document.pages[0].text == code
