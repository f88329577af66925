"""Read the text of pictures with RapidOCR, where ``strata install ocr`` has installed it.

RapidOCR finds lines; here they are joined into paragraphs, so that a column of text is not mixed
with what stands beside it.
"""

import importlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from PIL.Image import Image

# Codes (ISO 639-1) of the languages of the one recogniser whose weights are in RapidOCR's wheel.
# RapidOCR lists Vietnamese too, but the recogniser lacks two thirds of its letters with signs.
LANGUAGES = (
    "af", "az", "bs", "ca", "cs", "cy", "da", "de", "en", "es", "et", "eu", "fi", "fr", "ga", "gl",
    "hr", "hu", "id", "is", "it", "ja", "ku", "la", "lb", "lt", "lv", "mi", "ms", "mt", "nl", "no",
    "oc", "pl", "pt", "qu", "rm", "ro", "sk", "sl", "sq", "sr-Latn", "sv", "sw", "tl", "tr", "uz",
    "zh",
)  # fmt: skip
MIN_CONFIDENCE = 0.5  # of a line, from 0 to 1; below it are ornaments and parts of drawings
# A box that slants by a pixel or two spoils a long line: such a line is cut out straight and read
# again where OCR is less sure of it.
SURE_CONFIDENCE = 0.9
LONG_LINE = 10  # times its height
MAX_SIDE = 1_600  # pixels; memory grows with their square
MEMORY_BYTES = 2 * 2**30  # address space of the engine and its threads; 0.6 GB of it are used
MAX_LINE_GAP = 0.9  # of a line's height, between two lines of a paragraph
MIN_OVERLAP = 0.5  # of the shorter line's width, which two lines of a paragraph share


class LineBox(NamedTuple):
    """How sure OCR is of a line, from 0 to 1, and where the line is, in shares of the picture's
    width and height from its upper left corner."""

    confidence: float
    left: float
    top: float
    right: float
    bottom: float


class Recognised(NamedTuple):
    """A picture's text, with a box for each of its lines that is not empty, in their order."""

    text: str = ""
    lines: Sequence[LineBox] = ()


@dataclass(slots=True)
class Line:
    """A line of text and its box, in pixels from the picture's upper left corner."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    confidence: float = 1

    def continues(self, above: "Line") -> bool:
        """Whether this line belongs to the paragraph that ``above`` ends."""
        height = min(self.bottom - self.top, above.bottom - above.top)
        gap = self.top - above.bottom
        shared = min(self.right, above.right) - max(self.left, above.left)
        shorter = min(self.right - self.left, above.right - above.left)
        return -height / 2 < gap < MAX_LINE_GAP * height and shared > MIN_OVERLAP * shorter


def is_installed() -> bool:
    return importlib.util.find_spec("rapidocr") is not None


def read_picture(picture: "Image") -> Recognised:
    """The picture's text, a paragraph for each group of lines, from top to bottom; may be empty."""
    picture = picture.convert("RGB")
    picture.thumbnail((MAX_SIDE, MAX_SIDE))  # does not enlarge
    paragraphs = join_lines(_find_lines(picture))
    width, height = picture.size
    return Recognised(
        "\n\n".join("\n".join(line.text for line in paragraph) for paragraph in paragraphs),
        [
            LineBox(
                round(line.confidence, 3),
                round(max(0, line.left / width), 4),
                round(max(0, line.top / height), 4),
                round(min(1, line.right / width), 4),
                round(min(1, line.bottom / height), 4),
            )
            for paragraph in paragraphs
            for line in paragraph
        ],
    )


def find_line_boxes(
    text: str, lines: Sequence[Sequence[float]], start: int, end: int
) -> list[tuple[float, float, float, float]]:
    """The boxes of the whole lines that ``text[start:end]`` is part of: OCR knows no place within
    a line. ``lines``: those of the page, as ``Recognised`` has them; none if they are of another
    text."""
    spans = [found.span() for found in re.finditer(r"[^\n]+", text)]
    if len(spans) != len(lines):
        return []
    return [
        (left, top, right, bottom)
        for (first, last), (_, left, top, right, bottom) in zip(spans, lines, strict=True)
        if first < end and start < last
    ]


def join_lines(lines: Iterable[Line]) -> list[list[Line]]:
    """Paragraphs of the lines, in the order of their first lines."""
    paragraphs: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.top, line.left)):
        for paragraph in reversed(paragraphs):
            if line.continues(paragraph[-1]):
                paragraph.append(line)
                break
        else:
            paragraphs.append([line])
    return paragraphs


def _find_lines(picture: "Image") -> list[Line]:
    engine = _load_engine()
    found = engine(picture, use_det=True, use_cls=True, text_score=0)  # kept between calls
    lines = []
    for text, confidence, corners in zip(
        found.txts or (),
        found.scores or (),
        () if found.boxes is None else found.boxes,
        strict=True,
    ):
        across, down = [float(x) for x, _ in corners], [float(y) for _, y in corners]
        box = left, top, right, bottom = min(across), min(down), max(across), max(down)
        if confidence < SURE_CONFIDENCE and right - left > LONG_LINE * (bottom - top):
            again = engine(picture.crop(box), use_det=False, use_cls=False, text_score=0)
            if again.scores and again.scores[0] > confidence:
                text, confidence = again.txts[0], again.scores[0]
        text = " ".join(text.split())
        if confidence >= MIN_CONFIDENCE and text:
            lines.append(Line(text, *box, confidence=float(confidence)))
    return lines


@cache
def _load_engine() -> Any:
    """One engine for each process: loading its models takes about a second."""
    if sys.modules.get("numpy", ...) is None:
        del sys.modules["numpy"]  # the parsing process blocks it, because openpyxl would load it
    return importlib.import_module("rapidocr").RapidOCR(params={"Global.log_level": "critical"})
