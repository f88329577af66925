"""Images: one page, with the text that OCR finds where it is installed."""

from pathlib import Path

from PIL import Image

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft

PILLOW_FORMATS = (
    "PNG",
    "JPEG",
    "WEBP",
    "GIF",
)  # of about eighty in Pillow, some of which run other programs
MAX_PIXELS = 50_000_000  # 200 MB of memory at most


def read(path: Path, draft: DocumentDraft) -> None:
    """
    Raises:
        Unparsable: ``too_many_pixels``.
    """
    try:
        with Image.open(path, formats=PILLOW_FORMATS) as image:
            _check_size(image)
            image.verify()  # checks checksums; the image cannot be used afterwards
    except Image.DecompressionBombError:
        raise _too_many_pixels() from None
    picture = open_image(path)
    draft.add_page(draft.read_picture(lambda: picture) if draft.ocr else "")


def open_image(path: Path) -> Image.Image:
    """The image, of an animation the first frame, which is embedded; raises as ``read``."""
    try:
        with Image.open(path, formats=PILLOW_FORMATS) as image:
            _check_size(image)
            image.load()
            return image
    except Image.DecompressionBombError:
        raise _too_many_pixels() from None


def _check_size(image: Image.Image) -> None:
    if image.width * image.height > MAX_PIXELS:
        raise _too_many_pixels()


def _too_many_pixels() -> Unparsable:
    return Unparsable(
        "too_many_pixels",
        f"The image has more than {MAX_PIXELS:,} pixels.",
        fix="Scale the image down and add it again.",
    )
