"""Take text that nobody sees off a page of a PDF, so that all readers of the page leave it out.

Objects tell which text may be unseen, and why; whether it is, two drawings of the page tell, with
this text and without it. The text of a scanned page, which OCR put below or invisibly above its
picture, is what the page shows, and stays.
"""

import ctypes
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image, ImageChops

from documents.parsing.boxes import Box
from documents.parsing.document import UnseenText
from documents.parsing.pdf_objects import (
    Bounds,
    PageObject,
    count_marks,
    get_mark,
    group_chars,
    list_objects,
    list_places,
    read_box,
    read_clip,
    read_fill,
    read_mark_name,
    read_mode,
    read_size,
    remove_objects,
    write_text,
)

MIN_SIZE = 1.5  # points; smaller letters cannot be read in print
MIN_SHARE_OF_PAGE = 1 / 400  # of its height, for such letters; the plan of a house has small ones
MIN_DIFFERENCE = 13  # of 255, in one colour; light grey on white has more
SIMILAR = 60  # of 255: colours nearer to each other are compared by drawing the page
MIN_THICKNESS = 2  # points; thinner shapes are lines, which cover nothing
MIN_OVERLAP = 0.1  # of a text's area
MAX_COVERS = 500  # of a page; with more, every text is looked at
LETTER_PIXELS = 14  # of the smallest text that is looked at
MAX_PIXELS = 1_800  # of a drawing's longer side
MIN_INK = 40  # of 255, between the darkest and the lightest pixel where a scan has letters
MIN_SHARE_OF_SCAN = 0.5  # of the page, which its pictures cover

MAX_STREAM = 2**20  # bytes of a stream of objects, among which the catalogue is

_OBJECT_STREAM = re.compile(rb"/ObjStm\b.{0,300}?stream\r?\n", re.DOTALL)
MARK_BYTES = 64  # of the name of a mark; that of layers is short
_MARK_OF_LAYER = "OC\0".encode("utf-16-le")
_WHITE = bytes((ctypes.c_uint * 4)(255, 255, 255, 255))
_CLEAR_MODES = {pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP}


@dataclass(slots=True)
class _Suspect:
    text: PageObject
    reason: str
    is_on_picture: bool = False


@dataclass(slots=True)
class _Line:
    """Texts that follow each other in the file and on the page, and the box around them."""

    left: float
    bottom: float
    right: float
    top: float
    start: int
    end: int


@dataclass(slots=True)
class _Word:
    """``start`` and ``end`` are indexes in the page's text."""

    start: int
    end: int
    text: str
    boxes: list[Box]


def remove_unseen(
    document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, *, has_layers: bool
) -> tuple[list[UnseenText], bool]:
    """Take unseen texts off the page. Returns them, and whether there are pictures on it.
    ``has_layers``: whether parts of the document can be switched off."""
    suspects, pictures = _find_suspects(page, has_layers=has_layers)
    unseen: list[UnseenText] = []
    if suspects:
        text_page = page.get_textpage()
        chars = group_chars(text_page)
        words = [
            list(_split_words(page, text_page, chars.get(each.text.address, [])))
            for each in suspects
        ]
        changed, without = _draw_differences(page, [each.text for each in suspects])
        hidden = [
            [
                word
                for word in group
                if any(map(str.isalnum, word.text))
                and (each.reason == "tiny" or not _is_drawn(word, changed))
            ]
            for each, group in zip(suspects, words, strict=True)
        ]
        letter_count = sum(not char.isspace() for group in chars.values() for _, char in group)
        if _is_scan(page, pictures, hidden, letter_count):
            hidden = [
                [] if each.is_on_picture and _has_ink(group, without) else group
                for each, group in zip(suspects, hidden, strict=True)
            ]
        removed = []
        last = (-1, "")  # where the word before ends, and why it is unseen
        for each, group, unseen_words in zip(suspects, words, hidden, strict=True):
            for word in unseen_words:
                if last == (word.start, each.reason):  # each letter may be an object
                    word = replace(word, text=unseen.pop().text + word.text)
                unseen.append(UnseenText(word.text, each.reason))
                last = word.end, each.reason
            if unseen_words:
                removed.append(each.text)
                seen = [word for word in group if word not in unseen_words]
                _rewrite(document, page, text_page, each.text, seen)
        text_page.close()
        remove_objects(page, removed)
    return list(_join(unseen)), bool(pictures)


