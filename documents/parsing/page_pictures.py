"""Draw a page of a PDF or an image, and find where a passage of a PDF's text stands on its page.

The text may be Markdown that a reader put into another order than the file has. So the letters and
digits of both are aligned: first stretches that occur once in each (the maximal unique matches of
Delcher et al. 1999, with a fixed shortest length), then their neighbours. A word that repeats is
placed where its neighbours are nearest by far, or if all its repetitions are part of the passage,
since a mark need not tell them apart.
"""

import ctypes
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from io import BytesIO
from itertools import groupby, pairwise
from math import hypot, inf
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
REPEATED_STRETCHES = (*STRETCHES, 3, 2, 1)
MIN_SURE_STRETCH = 3  # shorter repetitions count only between letters that are already placed
MAX_GAPS_SIZE = 20  # of the page's letters: parts of the page may be searched for several gaps
MAX_WORD = 20  # letters; longer words hardly repeat
MAX_ROUNDS = 4  # each places words near those of the one before
MIN_LEAD = 3  # times as far as the nearest place, and some lines, is the next one at least
ALONG_LINE = 0.15  # of a distance along a line counts
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

    def distance_to(self, other: "Box") -> float:
        """In heights of a letter; what is on the same line is near."""
        across = max(0, other.left - self.right, self.left - other.right)
        down = max(0, other.top - self.bottom, self.top - other.bottom)
        return hypot(ALONG_LINE * across, down) / (max(self.height, other.height) or 1)

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
    """The boxes of ``text[start:end]``, where ``text`` is that of the whole page; none if a letter
    of the passage is not found."""
    letters = [(letter, at) for at, char in enumerate(text) for letter in _letters_of(char)]
    glyphs = _read_glyphs(open_pdf(path)[index])
    passage = [n for n, (_, at) in enumerate(letters) if start <= at < end]
    if not passage:
        return []
    alignment = Alignment([letter for letter, _ in letters], [letter for letter, _ in glyphs])
    first_letters = [n for n, (_, at) in enumerate(letters) if not n or at > letters[n - 1][1] + 1]
    words = list(pairwise([*first_letters, len(letters)]))
    alignment.place_words(words, [box for _, box in glyphs])
    alignment.place_repeated(passage[0], passage[-1] + 1)
    places = [alignment.places[n] for n in passage]
    found = sorted(place for place in places if place is not None)
    return _join_lines((n, glyphs[n][1]) for n in found) if len(found) == len(passage) else []


