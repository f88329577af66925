"""Read the text of pictures with RapidOCR, where ``requirements/ocr.txt`` is installed.

RapidOCR finds lines; here they are joined into paragraphs, so that a column of text is not mixed
with what stands beside it.
"""

import importlib
import importlib.util
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

MIN_CONFIDENCE = 0.5  # of a line, from 0 to 1; below it are ornaments and parts of drawings
MAX_SIDE = 1_600  # pixels; memory grows with their square
MEMORY_BYTES = 2 * 2**30  # address space of the engine and its threads; 0.6 GB of it are used
MAX_LINE_GAP = 0.9  # of a line's height, between two lines of a paragraph
MIN_OVERLAP = 0.5  # of the shorter line's width, which two lines of a paragraph share


@dataclass(slots=True)
class Line:
    """A line of text and its box, in pixels from the picture's upper left corner."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def continues(self, above: "Line") -> bool:
        """Whether this line belongs to the paragraph that ``above`` ends."""
        height = min(self.bottom - self.top, above.bottom - above.top)
        gap = self.top - above.bottom
        shared = min(self.right, above.right) - max(self.left, above.left)
        shorter = min(self.right - self.left, above.right - above.left)
        return -height / 2 < gap < MAX_LINE_GAP * height and shared > MIN_OVERLAP * shorter


def is_installed() -> bool:
    return importlib.util.find_spec("rapidocr") is not None


def read_picture(picture: "Image") -> str:
    """The picture's text, a paragraph for each group of lines, from top to bottom; may be empty."""
    picture = picture.convert("RGB")
    picture.thumbnail((MAX_SIDE, MAX_SIDE))  # does not enlarge
    return "\n\n".join(join_lines(_find_lines(picture)))


def join_lines(lines: Iterable[Line]) -> list[str]:
    """Paragraphs of the lines, in the order of their first lines."""
    paragraphs: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.top, line.left)):
        for paragraph in reversed(paragraphs):
            if line.continues(paragraph[-1]):
                paragraph.append(line)
                break
        else:
            paragraphs.append([line])
    return ["\n".join(line.text for line in paragraph) for paragraph in paragraphs]


def _find_lines(picture: "Image") -> list[Line]:
    found = _load_engine()(picture)
    lines = []
    for text, confidence, corners in zip(
        found.txts or (),
        found.scores or (),
        () if found.boxes is None else found.boxes,
        strict=True,
    ):
        if confidence >= MIN_CONFIDENCE and text.strip():
            across, down = [x for x, _ in corners], [y for _, y in corners]
            lines.append(Line(text, min(across), min(down), max(across), max(down)))
    return lines


@cache
def _load_engine() -> Any:
    """One engine for each process: loading its models takes about a second."""
    if sys.modules.get("numpy", ...) is None:
        del sys.modules["numpy"]  # the parsing process blocks it, because openpyxl would load it
    return importlib.import_module("rapidocr").RapidOCR(params={"Global.log_level": "critical"})
