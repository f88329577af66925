"""Passages are marked where they stand on a page, or not at all."""

import io
from itertools import accumulate, pairwise
from pathlib import Path

import pytest
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

from documents.parsing import parse_file
from documents.parsing.alignment import Alignment
from documents.parsing.boxes import Box
from documents.parsing.page_pictures import draw, find_boxes
from tests.documents.parsing.makers import (
    ARABIC_FONT,
    make_arabic_pdf,
    make_pdf,
    make_pdf_with_layout,
)

WIDTH, HEIGHT = 400, 600  # points


def draw_lines(path: Path, *lines: tuple[int, int, str], rotation: int = 0) -> Path:
    """A page with each text at its place, counted from the lower left corner."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(WIDTH, HEIGHT))
    canvas.setPageRotation(rotation)
    for x, y, text in lines:
        canvas.drawString(x, y, text)
    canvas.showPage()
    canvas.save()
    path.write_bytes(stream.getvalue())
    return path


def letters_in_a_row(text: str, page: str) -> Alignment:
    return Alignment(text, page, [Box(n, 0, n + 1, 1) for n in range(len(page))])


def mark(path: Path, text: str, passage: str) -> list[Box]:
    start = text.index(passage)
    return find_boxes(path, 0, text, start, start + len(passage))


class TestBoxes:
    def test_lie_on_the_lines_of_the_passage(self, tmp_path: Path):
        text = "Gannets dive from\nthirty metres above."
        path = draw_lines(tmp_path / "a.pdf", (50, 500, text.split("\n")[0]), (50, 480, text[18:]))

        upper, lower = mark(path, text, "dive from\nthirty")

        assert upper[0] > 50 / WIDTH
        assert lower[0] == pytest.approx(50 / WIDTH, abs=0.01)
        for (_, top, _, bottom), baseline in ((upper, 500), (lower, 480)):
            assert top < 1 - baseline / HEIGHT < bottom
            assert bottom - top < 0.04

    def test_follow_a_text_in_another_order_than_the_file(self, tmp_path: Path):
        path = draw_lines(
            tmp_path / "a.pdf", (250, 500, "The right column ends."), (50, 500, "Left begins here.")
        )

        [box] = mark(path, "Left begins here.\n\nThe right column ends.", "right column")

        assert box[0] > 250 / WIDTH

    def test_tell_repeated_words_apart_by_what_stands_around_them(self, tmp_path: Path):
        path = draw_lines(
            tmp_path / "a.pdf", (50, 500, "Sales in Norway: 12"), (50, 400, "Sales in Sweden: 12")
        )

        [box] = mark(path, "| Sales in Norway: | 12 |\n| Sales in Sweden: | 12 |", "Sweden: | 12")

        assert box[1] < 1 - 400 / HEIGHT < box[3]

    def test_are_right_on_a_turned_page(self, tmp_path: Path):
        path = draw_lines(tmp_path / "a.pdf", (50, 300, "Sideways it stands."), rotation=90)

        boxes = mark(path, "Sideways it stands.", "Sideways")

        assert min(top for _, top, _, _ in boxes) == pytest.approx(50 / HEIGHT, abs=0.01)
        for left, _, right, _ in boxes:
            assert left <= 300 / WIDTH < right

    def test_lie_beside_the_neighbours_of_a_word_that_repeats(self, tmp_path: Path):
        path = draw_lines(
            tmp_path / "a.pdf",
            (145, 506, "st"),
            (145, 406, "st"),
            (50, 500, "Petrels on the 80"),
            (50, 400, "Fulmars on the 91"),
            (50, 200, "Terns"),
        )
        text = "Petrels on the 80 st\n\nTerns\n\nFulmars on the 91 st"

        boxes = mark(path, text, "80 st")

        assert max(box.right for box in boxes) > 145 / WIDTH
        assert all(box.bottom < 1 - 490 / HEIGHT for box in boxes)

    def test_lie_at_the_nearest_of_equal_words_in_any_order_of_the_file(self, tmp_path: Path):
        path = draw_lines(
            tmp_path / "a.pdf",
            (50, 500, "Petrels"),
            (200, 400, "12"),
            (50, 200, "Terns"),  # PDFium sorts what is drawn on the same line without a break
            (50, 400, "Fulmars"),
            (50, 300, "Skuas"),
            (100, 500, "12"),
        )

        boxes = mark(path, "Petrels 12\n\nFulmars 12\n\nSkuas\n\nTerns", "Petrels 12")

        assert max(box.right for box in boxes) < 120 / WIDTH
        assert all(box.bottom < 1 - 490 / HEIGHT for box in boxes)

    def test_hold_no_other_letters(self, tmp_path: Path):
        path = draw_lines(
            tmp_path / "a.pdf",
            (50, 500, "Terns"),
            (106, 500, "nest"),
            (50, 200, "Skuas"),
            (88, 500, "97"),
        )

        left, right = mark(path, "Terns nest\n\n97\n\nSkuas", "Terns nest")

        assert left.right < 88 / WIDTH < 100 / WIDTH < right.left

    def test_are_absent_where_other_letters_stand_on_those_of_the_passage(self, tmp_path: Path):
        path = draw_lines(tmp_path / "a.pdf", (50, 500, "Net income"), (50, 502, "losses"))

        assert mark(path, "Net income\n\nlosses", "Net income") == []

    def test_hold_a_superscript_that_follows_its_line_in_the_file(self, tmp_path: Path):
        path = draw_lines(tmp_path / "a.pdf", (50, 500, "May 1     and later"), (86, 503, "st"))

        assert len(mark(path, "May 1 and later st", "May 1 and later st")) == 1

    @pytest.mark.skipif(not ARABIC_FONT.exists(), reason="needs a font with Arabic letters")
    def test_lie_on_a_line_from_right_to_left(self, tmp_path: Path):
        path = tmp_path / "a.pdf"
        path.write_bytes(make_arabic_pdf("الأهداف الأمل الأول"))
        text = parse_file(path, file_name="a.pdf").pages[0].text

        boxes = mark(path, text, "الأهداف")

        assert len(boxes) == 1

    def test_are_absent_where_two_places_are_as_near(self, tmp_path: Path):
        path = draw_lines(
            tmp_path / "a.pdf", (150, 500, "ab"), (150, 492, "ab"), (50, 500, "Skuas")
        )

        assert mark(path, "Skuas ab", "ab") == []

    def test_are_absent_if_the_page_has_another_text(self, tmp_path: Path):
        path = draw_lines(tmp_path / "a.pdf", (50, 500, "Nothing of that."))

        assert mark(path, "Gannets dive from thirty metres.", "thirty metres") == []

    def test_are_absent_where_both_places_are_possible(self, tmp_path: Path):
        path = draw_lines(tmp_path / "a.pdf", (50, 500, "Terns 7"), (50, 400, "Terns 8"))

        assert mark(path, "Terns 9\n\nTerns 9", "Terns") == []

    def test_cover_all_repetitions_but_not_one_of_them(self, tmp_path: Path):
        path = draw_lines(tmp_path / "a.pdf", (50, 500, "Skuas 40 A"), (50, 400, "Skuas 40 B"))
        text = "Skuas 40\n\nSkuas 40"

        assert len(mark(path, text, text)) == 2
        assert mark(path, text, "Skuas 40") == []

    def test_are_absent_if_a_letter_is_not_found(self, tmp_path: Path):
        path = draw_lines(tmp_path / "a.pdf", (50, 500, "Gannets dive from thirty metes."))

        assert mark(path, "Gannets dive from thirty metres.", "thirty metres") == []

    def test_cover_the_cells_of_a_table(self, tmp_path: Path):
        path = tmp_path / "a.pdf"
        path.write_bytes(make_pdf_with_layout("Results of the year"))
        text = parse_file(path, file_name="a.pdf").pages[0].text

        boxes = mark(path, text, text[text.index("| Europe") :])

        assert text.rstrip().endswith("| Europe | $2,400 | $2,150 |")
        assert len({round(top, 2) for _, top, _, _ in boxes}) == 1


class TestAlignment:
    def test_leaves_out_what_only_one_side_has(self):
        assert letters_in_a_row("xabcdefghijk", "abcdefghijky").places == [None, *range(11)]

    def test_gives_no_place_twice(self):
        places = letters_in_a_row("oneonetwothree", "onetwothree").places

        assert sorted(place for place in places if place is not None) == list(range(11))

    def test_places_words_as_a_whole(self):
        text, page = "per period and less than", "per period less than and"
        letters, on_page = text.replace(" ", ""), page.replace(" ", "")
        ends = list(accumulate(map(len, text.split()), initial=0))
        alignment = letters_in_a_row(letters, on_page)

        alignment.place_words(list(pairwise(ends)))

        assert alignment.places == [*range(9), 17, 18, 19, *range(9, 17)]

    @pytest.mark.parametrize(
        ("place", "copy", "line", "expected"), [(9, 7, 3, 7), (7, 9, 3, 7), (7, 9, 4, None)]
    )
    def test_moves_words_a_little_unless_they_follow_a_neighbour_in_the_file(
        self, place: int, copy: int, line: int, expected: int | None
    ):
        boxes = [Box(n, 0, n + 1, 1) for n in range(7)] + [Box(6, 0, 7, 1)] * 4
        boxes[place : place + 2] = [Box(6, line, 7, line + 1), Box(7, line, 8, line + 1)]
        boxes[copy : copy + 2] = [Box(6, 2, 7, 3), Box(7, 2, 8, 3)]
        alignment = Alignment("petrels12", "petrels1212", boxes)
        alignment.exchange(7, place, 2)

        is_certain = alignment.place_nearer(0, 9)

        assert (alignment.places[7] if is_certain else None) == expected

    def test_moves_several_lines_at_once(self):
        page = "ternsabcdskuasgulls12abcd34"
        lines = ["terns", "ab", "cd", "skuas", "gulls", "12", "ab", "cd", "34"]
        tops = [20, 22, 24, 26, 0, 2, 4, 6, 8]
        boxes = [
            Box(n, top, n + 1, top + 1)
            for line, top in zip(lines, tops, strict=True)
            for n in range(len(line))
        ]
        alignment = Alignment("gulls12abcd34ternsabcdskuas", page, boxes)
        alignment.exchange(5, 21, 4)

        assert alignment.place_nearer(0, 13)

        assert alignment.places[:13] == [*range(14, 27)]

    def test_tells_repetitions_apart_by_the_letters_on_both_sides(self):
        places = letters_in_a_row("herringtotalsmackerel", "totalsherring12totals34mackerel").places

        assert places[7:13] == list(range(15, 21))


class TestPicture:
    def test_shows_a_page_of_a_pdf(self, tmp_path: Path):
        path = tmp_path / "a.pdf"
        path.write_bytes(make_pdf("First", "Second"))

        assert draw(path, "application/pdf", 1)[8:12] == b"WEBP"

    @pytest.mark.parametrize("format_", ["PNG", "GIF", "JPEG"])
    def test_shows_an_image(self, tmp_path: Path, format_: str):
        path = tmp_path / "a"
        Image.new("P" if format_ == "GIF" else "L", (3_000, 100)).save(path, format_)

        with Image.open(io.BytesIO(draw(path, f"image/{format_.lower()}", 0))) as picture:
            assert (picture.format, picture.size) == ("WEBP", (1_600, 53))
