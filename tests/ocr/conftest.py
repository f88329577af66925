"""Scans as RapidOCR reads them; without it these tests are skipped."""

import io

import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from documents.parsing import ocr


def pytest_collection_modifyitems(items):
    skip = pytest.mark.skip(reason="RapidOCR is not installed; .ci/extras runs them with it")
    for item in items:
        if not ocr.is_installed() and item.path.parent.name == "ocr":
            item.add_marker(skip)


def draw(*paragraphs: str) -> Image.Image:
    """A picture of a slide: paragraphs beside each other, each of several lines."""
    picture = Image.new("RGB", (1200, 500), "white")
    pen, font = ImageDraw.Draw(picture), ImageFont.load_default(size=32)
    for column, text in enumerate(paragraphs):
        pen.multiline_text((40 + column * 600, 60), text, fill="black", font=font, spacing=10)
    return picture


HERON = draw("Herons wait\nfor hours.", "Kingfishers dive\nat once.")


def make_scan(*pages: Image.Image | None) -> bytes:
    """A PDF without a text layer; None makes a blank page."""
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=(600, 250))
    for page in pages:
        if page is not None:
            canvas.drawImage(ImageReader(page), 0, 0, 600, 250)
        canvas.showPage()
    canvas.save()
    return stream.getvalue()
