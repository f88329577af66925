"""What HTML shows beside its plain text: raised signs, marks, images, formulas, forms; and what it
hides."""

import pytest

from documents.parsing.blocks import join_blocks
from documents.parsing.html import HtmlText


def read(source):
    return join_blocks(HtmlText.from_html(f"<html><body>{source}").blocks)


def read_unseen(source):
    blocks = HtmlText.from_html(f"<html><body>{source}").blocks
    return [(each.text, each.reason) for block in blocks for each in block.unseen]


class TestRaisedText:
    @pytest.mark.parametrize(
        ("source", "text"),
        [
            ("10<sup>6</sup> events on 12 m<sup>2</sup>", "10⁶ events on 12 m²"),
            ("10<sup>&minus;3</sup> of CO<sub>2</sub>", "10⁻³ of CO₂"),
            ("x<sup>a, b</sup>", "x^(a, b)"),
            ("Strata<sup>®</sup> of Na<sup>+</sup>, free<sup>*</sup>", "Strata® of Na⁺, free*"),
            ("the 21<sup>st</sup> time", "the 21st time"),
            ("in 2025<sup><a href='#n1'>1</a></sup>.", "in 2025 [1]."),
            ("in 2025<a href='#n1'><sup>[1]</sup></a>.", "in 2025 [1]."),
            ("in 2025<a role='doc-noteref' href='n.xhtml#n1'>1</a>.", "in 2025 [1]."),
            ("in 2025<sup>1</sup>.", "in 2025¹."),
            ("in 2025<sup>[<i>citation needed</i>]</sup>.", "in 2025 [citation needed]."),
            ("<a href='#area'>Area in m<sup>2</sup></a>", "Area in m²"),
            ("<sup>A whole paragraph that an author wrote small and raised</sup>", "A whole"),
        ],
    )
    def test_stays_apart_from_what_it_stands_at(self, source, text):
        assert read(source).startswith(text)

    def test_is_raised_in_cells(self):
        table = "<table><tr><th>Year<th>Fee<sup>1</sup><tr><td>2025<td>451<sup>2</sup></table>"

        assert "| Year | Fee¹ |\n| --- | --- |\n| 2025 | 451² |" in read(table)


class TestMarks:
    def test_of_places_are_left_out(self):
        assert read("<h1>Install<a href='#i'>¶</a></h1><h2>Run <a href='#r'>#</a></h2>") == (
            "# Install\n\n## Run"
        )
        assert read("<ol><li>The note. <a href='#r1'>↩</a></ol>") == "1. The note."

    def test_that_link_elsewhere_stay(self):
        assert read("See <a href='https://x.example/a#b'>#</a> 7 ¶ 3") == "See # 7 ¶ 3"
        assert read("<a href='#4'>§</a> 4 and <a href='#n'>#</a> 5") == "§ 4 and # 5"


class TestReadings:
    def test_do_not_stand_in_the_word(self):
        source = (
            "<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby><ruby>都<rt>と</rt></ruby>に"
        )

        assert read(source) == "東京都に"


class TestImages:
    @pytest.mark.parametrize(
        ("source", "text"),
        [
            ("Press <img alt='Stop'> now", "Press Stop now"),
            ("word<img alt='Stop'>word", "word Stop word"),
            ("fine <img alt='😀' class=emoji>", "fine 😀"),
            ("a<img alt=''>b<img>c", "abc"),
            ("a <img alt='IMG_0042.jpg'><img alt=image><img alt='Logo'> b", "a b"),
            ("a <img alt='Line' role=presentation><img alt='Line' aria-hidden=true> b", "a b"),
            ("<a href=x><img alt='Home'> Home</a>", "Home"),
            ("<figure><img alt='Tides'><figcaption>Tides of May</figcaption></figure>",
             "Tides of May"),
            ("<figure><figcaption>Tides of May</figcaption><img alt='tides of May'></figure>",
             "Tides of May"),
            ("<figure><img alt='Bars: 2.91 m'><figcaption>Tides</figcaption></figure>",
             "Bars: 2.91 m\n\nTides"),
            ("13 of <img alt='3'>", "13 of 3"),
            ("<img src='data:image/png;base64,AAAA' alt='Wiring'>", "Wiring"),
        ],
    )  # fmt: skip
    def test_say_what_they_show_once(self, source, text):
        assert read(source) == text

    def test_of_svg_say_their_texts(self):
        drawing = (
            "<svg><title>Depth</title><style>.a{}</style><defs><text>no</text></defs>"
            "<g><text>Shoal <tspan>at 3 m</tspan></text><text>Buoy 9</text></g></svg>"
        )

        assert read(f"Map {drawing} end") == "Map Depth\nShoal at 3 m\nBuoy 9\nend"


