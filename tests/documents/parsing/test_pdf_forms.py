import io
import re

from reportlab.pdfgen.canvas import Canvas

from documents.parsing.page_pictures import find_boxes


def make_form(*fields):
    """A label for each field, and the field 200 points to the right of it."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pageCompression=0)
    canvas.drawString(60, 750, "what the master of the vessel has to tell the office on arrival.")
    for number, (label, kind, options) in enumerate(fields):
        y = 700 - 40 * number
        canvas.drawString(60, y, label)
        place = {"x": 260, "y": y - 4, "name": f"field{number}", "fontSize": 10}
        if kind in {"checkbox", "radio"}:
            del place["fontSize"]
        getattr(canvas.acroForm, kind)(**place, **options)
    canvas.save()
    return stream.getvalue()


FIELDS = [
    ("Vessel:", "textfield", {"value": "Sea Campion", "width": 250, "height": 18}),
    (
        "Season:",
        "choice",
        {"value": "Winter", "options": ["Summer", "Winter"], "width": 90, "height": 18},
    ),
    ("Insured:", "checkbox", {"checked": True, "size": 14}),
    ("Dogs:", "checkbox", {"checked": False, "size": 14}),
    ("Remarks:", "textfield", {"value": "", "width": 250, "height": 18}),
]
LINES = ["Vessel: Sea Campion", "Season: Winter", "Insured: [x]", "Dogs: [ ]", "Remarks:"]


def without_appearances(form):
    return form.replace(b"/AP", b"/XX")


def lines(document):
    """Those of the fields."""
    return [line for line in document.pages[0].text.splitlines() if line][1:]


class TestFields:
    def test_are_read_beside_their_labels(self, parse):
        document = parse(make_form(*FIELDS), "a.pdf")

        assert lines(document) == LINES
        assert document.warnings == ()

    def test_are_read_without_appearances(self, parse):
        document = parse(without_appearances(make_form(*FIELDS)), "a.pdf")

        assert lines(document) == LINES

    def test_may_have_letters_that_no_font_at_hand_has(self, parse):
        form = without_appearances(make_form(FIELDS[0]))
        value = "Морская звезда".encode("utf-16-be").hex().encode()
        form = re.sub(rb"/V \(Sea Campion\)", b"/V <feff%s>" % value, form)

        assert lines(parse(form, "a.pdf")) == ["Vessel: Морская звезда"]

    def test_are_read_in_lines_as_they_were_written(self, parse):
        field = (
            "Note:",
            "textfield",
            {**FIELDS[0][2], "value": "one\ntwo", "fieldFlags": "multiline"},
        )

        words = " ".join(lines(parse(without_appearances(make_form(field)), "a.pdf"))).split()

        assert sorted(words) == ["Note:", "one", "two"]

    def test_that_are_hidden_are_kept_apart(self, parse):
        hidden = ("Vessel:", "textfield", {**FIELDS[0][2], "annotationFlags": "hidden"})

        [page] = parse(make_form(hidden), "a.pdf").pages

        assert page.text.endswith("Vessel:")
        assert [tuple(each) for each in page.unseen] == [("Sea Campion", "hidden")]

    def test_of_passwords_are_not_read(self, parse):
        secret = ("Password:", "textfield", {**FIELDS[0][2], "fieldFlags": "password"})

        [page] = parse(make_form(secret), "a.pdf").pages

        assert "Campion" not in page.text
        assert page.unseen == ()

    def test_are_marked_on_the_page(self, tmp_path):
        path = tmp_path / "a.pdf"
        path.write_bytes(make_form(*FIELDS))
        text = "\n".join(LINES)

        [box] = find_boxes(path, 0, text, text.index("Sea"), text.index("Season") - 1)

        assert 0.4 < box.left < box.right < 0.6


class TestXfa:
    def test_is_named_where_its_fields_are_not_read(self, parse):
        form = make_form(FIELDS[0])
        form = form.replace(b"/AcroForm", b"/AcroForm <</XFA (<xdp/>) /Fields []>> /Old")

        document = parse(form.replace(b"/Annots", b"/Notes"), "a.pdf")

        assert [warning.code for warning in document.warnings] == ["xfa_form"]
