"""What PDFium draws on a page: its objects in the order of drawing, those of forms (parts that a
page draws as a whole) among them, and the boxes of its letters."""

import ctypes
import struct
from collections.abc import Iterator, Sequence
from itertools import islice
from math import hypot, inf
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from documents.parsing.boxes import Box

MAX_OBJECTS = 100_000  # of a page; a few kilobytes can draw far more
MAX_CLIP_POINTS = 16  # of a shape to which objects are cut; rectangles have five
DRAWING_DPI = 200
_UNITS = 10_000  # of a page's width and height, in which PDFium gives whole numbers

Bounds = tuple[float, float, float, float]  # left, bottom, right, top


class PageObject(NamedTuple):
    """``form``: the one on the page that holds it. ``bounds`` are in points of the page."""

    address: int
    kind: int
    bounds: Bounds
    form: Any
    matrix: Any  # from the form to the page

    @property
    def handle(self) -> Any:
        return ctypes.cast(self.address, pdfium.FPDF_PAGEOBJECT)


def address(handle: Any) -> int | None:
    """What tells one handle of PDFium from another."""
    return ctypes.cast(handle, ctypes.c_void_p).value


def _bind(function: Any, *arguments: Any, result: Any = ctypes.c_int) -> Any:
    """A function of PDFium that takes addresses as numbers. What runs for each letter of a page
    takes half the time so."""
    place = address(function)
    assert place is not None
    return ctypes.PYFUNCTYPE(result, *arguments)(place)


_AT = ctypes.c_void_p
_GET_OF_PAGE = _bind(pdfium.FPDFPage_GetObject, _AT, ctypes.c_int, result=_AT)
_GET_OF_FORM = _bind(pdfium.FPDFFormObj_GetObject, _AT, ctypes.c_ulong, result=_AT)
_READ_KIND = _bind(pdfium.FPDFPageObj_GetType, _AT)
_READ_BOUNDS = _bind(pdfium.FPDFPageObj_GetBounds, *[_AT] * 5)
_GET_TEXT_OBJECT = _bind(pdfium.FPDFText_GetTextObject, _AT, ctypes.c_int, result=_AT)
_GET_UNICODE = _bind(pdfium.FPDFText_GetUnicode, _AT, ctypes.c_int, result=ctypes.c_uint)
_IS_GENERATED = _bind(pdfium.FPDFText_IsGenerated, _AT, ctypes.c_int)
read_mode = _bind(pdfium.FPDFTextObj_GetTextRenderMode, _AT)
read_fill = _bind(pdfium.FPDFPageObj_GetFillColor, *[_AT] * 5)
count_marks = _bind(pdfium.FPDFPageObj_CountMarks, _AT)
get_mark = _bind(pdfium.FPDFPageObj_GetMark, _AT, ctypes.c_ulong, result=_AT)
read_mark_name = _bind(pdfium.FPDFPageObjMark_GetName, _AT, _AT, ctypes.c_ulong, _AT)
_GET_CLIP = _bind(pdfium.FPDFPageObj_GetClipPath, _AT, result=_AT)
_COUNT_CLIPS = _bind(pdfium.FPDFClipPath_CountPaths, _AT)
_COUNT_POINTS = _bind(pdfium.FPDFClipPath_CountPathSegments, _AT, ctypes.c_int)
_GET_POINT = _bind(pdfium.FPDFClipPath_GetPathSegment, _AT, ctypes.c_int, ctypes.c_int, result=_AT)
_READ_POINT = _bind(pdfium.FPDFPathSegment_GetPoint, _AT, _AT, _AT)
_read_floats = struct.Struct("4f").unpack


def list_places(numbers: ctypes.Array[Any]) -> list[int]:
    """The address of each of these numbers of four bytes."""
    start = ctypes.addressof(numbers)
    return [start + at for at in range(0, ctypes.sizeof(numbers), 4)]


def list_objects(page: pypdfium2.PdfPage) -> Iterator[PageObject]:
    """The texts, shapes and pictures in the order in which they are drawn."""
    return islice(_list_parts(page.raw, None, None), MAX_OBJECTS)


def _list_parts(parent: Any, form: Any, matrix: Any) -> Iterator[PageObject]:
    is_page = form is None
    count = pdfium.FPDFPage_CountObjects if is_page else pdfium.FPDFFormObj_CountObjects
    get, start = (_GET_OF_PAGE if is_page else _GET_OF_FORM), address(parent)
    new = tuple.__new__  # several times as fast as a call of the class
    numbers = (ctypes.c_float * 4)()
    places = list_places(numbers)
    form_kind = pdfium.FPDF_PAGEOBJ_FORM
    for index in range(count(parent)):
        place = get(start, index)
        kind = _READ_KIND(place)
        if kind == form_kind:
            handle, own = ctypes.cast(place, pdfium.FPDF_PAGEOBJECT), pdfium.FS_MATRIX()
            pdfium.FPDFPageObj_GetMatrix(handle, own)
            yield from _list_parts(handle, form or handle, _multiply(own, matrix))
            continue
        _READ_BOUNDS(place, *places)
        bounds = _read_floats(numbers)
        if matrix is not None:
            bounds = _transform(bounds, matrix)
        yield new(PageObject, (place, kind, bounds, form, matrix))


