"""What OpenDocument shows: numbers, raised signs, formulas, values, and nothing that is hidden."""

import pytest

from tests.documents.parsing.makers import make_zip

NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        "office": "office", "text": "text", "table": "table", "draw": "drawing",
        "style": "style", "presentation": "presentation", "svg": "svg-compatible",
    }.items()
) + ' xmlns:xlink="http://www.w3.org/1999/xlink"'  # fmt: skip


def make_document(kind, body, styles="", others="", parts=None, template=""):
    return make_zip(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}{template}",
            "content.xml": f"<office:document-content {NAMESPACES}><office:automatic-styles>"
            f"{styles}</office:automatic-styles><office:body>{body}</office:body>"
            "</office:document-content>",
            "styles.xml": f"<office:document-styles {NAMESPACES}>{others}</office:document-styles>",
            **(parts or {}),
        }
    )


def style(name, properties, more=""):
    return (
        f'<style:style style:name="{name}"{more}><style:text-properties {properties}/>'
        "</style:style>"
    )


def text_of(parse, body, styles="", others="", parts=None):
    content = make_document("text", f"<office:text>{body}</office:text>", styles, others, parts)
    [page] = parse(content, "a.odt").pages
    return page.text


class TestNumbers:
    LEVEL = (
        '<text:{}-level-style{} text:level="{}" style:num-format="{}" style:num-suffix="{}" '
        'text:display-levels="{}"/>'
    ).format
    LIST = (
        f'<text:list-style style:name="L">{LEVEL("list", "-number", 1, "I", ".", 1)}'
        f"{LEVEL('list', '-number', 2, 'a', ')', 1)}</text:list-style>"
    )

    def test_of_lists_are_those_that_the_page_shows(self, parse):
        later = " text:start-value='9'"
        item = "<text:list-item{}><text:p>{}</text:p>{}</text:list-item>".format
        inner = f"<text:list>{item('', 'rafts', '')}{item('', 'canoes', '')}</text:list>"
        body = (
            f'<text:list text:style-name="L">{item("", "Ships", "")}{item("", "Boats", inner)}'
            f"<text:list-header><text:p>Apart</text:p></text:list-header></text:list><text:p>So</text:p>"
            f'<text:list text:style-name="L" text:continue-numbering="true">{item("", "Tolls", "")}'
            f"{item(later, 'Later', '')}</text:list>"
        )

        assert text_of(parse, body, self.LIST) == (
            "I. Ships\nII. Boats\n    a) rafts\n    b) canoes\nApart\n\nSo\n\nIII. Tolls\nIX. Later"
        )

    def test_of_headings_name_the_levels_above(self, parse):
        heading = '<text:h text:outline-level="{}">{}</text:h>'.format
        outline = (
            f"<text:outline-style>{self.LEVEL('outline', '', 1, '1', '', 1)}"
            f"{self.LEVEL('outline', '', 2, '1', '', 2)}</text:outline-style>"
        )
        body = heading(1, "Fees") + heading(2, "Ships") + heading(2, "Boats")

        assert text_of(parse, body, others=outline) == "# 1 Fees\n\n## 1.1 Ships\n\n## 1.2 Boats"


class TestLetters:
    def test_that_are_raised_or_lowered_stay_apart(self, parse):
        styles = (
            style("up", 'style:text-position="super 58%"')
            + style("down", 'style:text-position="-33% 58%"')
            + style("up2", "", ' style:parent-style-name="up"')
        )
        span = '<text:span text:style-name="{}">{}</text:span>'.format
        body = f"<text:p>10{span('up', 6)} m{span('up2', 3)} of CO{span('down', 2)}.</text:p>"

        assert text_of(parse, body, styles) == "10⁶ m³ of CO₂."

    def test_of_readings_stand_apart(self, parse):
        body = (
            "<text:p><text:ruby><text:ruby-base>港</text:ruby-base><text:ruby-text>みなと"
            "</text:ruby-text></text:ruby>区</text:p>"
        )

        assert text_of(parse, body) == "港区\n\n[Reading] 港: みなと"


