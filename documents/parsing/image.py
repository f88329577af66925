"""Images: one page, with the text that OCR finds where it is installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft

# Of about eighty in Pillow, some of which run other programs.
PILLOW_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")
MAX_PIXELS = 50_000_000  # 200 MB of memory at most


def read(path: Path, draft: DocumentDraft) -> None:
    """Add an image as one page, with its text if OCR reads it. Raises ``Unparsable``:
    ``too_many_pixels``."""
    with _opened(path) as image:
        image.verify()  # checks checksums; the image cannot be used afterwards
    picture = open_image(path)
    text, ocr_lines = draft.read_picture(1, lambda: picture) if draft.ocr else ("", ())
    draft.add_page(text, ocr_lines=ocr_lines)


def open_image(path: Path) -> Image.Image:
    """The image, of an animation the first frame, which is embedded; raises as ``read``."""
    with _opened(path) as image:
        image.load()
        return image


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    try:
        with Image.open(path, formats=PILLOW_FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise Image.DecompressionBombError
            yield image
    except Image.DecompressionBombError:
        raise Unparsable(
            "too_many_pixels",
            f"The image has more than {MAX_PIXELS:,} pixels.",
            fix="Scale the image down and add it again.",
        ) from None
