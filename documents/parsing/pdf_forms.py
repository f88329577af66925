"""Draw the values of a PDF's form fields, and its annotations, on its pages, so that all readers of
the page find them where they stand."""

import ctypes
import re
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from documents.parsing.document import UnseenText
from documents.parsing.pdf_objects import write_text

MAX_SIZE = 10  # points
LINE_HEIGHT = 1.2  # of the size
COMB = 1 << 24  # a field flag: each letter has its own box

_BOXES = {pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON}
_CHOICES = {pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX}
_SHOWN_TEXT = re.compile(r"[)>\]]\s*(?:Tj|TJ|'|\")")
# Annotations that show text or may cover some.
_DRAWN = {
    pdfium.FPDF_ANNOT_WIDGET,
    pdfium.FPDF_ANNOT_FREETEXT,
    pdfium.FPDF_ANNOT_STAMP,
    pdfium.FPDF_ANNOT_SQUARE,
    pdfium.FPDF_ANNOT_CIRCLE,
    pdfium.FPDF_ANNOT_POLYGON,
}


class FormFields:
    """The fields of one document. ``values``: those that no font at hand can draw, each by the word
    that is drawn in its place."""

    def __init__(self, document: pypdfium2.PdfDocument) -> None:
        self.values: dict[str, str] = {}
        self._document = document
        document.init_forms()  # before any page is loaded
        self._font = None
        self._has_fields = False

    @property
    def is_unread(self) -> bool:
        """Whether the form is only in XFA, which PDFium does not read."""
        kind = self._document.get_formtype()
        is_mixed = kind == pdfium.FORMTYPE_XFA_FOREGROUND
        return kind == pdfium.FORMTYPE_XFA_FULL or (is_mixed and not self._has_fields)

    def draw(self, page: pypdfium2.PdfPage) -> tuple[bool, list[UnseenText]]:
        """Draw the fields and annotations of a page. Returns whether there are any, after which the
        page must be loaded again, and the values of hidden fields."""
        unseen: list[UnseenText] = []
        count = pdfium.FPDFPage_GetAnnotCount(page)
        has_drawn = False
        for index in reversed(range(count)):
            annotation = pdfium.FPDFPage_GetAnnot(page, index)
            subtype = pdfium.FPDFAnnot_GetSubtype(annotation)
            has_drawn |= subtype in _DRAWN
            is_replaced = False
            if subtype == pdfium.FPDF_ANNOT_WIDGET and self._document.formenv:
                self._has_fields = True
                is_replaced = self._draw_field(page, annotation, unseen)
            pdfium.FPDFPage_CloseAnnot(annotation)
            if is_replaced:
                pdfium.FPDFPage_RemoveAnnot(page, index)
        if has_drawn:
            pdfium.FPDFPage_GenerateContent(page)
            pdfium.FPDFPage_Flatten(page, pdfium.FLAT_NORMALDISPLAY)
        return has_drawn, unseen

    def _draw_field(
        self, page: pypdfium2.PdfPage, annotation: Any, unseen: list[UnseenText]
    ) -> bool:
        """Whether the field's value is drawn, so that the field itself must not be."""
        form = self._document.formenv
        kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
        flags = pdfium.FPDFAnnot_GetFormFieldFlags(form, annotation)
        is_hidden = pdfium.FPDFAnnot_GetFlags(annotation) & (
            pdfium.FPDF_ANNOT_FLAG_HIDDEN | pdfium.FPDF_ANNOT_FLAG_NOVIEW
        )
        if kind in _BOXES:
            value = "[x]" if pdfium.FPDFAnnot_IsChecked(form, annotation) else "[ ]"
        elif kind in _CHOICES:
            value = self._read_choice(annotation)
        elif kind == pdfium.FPDF_FORMFIELD_TEXTFIELD:
            value = _read(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)
        else:
            return False
        is_secret = flags & pdfium.FPDF_FORMFLAG_TEXT_PASSWORD and kind not in _BOXES | _CHOICES
        if is_hidden or is_secret:
            if value.strip() and kind not in _BOXES and not is_secret:
                unseen.append(UnseenText(value, "hidden"))
            return True
        appearance = _read(
            pdfium.FPDFAnnot_GetAP, annotation, pdfium.FPDF_ANNOT_APPEARANCEMODE_NORMAL
        )
        if kind not in _BOXES and _SHOWN_TEXT.search(appearance) and not flags & COMB:
            return False
        if value.strip():
            self._draw_value(page, annotation, value)
        return True

    def _read_choice(self, annotation: Any) -> str:
        form = self._document.formenv
        chosen = [
            _read(pdfium.FPDFAnnot_GetOptionLabel, form, annotation, index)
            for index in range(pdfium.FPDFAnnot_GetOptionCount(form, annotation))
            if pdfium.FPDFAnnot_IsOptionSelected(form, annotation, index)
        ]
        return ", ".join(chosen) or _read(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)

    def _draw_value(self, page: pypdfium2.PdfPage, annotation: Any, value: str) -> None:
        box = pdfium.FS_RECTF()
        pdfium.FPDFAnnot_GetRect(annotation, box)
        lines = value.splitlines()
        height = abs(box.top - box.bottom) / len(lines)
        size = max(4, min(MAX_SIZE, height / LINE_HEIGHT))
        top = max(box.top, box.bottom) - max(0, height - LINE_HEIGHT * size) / 2
        if self._font is None:
            self._font = pdfium.FPDFText_LoadStandardFont(self._document, b"Helvetica")
        for number, line in enumerate(lines):
            matrix = pdfium.FS_MATRIX(1, 0, 0, 1, box.left, top - (number * LINE_HEIGHT + 1) * size)
            write_text(self._document, page, self._find_drawable(line), matrix, self._font, size)

    def _find_drawable(self, line: str) -> str:
        try:
            line.encode("cp1252")
        except UnicodeEncodeError:
            word = f"Field{len(self.values)}of{id(self)}"
            self.values[word] = line
            return word
        return line

    def restore(self, text: str) -> str:
        """The text with the values in place of the words that were drawn for them."""
        for word, value in self.values.items():
            text = text.replace(word, value)
        return text


def _read(function: Any, *arguments: Any) -> str:
    """The text of a function of PDFium that tells first how long it is."""
    size = function(*arguments, None, 0)
    buffer = ctypes.create_string_buffer(size + 2)
    function(*arguments, ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR)), size)
    return buffer.raw[:size].decode("utf-16-le", "replace").rstrip("\0")