def _join(unseen: Sequence[UnseenText]) -> Iterator[UnseenText]:
    """The words that follow each other as one text."""
    for reason, words in groupby(unseen, key=attrgetter("reason")):
        yield UnseenText(" ".join(word.text for word in words), reason)


def has_layers(content: bytes) -> bool:
    """Whether parts of the document can be switched off, or it cannot be told."""
    if b"/OCProperties" in content:
        return True
    for found in _OBJECT_STREAM.finditer(content):
        try:
            objects = zlib.decompressobj().decompress(
                content[found.end() : found.end() + MAX_STREAM], MAX_STREAM
            )
        except zlib.error:  # encrypted
            return True
        if b"/OCProperties" in objects:
            return True
    return False


def _find_suspects(
    page: pypdfium2.PdfPage, *, has_layers: bool
) -> tuple[list[_Suspect], list[Bounds]]:
    """The texts that may be unseen, and where the page has pictures. It runs for each letter of
    pages on which each is an object."""
    page_bounds = page_left, page_bottom, page_right, page_top = page.get_bbox()
    min_size = min(MIN_SIZE, MIN_SHARE_OF_PAGE * (page_top - page_bottom))
    suspects: dict[int, _Suspect] = {}
    texts: list[PageObject] = []
    lines: list[_Line] = []
    pictures: list[Bounds] = []
    covers: list[tuple[Bounds, bytes | None]] = [(page_bounds, _WHITE)]
    patterns: list[Bounds] = []  # and pictures, whose colours are not known
    cover_colours = {_WHITE}
    is_unlike: dict[bytes, bool] = {}  # whether a colour of texts is unlike those of all covers
    channels = ctypes.create_string_buffer(16)
    arguments = [ctypes.c_uint.from_buffer(channels, 4 * each) for each in range(4)]
    places = list_places(channels)
    name = ctypes.create_string_buffer(MARK_BYTES + 8)
    clip: Bounds | None = None
    last_bottom, last_right, last_top = 0.0, 0.0, 0.0  # of the text before
    text_kind, stroke_mode = pdfium.FPDF_PAGEOBJ_TEXT, pdfium.FPDF_TEXTRENDERMODE_STROKE
    for each in list_objects(page):
        place, kind, bounds, _, _ = each
        left, bottom, right, top = bounds
        if kind != text_kind:
            if each.kind == pdfium.FPDF_PAGEOBJ_IMAGE:
                pictures.append(bounds)
            is_thin = right - left <= MIN_THICKNESS or top - bottom <= MIN_THICKNESS
            if is_thin or len(covers) > MAX_COVERS:
                continue
            cover_colour = None
            if each.kind == pdfium.FPDF_PAGEOBJ_PATH:
                read = _find_colour_reader(each)
                if read is None:
                    continue
                if read(each.handle, *arguments):
                    cover_colour = channels.raw
            covers.append((bounds, cover_colour))
            if cover_colour is None:
                patterns.append(bounds)
            elif cover_colour not in cover_colours:
                cover_colours.add(cover_colour)
                is_unlike.clear()
            _add_lines(lines, texts)
            for at in _list_overlapping(bounds, lines, texts):
                suspects.setdefault(at, _Suspect(texts[at], "covered"))
            continue
        if left >= right or bottom >= top:
            continue  # spaces
        # Letters that follow each other in a line are clipped as the first is.
        if not (bottom < last_top and last_bottom < top and -1 < left - last_right < top - bottom):
            clip = read_clip(each)
        last_bottom, last_right, last_top = bottom, right, top
        mode = read_mode(place)
        if mode == stroke_mode:
            pdfium.FPDFPageObj_GetStrokeColor(each.handle, *arguments)
        else:
            read_fill(place, *places)
        colour = channels.raw
        if colour not in is_unlike:
            is_unlike[colour] = not any(_are_similar(colour, other) for other in cover_colours)
        if mode in _CLEAR_MODES or not colour[12]:
            suspects[len(texts)] = _Suspect(each, "invisible")
        elif top - bottom < min_size and read_size(each) < min_size:
            suspects[len(texts)] = _Suspect(each, "tiny")
        elif (
            (left < page_left or bottom < page_bottom or right > page_right or top > page_top)
            and not _overlap(bounds, page_bounds, 1 - MIN_OVERLAP)
        ) or (
            clip is not None
            and not (left < clip[2] and clip[0] < right and bottom < clip[3] and clip[1] < top)
        ):
            suspects[len(texts)] = _Suspect(each, "outside")
        elif not is_unlike[colour] or (
            patterns and any(_lies_on(bounds, other) for other in patterns)
        ):
            grounds = (other for box, other in reversed(covers) if _lies_on(bounds, box))
            if _are_similar(colour, next(grounds, _WHITE)):
                suspects[len(texts)] = _Suspect(each, "colour")
        elif has_layers and _has_layer(each, name):
            suspects[len(texts)] = _Suspect(each, "hidden")
        texts.append(each)
    if len(covers) > MAX_COVERS:
        for at, each in enumerate(texts):
            suspects.setdefault(at, _Suspect(each, "covered"))
    for suspect in suspects.values():
        suspect.is_on_picture = any(_lies_on(suspect.text.bounds, box) for box in pictures)
    return list(suspects.values()), pictures


