"""Pictures for tests."""

import io
from typing import Any

from PIL import Image


def draw(
    colour: Any = "red",
    *,
    mode: str = "RGB",
    size: tuple[int, int] = (6, 4),
    format: str = "PNG",
    **options: Any,
) -> bytes:
    """The bytes of a picture of one colour."""
    content = io.BytesIO()
    Image.new(mode, size, colour).save(content, format, **options)
    return content.getvalue()