class TestUnseenText:
    def test_is_kept_apart(self, parse):
        body = (
            "<office:text><text:tracked-changes><text:changed-region><text:deletion>"
            "<text:p>Was 120.</text:p></text:deletion></text:changed-region></text:tracked-changes>"
            "<text:p>Fee 95."
            '<text:span text:style-name="no">Take 60.</text:span><text:hidden-text text:is-hidden='
            '"true" text:string-value="Ask Kim."/></text:p></office:text>'
        )
        content = make_document("text", body, style("no", 'text:display="none"'))

        [page] = parse(content, "a.odt").pages

        assert page.text == "Fee 95."
        assert page.unseen == (
            ("Was 120.", "deleted"), ("Take 60.", "hidden"), ("Ask Kim.", "hidden"),
        )  # fmt: skip

    def test_of_sheets_is_kept_apart(self, parse):
        cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>".format
        row = "<table:table-row{}>{}</table:table-row>".format
        filtered = " table:visibility='filter'"
        columns = '<table:table-column/><table:table-column table:visibility="collapse"/>'
        body = (
            f'<office:spreadsheet><table:table table:name="Fees">{columns}'
            f"{row('', cell('Berth') + cell('Cost') + cell('Fee'))}"
            f"{row(filtered, cell('B-16') + cell('59') + cell('94'))}"
            f"{row('', cell('B-17') + cell('60') + cell('95'))}</table:table>"
            f'<table:table table:name="Secret" table:style-name="off">{row("", cell("List"))}'
            "</table:table></office:spreadsheet>"
        )
        styles = (
            '<style:style style:name="off"><style:table-properties table:display="false"/>'
            "</style:style>"
        )

        first, second = parse(make_document("spreadsheet", body, styles), "a.ods").pages

        assert first.text == "# Fees\n\n| Berth | Fee |\n| --- | --- |\n| B-17 | 95 |"
        assert {each.text for each in first.unseen} == {"Cost", "B-16\t59\t94", "60"}
        assert (second.text, second.unseen) == ("", (("# Secret\n\nList", "hidden"),))

    def test_of_slides_is_kept_apart(self, parse):
        slide = (
            "<draw:page{}><draw:frame><draw:text-box><text:p>{}</text:p></draw:text-box>"
            "</draw:frame></draw:page>"
        ).format
        styles = (
            '<style:style style:name="off"><style:drawing-page-properties '
            'presentation:visibility="hidden"/></style:style>'
        )
        body = slide(" draw:style-name='off'", "Not this.") + slide("", "This.")
        body = f"<office:presentation>{body}</office:presentation>"

        first, second = parse(make_document("presentation", body, styles), "a.odp").pages

        assert (first.text, first.unseen) == ("", (("Not this.", "hidden"),))
        assert second.text == "This."


class TestParts:
    def test_of_formulas_stand_in_the_line(self, parse):
        formula = '<math xmlns="http://www.w3.org/1998/Math/MathML"><msup><mi>r</mi><mn>2</mn></msup></math>'
        body = (
            "<text:p>It is <draw:frame><draw:object xlink:href='./Object 1'/></draw:frame> wide."
            "</text:p>"
        )

        parts = {"Object 1/content.xml": formula}

        assert text_of(parse, body, parts=parts) == "It is $r^{2}$ wide."

    def test_of_the_margin_are_read_once_without_page_numbers(self, parse):
        master = (
            '<style:master-page style:name="Standard"><style:header><text:p>Case 7<text:tab/>'
            "Page <text:page-number>1</text:page-number></text:p></style:header>"
            '</style:master-page><style:master-page style:name="Unused"><style:header>'
            "<text:p>Other</text:p>"
            "</style:header></style:master-page>"
        )

        assert text_of(parse, "<text:p>Text.</text:p>", others=master) == "Case 7\n\nText."

    def test_of_cells_without_text_are_their_values_or_formulas(self, parse):
        cells = (
            '<table:table-cell office:value-type="float" office:value="7"/>'
            '<table:table-cell table:formula="of:=SUM([.A1:.B1])"/>'
        )
        body = (
            "<office:spreadsheet><table:table><table:table-row>"
            f"{cells}</table:table-row></table:table></office:spreadsheet>"
        )

        document = parse(make_document("spreadsheet", body), "a.ods")

        assert "| 7 | =SUM([.A1:.B1]) |" in document.pages[0].text
        assert [warning.code for warning in document.warnings] == ["uncalculated_formula"]


@pytest.mark.parametrize(
    ("kind", "suffix", "body"),
    [("text", "ott", "<office:text><text:p>A letter.</text:p></office:text>")],
)
def test_templates_are_read(parse, kind, suffix, body):
    content = make_document(kind, body, template="-template")

    assert parse(content, f"a.{suffix}").pages[0].text == "A letter."
