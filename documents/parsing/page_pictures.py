"""Draw a page of a PDF or an image, as people see it."""

from io import BytesIO
from pathlib import Path

from documents.parsing.image import open_image
from documents.parsing.pdf import draw_page, open_pdf

MAX_SIDE = 1_600  # pixels
QUALITY = 80  # of 100; text stays sharp
EFFORT = 2  # of 6; more takes several times as long for a tenth of the size


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