def _find_colour_reader(path: PageObject) -> Any:
    """What reads the colour of a shape; None for one that covers nothing, such as a thin frame."""
    mode, has_stroke, width = ctypes.c_int(), ctypes.c_int(), ctypes.c_float()
    pdfium.FPDFPath_GetDrawMode(path.handle, mode, has_stroke)
    if mode.value:
        return pdfium.FPDFPageObj_GetFillColor
    pdfium.FPDFPageObj_GetStrokeWidth(path.handle, width)
    is_thick = has_stroke.value and width.value > MIN_THICKNESS
    return pdfium.FPDFPageObj_GetStrokeColor if is_thick else None


def _add_lines(lines: list[_Line], texts: Sequence[PageObject]) -> None:
    """Add the texts that are in no line yet."""
    line = lines[-1] if lines else None
    for at in range(line.end if line else 0, len(texts)):
        left, bottom, right, top = texts[at].bounds
        if line and line.bottom < top and bottom < line.top:
            # Without ``min`` and ``max``, as this runs for each letter.
            line.left = left if left < line.left else line.left
            line.right = right if right > line.right else line.right
            line.bottom = bottom if bottom < line.bottom else line.bottom
            line.top = top if top > line.top else line.top
            line.end = at + 1
        else:
            line = _Line(left, bottom, right, top, at, at + 1)
            lines.append(line)


def _list_overlapping(
    cover: Bounds, lines: Sequence[_Line], texts: Sequence[PageObject]
) -> Iterator[int]:
    left, bottom, right, top = cover
    for line in lines:
        if line.left < right and left < line.right and line.bottom < top and bottom < line.top:
            for at in range(line.start, line.end):
                if _overlap(texts[at].bounds, cover):
                    yield at


def _has_layer(text: PageObject, name: ctypes.Array[ctypes.c_char]) -> bool:
    """Whether the text may be in a part of the document that can be switched off. PDFium does not
    tell it of a form. ``name``: where the names of marks are written, then how long they are."""
    place = ctypes.addressof(name)
    for index in range(count_marks(text.address)):
        read_mark_name(get_mark(text.address, index), place, MARK_BYTES, place + MARK_BYTES)
        if name.raw.startswith(_MARK_OF_LAYER):
            return True
    return text.form is not None


def _lies_on(text: Bounds, ground: Bounds) -> bool:
    """Whether the middle of the text does."""
    across, up = (text[0] + text[2]) / 2, (text[1] + text[3]) / 2
    return ground[0] <= across <= ground[2] and ground[1] <= up <= ground[3]


def _overlap(text: Bounds, cover: Bounds, min_share: float = MIN_OVERLAP) -> bool:
    width = min(text[2], cover[2]) - max(text[0], cover[0])
    height = min(text[3], cover[3]) - max(text[1], cover[1])
    area = (text[2] - text[0]) * (text[3] - text[1])
    return width > 0 and height > 0 and width * height >= min_share * area


def _are_similar(one: bytes, other: bytes | None) -> bool:
    """Whether two colours are, of which each channel has four bytes."""
    return other is None or all(abs(one[n] - other[n]) < SIMILAR for n in (0, 4, 8))


