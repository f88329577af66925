"""Draw a page of a PDF or an image, and find where a passage of a PDF's text stands on its page.

The text may be Markdown that a reader put into another order than the file has. So the letters and
digits of both are aligned: first stretches that occur once in each (the maximal unique matches of
Delcher et al. 1999, with a fixed shortest length), then their neighbours.
"""

import ctypes
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw

from documents.parsing.image import open_image
from documents.parsing.pdf import draw_page, open_pdf

MAX_SIDE = 1_600  # pixels
QUALITY = 80  # of 100; text stays sharp
EFFORT = 2  # of 6; more takes several times as long for a tenth of the size

STRETCHES = (10, 6, 4)  # letters; shorter ones are told apart once the longer ones are placed
# Of a passage's letters. Below it the page is in such disorder that a mark might mislead.
MIN_SHARE_FOUND = 0.95
MAX_GAP = 5  # between letters of a line, in its heights
PADDING = 0.25  # of a line's height
_UNITS = 10_000  # of a page's width and height, in which PDFium gives whole numbers


class Box(NamedTuple):
    """A part of a line, or a letter where lines are not horizontal, in shares of the page's width
    and height from its upper left corner."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def continues(self, line: "Box") -> bool:
        shared = min(self.bottom, line.bottom) - max(self.top, line.top)
        gap = self.left - line.right
        return (
            2 * shared > min(self.height, line.height)
            and -line.height < gap < MAX_GAP * line.height
        )

    def pad(self) -> "Box":
        """With room for what rises above and hangs below the letters seen."""
        room = PADDING * self.height
        return self._replace(top=max(0, self.top - room), bottom=min(1, self.bottom + room))

    def join(self, other: "Box") -> "Box":
        return Box(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )


def draw(path: Path, media_type: str, index: int) -> bytes:
    """A page of a PDF, or an image, as WebP."""
    if media_type == "application/pdf":
        picture = draw_page(open_pdf(path), index, MAX_SIDE)
    else:
        picture = open_image(path)
        picture.thumbnail((MAX_SIDE, MAX_SIDE))  # does not enlarge
    file = BytesIO()
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    picture.convert(mode).save(file, "WEBP", quality=QUALITY, method=EFFORT)
    return file.getvalue()


def find_boxes(path: Path, index: int, text: str, start: int, end: int) -> list[Box]:
    """The boxes of ``text[start:end]``, where ``text`` is that of the whole page; none if less than
    ``MIN_SHARE_FOUND`` of the passage is found."""
    letters = [(letter, at) for at, char in enumerate(text) for letter in _letters_of(char)]
    glyphs = _read_glyphs(open_pdf(path)[index])
    places = align_letters([letter for letter, _ in letters], [letter for letter, _ in glyphs])
    passage = [place for (_, at), place in zip(letters, places, strict=True) if start <= at < end]
    found = sorted(place for place in passage if place is not None)
    if not found or len(found) < MIN_SHARE_FOUND * len(passage):
        return []
    return _join_lines((place, glyphs[place][1]) for place in found)


def align_letters(text: Sequence[str], page: Sequence[str]) -> list[int | None]:
    """For each letter of the text its index in the page's letters; None where it is not certain."""
    places: list[int | None] = [None] * len(text)
    taken = [False] * len(page)

    def place(at: int, index: int) -> None:
        if places[at] is None and not taken[index]:
            places[at] = index
            taken[index] = True

    for length in STRETCHES:
        on_page = _find_unique_stretches(page, taken, length)
        is_placed = [index is not None for index in places]
        for stretch, at in _find_unique_stretches(text, is_placed, length).items():
            if stretch in on_page:
                for offset in range(length):
                    place(at + offset, on_page[stretch] + offset)
        for step, order in ((1, range(1, len(text))), (-1, range(len(text) - 2, -1, -1))):
            for at in order:
                neighbour = places[at - step]
                index = -1 if neighbour is None else neighbour + step
                if 0 <= index < len(page) and text[at] == page[index]:
                    place(at, index)
    return places


def _find_unique_stretches(
    letters: Sequence[str], is_placed: Sequence[bool], length: int
) -> dict[str, int]:
    """The stretches of unplaced letters that occur once, with their index."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    run = 0  # unplaced letters up to here
    for end in range(1, len(letters) + 1):
        run = 0 if is_placed[end - 1] else run + 1
        if run >= length:
            found["".join(letters[end - length : end])].append(end - length)
    return {stretch: places[0] for stretch, places in found.items() if len(places) == 1}


def _letters_of(char: str) -> Iterator[str]:
    return filter(str.isalnum, unicodedata.normalize("NFKC", char))


def _read_glyphs(page: pypdfium2.PdfPage) -> list[tuple[str, Box]]:
    """The page's letters and digits in the order of the file, each with its box, which includes the
    punctuation that follows."""
    glyphs: list[tuple[str, Box]] = []
    text_page = page.get_textpage()
    is_in_word = False
    for index in range(text_page.count_chars()):
        char = chr(pypdfium2.raw.FPDFText_GetUnicode(text_page, index))
        if char.isspace():
            is_in_word = False
        elif letters := list(_letters_of(char)):
            box = _read_box(page, text_page, index)
            glyphs += [(letter, box) for letter in letters]
            is_in_word = True
        elif is_in_word:
            letter, box = glyphs[-1]
            mark = _read_box(page, text_page, index)
            if 0 <= mark.left - box.left < 2 * box.height:
                glyphs[-1] = (letter, box._replace(right=max(box.right, mark.right)))
    return glyphs


def _read_box(page: pypdfium2.PdfPage, text_page: pypdfium2.PdfTextPage, index: int) -> Box:
    left, bottom, right, top = text_page.get_charbox(index)
    corners = [_to_shares(page, left, top), _to_shares(page, right, bottom)]
    across, down = zip(*corners, strict=True)  # a turned page exchanges the corners
    return Box(min(across), min(down), max(across), max(down))


def _to_shares(page: pypdfium2.PdfPage, x: float, y: float) -> tuple[float, float]:
    across, down = ctypes.c_int(), ctypes.c_int()
    pypdfium2.raw.FPDF_PageToDevice(page, 0, 0, _UNITS, _UNITS, 0, x, y, across, down)
    return across.value / _UNITS, down.value / _UNITS


def _join_lines(glyphs: Iterable[tuple[int, Box]]) -> list[Box]:
    """A box for each run of letters that follow each other on a line."""
    lines: list[Box] = []
    last = -1
    for index, box in glyphs:
        if lines and index <= last + 1 and box.continues(lines[-1]):
            lines[-1] = lines[-1].join(box)
        else:
            lines.append(box)
        last = index
    return [line.pad() for line in lines]
