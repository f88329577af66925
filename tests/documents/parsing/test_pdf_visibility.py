import re
from collections import Counter

import pytest

from documents.parsing import pdf_visibility
from tests.documents.parsing.pdf_maker import UNSEEN, VISIBLE, PdfMaker, make_random_pdf

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

    def test_of_a_page_with_too_many_shapes_to_compare_is_found_as_well(self, parse, monkeypatch):
        monkeypatch.setattr(pdf_visibility, "MAX_COVERS", 0)
        maker = PdfMaker(1)
        maker.plain()
        maker.framed()
        maker.covered_by_a_shape()

        [page] = parse(maker.make().content, "a.pdf").pages

        assert [tuple(each) for each in page.unseen] == maker.made.unseen