def _split_words(
    page: pypdfium2.PdfPage, text_page: pypdfium2.PdfTextPage, chars: list[tuple[int, str]]
) -> Iterator[_Word]:
    for is_space, part in groupby(chars, key=lambda char: char[1].isspace()):
        if not is_space:
            indexes, letters = zip(*part, strict=True)
            boxes = [read_box(page, text_page, index) for index in indexes]
            yield _Word(indexes[0], indexes[-1] + 1, "".join(letters), boxes)


def _draw_differences(
    page: pypdfium2.PdfPage, texts: Sequence[PageObject]
) -> tuple[Image.Image, Image.Image]:
    """How much each pixel of the page changes, from 0 to 255, if these texts are not drawn; and the
    page without them."""
    smallest = min(
        (size for each in texts if (size := read_size(each)) >= MIN_SIZE), default=LETTER_PIXELS
    )
    most = MAX_PIXELS / max(page.get_size())
    scale = min(most, max(1, LETTER_PIXELS / smallest))
    complete = page.render(scale=scale).to_pil().convert("RGB")
    for each in texts:
        pdfium.FPDFPageObj_SetIsActive(each.handle, False)
    without = page.render(scale=scale).to_pil().convert("RGB")
    for each in texts:
        pdfium.FPDFPageObj_SetIsActive(each.handle, True)
    red, green, blue = ImageChops.difference(complete, without).split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue), without.convert("L")


def _is_drawn(word: _Word, changed: Image.Image) -> bool:
    """Whether at least half of a word's letters are."""
    drawn = 0
    for box in word.boxes:
        lightest = _read_extremes(changed, box)[1]
        drawn += lightest >= MIN_DIFFERENCE
    return 2 * drawn >= len(word.boxes)


def _read_extremes(picture: Image.Image, box: Box) -> tuple[int, int]:
    """The darkest and the lightest pixel in the box; both 0 outside the picture."""
    width, height = picture.size
    left, top = max(0, int(box.left * width)), max(0, int(box.top * height))
    right = min(width, max(left + 1, round(box.right * width)))
    bottom = min(height, max(top + 1, round(box.bottom * height)))
    if left >= right or top >= bottom:
        return 0, 0
    extremes: Any = picture.crop((left, top, right, bottom)).getextrema()
    return extremes


def _is_scan(
    page: pypdfium2.PdfPage,
    pictures: Sequence[Bounds],
    hidden: Sequence[Sequence[_Word]],
    letter_count: int,
) -> bool:
    """Whether pictures cover most of the page, and most of its letters are unseen."""
    width, height = page.get_size()
    covered = sum((right - left) * (top - bottom) for left, bottom, right, top in pictures)
    unseen_count = sum(len(word.text) for words in hidden for word in words)
    return covered >= MIN_SHARE_OF_SCAN * width * height and 2 * unseen_count > letter_count


def _has_ink(words: Sequence[_Word], without: Image.Image) -> bool:
    """Whether the page has letters, or something else, at the place of most words, or near it:
    what OCR puts there does not lie exactly on the letters."""
    count = 0
    for word in words:
        box = word.boxes[0]
        for other in word.boxes[1:]:
            box = box.join(other)
        room = box.height
        near = box.pad()._replace(left=box.left - room, right=box.right + room)
        darkest, lightest = _read_extremes(without, near)
        count += lightest - darkest >= MIN_INK
    return 2 * count >= len(words)


def _rewrite(
    document: pypdfium2.PdfDocument,
    page: pypdfium2.PdfPage,
    text_page: pypdfium2.PdfTextPage,
    text: PageObject,
    words: Sequence[_Word],
) -> None:
    """Draw these words of a text anew, so that the text can be taken off."""
    for word in words:
        matrix = pdfium.FS_MATRIX()
        pdfium.FPDFText_GetMatrix(text_page, word.start, matrix)
        x, y = ctypes.c_double(), ctypes.c_double()
        pdfium.FPDFText_GetCharOrigin(text_page, word.start, x, y)
        matrix.e, matrix.f = x.value, y.value
        write_text(
            document,
            page,
            word.text,
            matrix,
            pdfium.FPDFTextObj_GetFont(text.handle),
            pdfium.FPDFText_GetFontSize(text_page, word.start),
        )
