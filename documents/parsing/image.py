"""Images: a page for each, with the text that OCR finds where it is installed; a TIFF may have
several."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft

# Of about eighty in Pillow, some of which run other programs.
PILLOW_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP")
MAX_PIXELS = 50_000_000  # 200 MB of memory at most


def read(path: Path, draft: DocumentDraft) -> None:
    """Add an image as one page, with its text if OCR reads it. Raises ``Unparsable``:
    ``too_many_pixels``."""
    with _opened(path) as image:
        image.verify()  # checks checksums; the image cannot be used afterwards
    picture = open_image(path)
    text, ocr_lines = draft.read_picture(1, lambda: picture) if draft.ocr else ("", ())
    draft.add_page(text, ocr_lines=ocr_lines)


def read_scan(path: Path, draft: DocumentDraft) -> None:
    """Add the pages of a format in which scanners write; warns where OCR is not installed."""
    with _opened(path) as image:
        page_count = getattr(image, "n_frames", 1)
        draft.check_page_count(page_count)
        for index in range(page_count):
            image.seek(index)
            _check_size(image)
            text, ocr_lines = draft.read_picture(page_count, image.copy)
            draft.add_page(text, ocr_lines=ocr_lines)


def open_image(path: Path, index: int = 0) -> Image.Image:
    """The image, of several the one at this index; an animation is embedded by its first. Raises as
    ``read``."""
    with _opened(path) as image:
        image.seek(index)
        _check_size(image)
        image.load()
        return image


def _check_size(image: Image.Image) -> None:
    if image.width * image.height > MAX_PIXELS:
        raise Image.DecompressionBombError


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    try:
        with Image.open(path, formats=PILLOW_FORMATS) as image:
            _check_size(image)
            yield image
    except Image.DecompressionBombError:
        raise Unparsable(
            "too_many_pixels",
            f"The image has more than {MAX_PIXELS:,} pixels.",
            fix="Scale the image down and add it again.",
        ) from None