class Alignment:
    """The ``places`` of a text's letters among those of its page: for each letter of the text its
    index on the page, None where it is not certain."""

    def __init__(self, text: Sequence[str], page: Sequence[str]) -> None:
        self.places: list[int | None] = [None] * len(text)
        self._letters, self._text, self._page = text, list(text), list(page)  # placed ones are ""
        self._align(0, len(text), 0, len(page))
        around = [-1, *self.places, len(page)]
        room = MAX_GAPS_SIZE * len(page)
        for start, end in list(self._list_unplaced()):
            before, after = around[start], around[end + 1]
            if before is not None and after is not None and before < after < before + room:
                room -= after - before
                self._align(start, end, before + 1, after)

    def place_words(self, words: Sequence[tuple[int, int]], boxes: Sequence[Box]) -> None:
        """Place words as a whole: beside a placed letter or, where they repeat, at the place that
        is nearest by far to their neighbours. ``words``: where each begins and ends in the text;
        ``boxes``: of the page's letters."""
        for start, end in words:
            places = self.places[start:end]
            first = places[0] or 0
            if places != list(range(first, first + len(places))):  # of parts of words
                for at, place in enumerate(places, start=start):
                    if place is not None:
                        self._text[at] = self._page[place] = self._letters[at]
                        self.places[at] = None
        self._extend_words(words)
        for _ in range(MAX_ROUNDS):
            near = sorted(self._find_near(words, boxes))
            for _, at, index, length in near:
                self._place(at, index, length)
            if not near:
                break
            self._extend_words(words)
        self._extend(0, len(self._text), 0, len(self._page))

    def place_repeated(self, start: int, end: int) -> None:
        """Place what repeats as often in this part of the text as on the page, and nowhere else in
        the text: which is which makes no difference to the part as a whole."""
        for length in REPEATED_STRETCHES:
            placed = [place for place in self.places[start:end] if place is not None]
            first, last = (
                (0, len(self._page))
                if length >= MIN_SURE_STRETCH
                else (min(placed, default=0), max(placed, default=0))
            )
            on_page = _find_stretches(self._page, length)
            for stretch, found in _find_stretches(self._text, length).items():
                indexes = on_page[stretch]
                if (
                    len(found) == len(indexes)
                    and start <= found[0]
                    and found[-1] + length <= end
                    and first <= indexes[0]
                    and indexes[-1] <= last
                ):
                    for at, index in zip(found, indexes, strict=True):
                        self._place(at, index, length)
            self._extend(start, end, 0, len(self._page))

    def _align(self, start: int, end: int, page_start: int, page_end: int) -> None:
        """Place what occurs once in this part of the text and once in this part of the page."""
        for length in STRETCHES:
            on_page = _find_stretches(self._page[page_start:page_end], length)
            for stretch, found in _find_stretches(self._text[start:end], length).items():
                if len(found) == len(on_page[stretch]) == 1:
                    self._place(start + found[0], page_start + on_page[stretch][0], length)
            self._extend(start, end, page_start, page_end)

    def _extend(self, start: int, end: int, page_start: int, page_end: int) -> None:
        """Place the letters that stand beside a placed one in the text and on the page."""
        for step, order in ((1, range(start + 1, end)), (-1, range(end - 2, start - 1, -1))):
            for at in order:
                neighbour = self.places[at - step]
                index = -1 if neighbour is None else neighbour + step
                if page_start <= index < page_end and self._text[at] == self._page[index]:
                    self._place(at, index, 1)

    def _extend_words(self, words: Sequence[tuple[int, int]]) -> None:
        """Place the words that stand as a whole beside a placed letter in both."""
        for step, order in ((1, words), (-1, words[::-1])):
            for start, end in order:
                at, length = (start - 1 if step == 1 else end), end - start
                neighbour = self.places[at] if 0 <= at < len(self.places) else None
                if neighbour is not None:
                    index = neighbour + 1 if step == 1 else neighbour - length
                    if index >= 0 and self._page[index : index + length] == self._text[start:end]:
                        self._place(start, index, length)

    def _find_near(
        self, words: Sequence[tuple[int, int]], boxes: Sequence[Box]
    ) -> Iterator[tuple[float, int, int, int]]:
        """Words that have one place near their neighbours, which is not near those of an equal
        word: each with its distance, its indexes in the text and on the page, and its length."""
        unplaced: defaultdict[str, list[int]] = defaultdict(list)
        for start, end in words:
            if end - start <= MAX_WORD and all(self._text[start:end]):
                unplaced["".join(self._text[start:end])].append(start)
        stretches = {n: _find_stretches(self._page, n) for n in {len(word) for word in unplaced}}
        pairs = [(found, stretches[len(word)][word], len(word)) for word, found in unplaced.items()]
        room = MAX_GAPS_SIZE * len(self._page)
        for found, indexes, length in sorted(pairs, key=lambda pair: len(pair[0]) * len(pair[1])):
            room -= len(found) * (len(found) + len(indexes))
            if not indexes or room < 0:
                continue
            measure = partial(self._measure, boxes, length)
            distances = {(at, index): measure(at, index) for at in found for index in indexes}
            for at in found:
                distance, nearest = min((distances[at, index], index) for index in indexes)
                others = [distances[at, index] for index in indexes if index != nearest]
                others += [distances[other, nearest] for other in found if other != at]
                if distance < inf and min(others, default=inf) >= MIN_LEAD * (distance + 1):
                    yield distance, at, nearest, length

    def _measure(self, boxes: Sequence[Box], length: int, at: int, index: int) -> float:
        """How far a word at this place would be from the nearer of its neighbours in the text."""
        ends = [(at - 1, index), (at + length, index + length - 1)]
        sides = [(self.places[n], end) for n, end in ends if 0 <= n < len(self.places)]
        return min(
            (boxes[n].distance_to(boxes[end]) for n, end in sides if n is not None), default=inf
        )

    def _place(self, at: int, index: int, length: int) -> None:
        """Place a stretch, unless a part of it is placed already."""
        if all(self._text[at : at + length]) and all(self._page[index : index + length]):
            self.places[at : at + length] = range(index, index + length)
            self._text[at : at + length] = self._page[index : index + length] = [""] * length

    def _list_unplaced(self) -> Iterator[tuple[int, int]]:
        """Where each run of letters without a place begins and ends."""
        end = 0
        for is_placed, run in groupby(self.places, lambda place: place is not None):
            start, end = end, end + len(list(run))
            if not is_placed:
                yield start, end


def _find_stretches(letters: Sequence[str], length: int) -> defaultdict[str, list[int]]:
    """The stretches without an empty letter, each with every index where it begins."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    run = 0  # letters up to here
    for end, letter in enumerate(letters, start=1):
        run = run + 1 if letter else 0
        if run >= length:
            found["".join(letters[end - length : end])].append(end - length)
    return found


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
