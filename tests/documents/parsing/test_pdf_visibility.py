import io
import re
from collections import Counter

import pytest
from reportlab.pdfgen.canvas import Canvas

from documents.parsing import pdf_visibility
from tests.documents.parsing.pdf_maker import UNSEEN, VISIBLE, PdfMaker, make_random_pdf
from tests.documents.parsing.test_hostile_pdfs import make_raw_pdf, make_stream

MIN_SHARE_OF_WORDS = 0.99


def words(text):
    return Counter(re.findall(r"[\w:.-]+", text))


def squeeze(text):
    return re.sub(r"[^\w]+", "", text)


class TestRandomPages:
    @pytest.mark.parametrize("seed", range(40))
    def test_hold_what_can_be_seen_and_nothing_else(self, parse, seed):
        made = make_random_pdf(seed)

        [page] = parse(made.content, "a.pdf").pages

        expected = Counter(made.visible)
        assert (words(page.text) & expected).total() >= MIN_SHARE_OF_WORDS * expected.total()
        for text, reason in made.unseen:
            [only] = re.findall(r"[Ww]ord\d+x", text)
            assert only not in page.text
            assert any(only in each.text and each.reason == reason for each in page.unseen)
        assert not [word for word in made.unreadable if len(word) > 4 and word in page.text]
        assert bool(page.unreadable_chars) == bool(made.unreadable)
        hidden = squeeze(" ".join(each.text for each in page.unseen))
        assert len(hidden) <= sum(len(squeeze(text)) for text, _ in made.unseen)


class TestText:
    @pytest.mark.parametrize("draw", VISIBLE)
    def test_that_can_be_seen_is_read_once_without_a_warning(self, parse, draw):
        maker = PdfMaker(1)
        draw(maker)

        document = parse(maker.make().content, "a.pdf")

        assert words(document.pages[0].text) == Counter(maker.made.visible)
        assert document.warnings == ()

    @pytest.mark.parametrize("draw", UNSEEN)
    def test_that_cannot_be_seen_is_kept_apart(self, parse, draw):
        maker = PdfMaker(1)
        maker.plain()
        draw(maker)

        document = parse(maker.make().content, "a.pdf")

        [page] = document.pages
        assert words(page.text) == Counter(maker.made.visible)
        assert [tuple(each) for each in page.unseen] == maker.made.unseen
        assert [warning.code for warning in document.warnings] == ["hidden_text"]

    def test_that_ocr_put_above_a_scan_is_read(self, parse):
        maker = PdfMaker(1)
        maker.scan()

        document = parse(maker.make().content, "a.pdf")

        assert words(document.pages[0].text) == Counter(maker.made.visible)
        assert document.warnings == ()

    def test_above_a_scan_that_has_nothing_there_is_kept_apart(self, parse):
        maker = PdfMaker(1)
        maker.scan()
        maker._y = 200
        maker.invisible()

        [page] = parse(maker.make().content, "a.pdf").pages

        assert words(page.text) == Counter(maker.made.visible)
        assert [tuple(each) for each in page.unseen] == maker.made.unseen

    def test_in_a_layer_that_is_switched_off_is_kept_apart(self, parse):
        form = b"/Type/XObject/Subtype/Form/BBox[0 0 900 900]/Resources<</Font<</F 5 0 R>>>>/OC %s"
        line = b"BT /F 12 Tf 72 %d Td (%s) Tj ET"
        content = b" ".join(
            [
                line % (700, b"The heron waits at the quay."),
                b"/OC /A BDC %s EMC" % (line % (650, b"This layer is off.")),
                b"/OC /B BDC %s EMC /X Do /Y Do" % (line % (600, b"This layer is on.")),
            ]
        )
        made = make_raw_pdf(
            content,
            b"<</Type/OCG/Name(A)>>",
            b"<</Type/OCG/Name(B)>>",
            make_stream(line % (550, b"This form is off."), form % b"6 0 R"),
            make_stream(line % (500, b"This form is on."), form % b"7 0 R"),
            resources=b"/Font<</F 5 0 R>>/Properties<</A 6 0 R/B 7 0 R>>"
            b"/XObject<</X 8 0 R/Y 9 0 R>>",
        ).replace(b"/Outlines 6 0 R", b"/OCProperties<</OCGs[6 0 R 7 0 R]/D<</OFF[6 0 R]>>>>")

        [page] = parse(made, "a.pdf").pages

        assert "off" not in page.text
        assert words(page.text) == words(
            "The heron waits at the quay. This layer is on. This form is on."
        )
        [unseen] = page.unseen
        assert unseen == ("This layer is off. This form is off.", "hidden")

    def test_of_a_page_with_too_many_shapes_to_compare_is_found_as_well(self, parse, monkeypatch):
        monkeypatch.setattr(pdf_visibility, "MAX_COVERS", 0)
        maker = PdfMaker(1)
        maker.plain()
        maker.framed()
        maker.covered_by_a_shape()

        [page] = parse(maker.make().content, "a.pdf").pages

        assert [tuple(each) for each in page.unseen] == maker.made.unseen


class TestClippedText:
    """Each page draws ``word1x word2x`` from (100, 700) in 12 points, within these clips."""

    def read(self, parse, *clips, rotation=0):
        file = io.BytesIO()
        # As the page is shown: turned by a quarter, it is wide.
        canvas = Canvas(file, pagesize=(842, 595) if rotation == 90 else (595, 842))
        canvas.setPageRotation(rotation)
        canvas.drawString(100, 780, "The harbour fee is due on arrival at the north quay.")
        canvas.saveState()
        for clip in clips:
            path = canvas.beginPath()
            path.rect(*clip)
            canvas.clipPath(path, stroke=0, fill=0)
        canvas.drawString(100, 700, "word1x word2x")
        canvas.restoreState()
        canvas.drawString(100, 600, "Dogs are kept on a leash.")
        canvas.save()
        [page] = parse(file.getvalue(), "a.pdf").pages
        assert "leash" in page.text
        return page

    @pytest.mark.parametrize("rotation", [0, 90, 180])
    @pytest.mark.parametrize(
        "clips",
        [
            [(0, 0, 595, 842)],
            [(0, 600, 595, 200), (50, 650, 400, 100)],
            [(90, 690, 200, 30)],
        ],
    )
    def test_within_its_clips_is_read(self, parse, clips, rotation):
        page = self.read(parse, *clips, rotation=rotation)

        assert "word1x word2x" in page.text
        assert page.unseen == ()

    def test_of_which_a_part_is_within_is_read(self, parse):
        page = self.read(parse, (0, 0, 130, 842))

        assert "word1x" in page.text

    @pytest.mark.parametrize("rotation", [0, 90, 180])
    @pytest.mark.parametrize(
        "clips",
        [
            [(300, 100, 200, 200)],
            [(0, 0, 595, 842), (0, 0, 595, 500)],
            [(0, 690, 595, 40), (0, 100, 595, 40)],
        ],
    )
    def test_outside_a_clip_is_kept_apart(self, parse, clips, rotation):
        page = self.read(parse, *clips, rotation=rotation)

        assert "word" not in page.text
        assert [tuple(each) for each in page.unseen] == [("word1x word2x", "outside")]