class TestFormulas:
    @pytest.mark.parametrize(
        ("formula", "text"),
        [
            ("<mi>π</mi><msup><mi>r</mi><mn>2</mn></msup>", "$π r^{2}$"),
            ("<mi>h</mi><mo>=</mo><mi>a</mi><mi>t</mi>", "$h=at$"),
            ("<mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mn>12</mn></mrow></mfrac>",
             "${a}/{b+12}$"),
            ("<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mn>1</mn></mtd></mtr></mtable>", "$a 1$"),
            ("<msqrt><mi>a</mi><mo>+</mo><mi>b</mi></msqrt>", "$√{a+b}$"),
            ("<semantics><mi>E</mi><annotation encoding='application/x-tex'>E=mc^2"
             "</annotation></semantics>", "$E=mc^2$"),
        ],
    )  # fmt: skip
    def test_are_a_line(self, formula, text):
        assert read(f"Is <math>{formula}</math> so?") == f"Is {text} so?"

    def test_are_not_repeated_by_what_draws_them(self):
        drawn = "<span aria-hidden=true><b>E</b>=mc2</span>"
        tex = "<annotation encoding='application/x-tex'>E=mc^2</annotation>"

        assert read(f"Is <span><math>{tex}</math></span>{drawn}, so") == "Is $E=mc^2$, so"
        assert read("<b aria-hidden=true>Closed</b> on Friday") == "Closed on Friday"

    def test_beside_their_picture_are_read_for_it(self):
        tex = "<annotation encoding='application/x-tex'>{\\displaystyle x^{2}}</annotation>"
        source = f"Is <span style='display: none'><math>{tex}</math></span>"

        assert read(f"{source}<img alt='{{\\displaystyle x^{{2}}}}'> so") == "Is $x^{2}$ so"
        assert read_unseen(source) == []

    def test_of_any_depth_are_read(self):
        assert "x" in read("<math>" + "<msup><mi>a</mi>" * 2_000 + "<mi>x</mi>")


class TestForms:
    def test_have_values_and_boxes(self):
        source = (
            "<label>Berth <input value='B-17'></label> is <select><option>free"
            "<option selected>taken</select>. <input type=checkbox checked> Crane"
            "<input type=checkbox> Water<input type=hidden value=token>"
            "<input type=checkbox role=button><input type=password value=secret>"
            "<input type=submit value=Send>"
        )

        assert read(source) == "Berth B-17 is taken . [x] Crane [ ] Water"


class TestUnseenText:
    @pytest.mark.parametrize(
        "source",
        [
            "<p hidden>Our price is 60</p>",
            "<div style='DISPLAY : none'><p>Our price</p><p>is 60</p></div>",
            "<span style='visibility:hidden'>Our price is 60</span>",
        ],
    )
    def test_is_apart_from_the_text(self, source):
        assert read(f"Fee. {source}") == "Fee."
        assert read_unseen(f"Fee. {source}") == [("Our price is 60", "hidden")]

    @pytest.mark.parametrize(
        "struck",
        [
            "<del>120 euro</del>",
            "<s>120 euro</s>",
            "<b style='text-decoration: line-through'>120 euro</b>",
        ],
    )
    def test_is_what_was_struck_out(self, struck):
        source = f"Price: {struck} <ins>95 euro</ins>."

        assert read(source) == "Price: 95 euro."
        assert read_unseen(source) == [("120 euro", "deleted")]

    def test_is_no_script(self):
        source = "<div hidden>x<script>var a</script><svg><title>Icon</title></svg></div>"

        assert read_unseen(source) == [("x", "hidden")]

    def test_is_not_what_only_programs_do_not_read_out(self):
        source = "<p aria-hidden=true>Seen</p><p style='display:block'>Also</p>"

        assert read(source) == "Seen\n\nAlso"
        assert read_unseen(source) == []

    def test_of_a_file_is_on_its_page(self, parse):
        document = parse("<h1>A</h1><p>a<h1>B</h1><p>b<p hidden>no", "a.html")

        assert [[each.text for each in page.unseen] for page in document.pages] == [[], ["no"]]
        assert [warning.code for warning in document.warnings] == ["hidden_text"]


class TestHeadersOfTables:
    def test_of_two_rows_are_joined(self):
        table = (
            "<table><thead><tr><th>Year<th>Fee<th>Tax<tr><th>AD<th>euro<th>euro</thead>"
            "<tr><td>1<td>2<td>3</table>"
        )

        assert read(table).startswith("| Year AD | Fee euro | Tax euro |\n| --- |")

    def test_of_a_group_stay_in_the_table(self):
        table = "<table><tr><th>Name<th>Fee<th>Tax<tr><th colspan=3>Crew<tr><td>a<td>b<td>c</table>"

        assert read(table).startswith("| Name | Fee | Tax |\n| --- | --- | --- |\n| Crew |")
