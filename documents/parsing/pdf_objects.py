"""What PDFium draws on a page: its objects in the order of drawing, those of forms (parts that a
page draws as a whole) among them, and the boxes of its letters."""

import ctypes
from collections.abc import Iterator, Sequence
from itertools import islice
from math import hypot
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from documents.parsing.boxes import Box

MAX_OBJECTS = 100_000  # of a page; a few kilobytes can draw far more
DRAWING_DPI = 200
_UNITS = 10_000  # of a page's width and height, in which PDFium gives whole numbers

Bounds = tuple[float, float, float, float]  # left, bottom, right, top


class PageObject(NamedTuple):
    """``form``: the one on the page that holds it. ``bounds`` are in points of the page."""

    handle: Any
    kind: int
    bounds: Bounds
    form: Any
    matrix: Any  # from the form to the page


def list_objects(page: pypdfium2.PdfPage) -> Iterator[PageObject]:
    """The texts, shapes and pictures in the order in which they are drawn."""
    return islice(_list_parts(page, None, None), MAX_OBJECTS)


def _list_parts(parent: Any, form: Any, matrix: Any) -> Iterator[PageObject]:
    is_page = form is None
    count = pdfium.FPDFPage_CountObjects if is_page else pdfium.FPDFFormObj_CountObjects
    get = pdfium.FPDFPage_GetObject if is_page else pdfium.FPDFFormObj_GetObject
    read_kind, read_bounds = pdfium.FPDFPageObj_GetType, pdfium.FPDFPageObj_GetBounds
    new = tuple.__new__  # several times as fast as a call of the class
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for index in range(count(parent)):
        handle = get(parent, index)
        kind = read_kind(handle)
        if kind == pdfium.FPDF_PAGEOBJ_FORM:
            own = pdfium.FS_MATRIX()
            pdfium.FPDFPageObj_GetMatrix(handle, own)
            yield from _list_parts(handle, form or handle, _multiply(own, matrix))
            continue
        read_bounds(handle, left, bottom, right, top)
        bounds = left.value, bottom.value, right.value, top.value
        if matrix is not None:
            bounds = _transform(bounds, matrix)
        yield new(PageObject, (handle, kind, bounds, form, matrix))


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


def address(handle: Any) -> int | None:
    """What tells one handle of PDFium from another."""
    return ctypes.cast(handle, ctypes.c_void_p).value


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
    for index in range(text_page.count_chars()):
        if not pdfium.FPDFText_IsGenerated(text_page, index):
            handle = pdfium.FPDFText_GetTextObject(text_page, index)
            char = chr(pdfium.FPDFText_GetUnicode(text_page, index))
            groups.setdefault(address(handle), []).append((index, char))
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
