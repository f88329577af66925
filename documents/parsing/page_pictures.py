"""Draw a page of a PDF or an image, and find where a passage of a PDF's text stands on its page.

The text may be Markdown that a reader put into another order than the file has.
"""

import unicodedata
from collections.abc import Iterator
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import pypdfium2
import pypdfium2.raw

from documents.parsing.alignment import Alignment
from documents.parsing.boxes import Box, join_lines
from documents.parsing.image import open_image
from documents.parsing.pdf import draw_page, open_pdf
from documents.parsing.pdf_letters import LAM_ALEF
from documents.parsing.pdf_objects import read_box
from documents.parsing.pdf_pages import PageLoader

MAX_SIDE = 1_600  # pixels
QUALITY = 80  # of 100; text stays sharp
EFFORT = 2  # of 6; more takes several times as long for a tenth of the size


def draw(path: Path, media_type: str, index: int) -> bytes:
    """A page of a PDF, or an image, as WebP."""
    if media_type == "application/pdf":
        picture = draw_page(open_pdf(path), index, MAX_SIDE)
    else:
        picture = open_image(path, index)
        picture.thumbnail((MAX_SIDE, MAX_SIDE))  # does not enlarge
    file = BytesIO()
    mode = "RGBA" if picture.has_transparency_data else "RGB"
    picture.convert(mode).save(file, "WEBP", quality=QUALITY, method=EFFORT)
    return file.getvalue()


def find_boxes(path: Path, index: int, text: str, start: int, end: int) -> list[Box]:
    """The boxes of ``text[start:end]``, where ``text`` is that of the whole page; none if a letter
    of the passage is not found."""
    letters = [(letter, at) for at, char in enumerate(text) for letter in _letters_of(char)]
    page, _, _ = PageLoader(open_pdf(path), path.read_bytes()).load(index)
    glyphs = _read_glyphs(page)
    passage = [n for n, (_, at) in enumerate(letters) if start <= at < end]
    if not passage:
        return []
    boxes = [box for _, box in glyphs]
    alignment = Alignment(
        "".join(letter for letter, _ in letters), "".join(letter for letter, _ in glyphs), boxes
    )
    first_letters = [n for n, (_, at) in enumerate(letters) if not n or at > letters[n - 1][1] + 1]
    alignment.place_words(list(pairwise([*first_letters, len(letters)])))
    alignment.place_repeated(passage[0], passage[-1] + 1)
    if not alignment.place_nearer(passage[0], passage[-1] + 1):
        return []
    places = {alignment.places[n] for n in passage}
    if None in places:
        return []
    return join_lines(
        ((n, box) for n, box in enumerate(boxes) if n in places),
        (box for n, box in enumerate(boxes) if n not in places),
    )


def _letters_of(char: str) -> Iterator[str]:
    return filter(str.isalnum, unicodedata.normalize("NFKC", char))


def _read_glyphs(page: pypdfium2.PdfPage) -> list[tuple[str, Box]]:
    """The page's letters and digits in the order of the file, each with its box, which includes the
    punctuation that follows."""
    glyphs: list[tuple[str, Box]] = []
    text_page = page.get_textpage()
    is_in_word = False
    indexes = list(range(text_page.count_chars()))
    chars = "".join(chr(pypdfium2.raw.FPDFText_GetUnicode(text_page, index)) for index in indexes)
    for match in LAM_ALEF.finditer(chars):  # the page's text has them in the right order
        indexes[match.start(1)], indexes[match.end() - 1] = match.end() - 1, match.start(1)
    for index in indexes:
        char = chars[index]
        if char.isspace():
            is_in_word = False
        elif letters := list(_letters_of(char)):
            box = read_box(page, text_page, index)
            glyphs += [(letter, box) for letter in letters]
            is_in_word = True
        elif is_in_word:
            letter, box = glyphs[-1]
            mark = read_box(page, text_page, index)
            if 0 <= mark.left - box.left < 2 * box.height:
                glyphs[-1] = (letter, box._replace(right=max(box.right, mark.right)))
    return glyphs