def read_clip(part: PageObject) -> Bounds | None:
    """The box outside which nothing of the object is drawn; None if it is not clipped, or by a
    shape of many points."""
    clip = _GET_CLIP(part.address)
    left, bottom, right, top = -inf, -inf, inf, inf
    numbers = (ctypes.c_float * 2)()
    places = list_places(numbers)
    for path in range(_COUNT_CLIPS(clip)):
        count = _COUNT_POINTS(clip, path)
        if not 0 < count <= MAX_CLIP_POINTS:
            continue
        points = []
        for index in range(count):
            _READ_POINT(_GET_POINT(clip, path, index), *places)
            points.append(tuple(numbers))
        across, up = zip(*points, strict=True)
        left, right = max(left, min(across)), min(right, max(across))
        bottom, top = max(bottom, min(up)), min(top, max(up))
    if left == -inf:
        return None
    bounds = left, bottom, right, top
    return bounds if part.matrix is None else _transform(bounds, part.matrix)


def read_size(text: PageObject) -> float:
    """The height of a text's letters, in points of the page; their width, if that is less."""
    size, own = ctypes.c_float(), pdfium.FS_MATRIX()
    pdfium.FPDFTextObj_GetFontSize(text.handle, size)
    pdfium.FPDFPageObj_GetMatrix(text.handle, own)
    whole = _multiply(own, text.matrix)
    return abs(size.value) * min(hypot(whole.a, whole.b), hypot(whole.c, whole.d))


def _multiply(one: Any, other: Any) -> Any:
    """The matrix that applies ``one`` first; ``other`` may be None."""
    if other is None:
        return one
    return pdfium.FS_MATRIX(
        one.a * other.a + one.b * other.c,
        one.a * other.b + one.b * other.d,
        one.c * other.a + one.d * other.c,
        one.c * other.b + one.d * other.d,
        one.e * other.a + one.f * other.c + other.e,
        one.e * other.b + one.f * other.d + other.f,
    )


def _transform(bounds: Bounds, matrix: Any) -> Bounds:
    left, bottom, right, top = bounds
    corners = [
        (matrix.a * x + matrix.c * y + matrix.e, matrix.b * x + matrix.d * y + matrix.f)
        for x in (left, right)
        for y in (bottom, top)
    ]
    across, up = zip(*corners, strict=True)
    return min(across), min(up), max(across), max(up)


def read_box(page: pypdfium2.PdfPage, text_page: pypdfium2.PdfTextPage, index: int) -> Box:
    """The box of a letter, by its index in the page's text."""
    left, bottom, right, top = text_page.get_charbox(index)
    corners = [_to_shares(page, left, top), _to_shares(page, right, bottom)]
    across, down = zip(*corners, strict=True)  # a turned page exchanges the corners
    return Box(min(across), min(down), max(across), max(down))


def _to_shares(page: pypdfium2.PdfPage, x: float, y: float) -> tuple[float, float]:
    across, down = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDF_PageToDevice(page, 0, 0, _UNITS, _UNITS, 0, x, y, across, down)
    return across.value / _UNITS, down.value / _UNITS


def group_chars(text_page: pypdfium2.PdfTextPage) -> dict[int | None, list[tuple[int, str]]]:
    """The letters of each text object, by its address: their indexes in the page's text and the
    letters themselves."""
    groups: dict[int | None, list[tuple[int, str]]] = {}
    start = address(text_page.raw)
    for index in range(text_page.count_chars()):
        if not _IS_GENERATED(start, index):
            char = chr(_GET_UNICODE(start, index))
            groups.setdefault(_GET_TEXT_OBJECT(start, index), []).append((index, char))
    return groups


def remove_objects(page: pypdfium2.PdfPage, objects: Sequence[PageObject]) -> None:
    """Take text objects off the page for good. A form that holds one is replaced by its other
    objects, because PDFium does not write changes of forms."""
    for each in objects:
        pdfium.FPDFPageObj_SetIsActive(each.handle, False)
    forms = {address(each.form): each.form for each in objects if each.form}
    for form in forms.values():
        at = next(
            index
            for index in range(pdfium.FPDFPage_CountObjects(page))
            if address(pdfium.FPDFPage_GetObject(page, index)) == address(form)
        )
        for part in list(_dissolve(form, None)):
            pdfium.FPDFPage_InsertObjectAtIndex(page, part, at)
            at += 1
        pdfium.FPDFPage_RemoveObject(page, form)


def _dissolve(form: Any, matrix: Any) -> Iterator[Any]:
    """The objects of a form, moved to where the page shows them."""
    own = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(form, own)
    whole = _multiply(own, matrix)
    count = pdfium.FPDFFormObj_CountObjects(form)
    for part in [pdfium.FPDFFormObj_GetObject(form, index) for index in range(count)]:
        if pdfium.FPDFPageObj_GetType(part) == pdfium.FPDF_PAGEOBJ_FORM:
            yield from _dissolve(part, whole)
        elif pdfium.FPDFFormObj_RemoveObject(form, part):
            pdfium.FPDFPageObj_TransformF(part, whole)
            yield part


def draw(page: pypdfium2.PdfPage, max_side: int) -> Image.Image:
    """The page as people see it, at most ``max_side`` pixels wide and high."""
    return page.render(scale=min(DRAWING_DPI / 72, max_side / max(page.get_size()))).to_pil()


def write_text(
    document: pypdfium2.PdfDocument,
    page: pypdfium2.PdfPage,
    text: str,
    matrix: Any,
    font: Any,
    size: float,
) -> Any:
    """Draw a line of text on the page."""
    drawn = pdfium.FPDFPageObj_CreateTextObj(document, font, size)
    encoded = ctypes.create_string_buffer((text + "\0").encode("utf-16-le"))
    pdfium.FPDFText_SetText(drawn, ctypes.cast(encoded, pdfium.FPDF_WIDESTRING))
    pdfium.FPDFPageObj_SetMatrix(drawn, matrix)
    pdfium.FPDFPage_InsertObject(page, drawn)
    return drawn
