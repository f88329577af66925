"""Read the text of pictures with RapidOCR, where ``strata install ocr`` has installed it.

RapidOCR finds lines, and reads them or has Tesseract read them, by their languages. Here they are
joined into paragraphs, so that a column of text is not mixed with what stands beside it.
"""

import importlib
import importlib.util
import math
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from documents.parsing import tesseract

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

# Codes (ISO 639-1) of the languages of the one recogniser whose weights are in RapidOCR's wheel.
# RapidOCR lists Vietnamese too, but the recogniser lacks two thirds of its letters with signs.
RAPIDOCR_LANGUAGES = (
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
MIN_HEIGHT = 40  # pixels, of a line that Tesseract reads; a smaller one is enlarged
UPRIGHT = 1.5  # times its width is the height of a line that runs up or down
MAX_SIDE = 1_600  # pixels; memory grows with their square
MAX_RATIO = 6  # of a picture's sides; what is missing of the shorter one is added in black
MEMORY_BYTES = 2 * 2**30  # address space of the engine and its threads; 0.6 GB of it are used
MAX_LINE_GAP = 0.9  # of a line's height, between two lines of a paragraph
MIN_OVERLAP = 0.5  # of the shorter line's width, which two lines of a paragraph share


Corners = Sequence[tuple[float, float]]  # four, in pixels
Read = tuple[str, float, Corners]  # a line's text, and how sure an engine is of it


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


def list_readable(languages: Sequence[str]) -> Sequence[str]:
    """Those that can be read together with these, if all that is needed is installed."""
    return tuple(tesseract.WEIGHTS) if needs_tesseract(languages) else RAPIDOCR_LANGUAGES


def needs_tesseract(languages: Sequence[str]) -> bool:
    """Whether RapidOCR's weights lack one of them: then Tesseract reads all. RapidOCR, which reads
    better, is used for the others, and where no language is named."""
    return not set(languages).issubset(RAPIDOCR_LANGUAGES)


def list_missing(languages: Sequence[str]) -> list[str]:
    """Commands that install what is missing to read these languages."""
    packages = tesseract.list_missing_packages(languages) if needs_tesseract(languages) else []
    commands = [] if is_installed() else ["strata install ocr"]
    return [*commands, *[f"apt-get install {' '.join(packages)}"] * bool(packages)]


def read_picture(picture: "Picture", languages: Sequence[str] = ()) -> Recognised:
    """The picture's text, a paragraph for each group of lines, from top to bottom; may be empty."""
    picture = picture.convert("RGB")
    picture.thumbnail((MAX_SIDE, MAX_SIDE))  # does not enlarge
    width, height = picture.size
    # RapidOCR enlarges a narrow picture until its shorter side is long, which takes much memory.
    shortest = max(width, height) // MAX_RATIO
    picture = picture.crop((0, 0, max(width, shortest), max(height, shortest)))
    paragraphs = join_lines(_find_lines(picture, languages))
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


def _find_lines(picture: "Picture", languages: Sequence[str]) -> list[Line]:
    by_tesseract = _read_by_tesseract(picture, tuple(languages))  # lazy
    found = by_tesseract if needs_tesseract(languages) else _read_by_rapidocr(picture)
    lines = []
    for text, confidence, corners in found:
        text = " ".join(text.split())
        if confidence >= MIN_CONFIDENCE and text:
            lines.append(Line(text, *_find_box(corners), confidence=float(confidence)))
    return lines


def _read_by_rapidocr(picture: "Picture") -> Iterator[Read]:
    engine = _load_engine()
    found = engine(picture, use_det=True, use_cls=True, use_rec=True, text_score=0)
    for text, confidence, corners in zip(
        found.txts or (), found.scores or (), _list_corners(found), strict=True
    ):
        box = left, top, right, bottom = _find_box(corners)
        if confidence < SURE_CONFIDENCE and right - left > LONG_LINE * (bottom - top):
            line = picture.crop(box)
            again = engine(line, use_det=False, use_cls=False, use_rec=True, text_score=0)
            if again.scores and again.scores[0] > confidence:
                text, confidence = again.txts[0], again.scores[0]
        yield text, confidence, corners


def _read_by_tesseract(picture: "Picture", languages: tuple[str, ...]) -> Iterator[Read]:
    reader = _load_line_reader(languages)
    found = _load_engine()(picture, use_det=True, use_cls=False, use_rec=False)
    for corners in _list_corners(found):
        line = _straighten(picture, corners)
        text, confidence = reader.read(line)
        if confidence < SURE_CONFIDENCE:
            raw, turned = reader.read(line, tesseract.RAW_LINE), reader.read(line.rotate(180))
            # Letters of some languages are also others upside down.
            candidates = [(text, confidence), raw, *[turned] * (turned[1] >= SURE_CONFIDENCE)]
            text, confidence = max(candidates, key=lambda read: read[1])
        yield text, confidence, corners


def _list_corners(found: Any) -> list[Corners]:
    """Those of each line, from the first letter's upper left one, clockwise."""
    boxes = () if found.boxes is None else found.boxes
    return [[(float(x), float(y)) for x, y in corners] for corners in boxes]


def _find_box(corners: Corners) -> tuple[float, float, float, float]:
    across, down = zip(*corners, strict=True)
    return min(across), min(down), max(across), max(down)


def _straighten(picture: "Picture", corners: Corners) -> "Picture":
    """The line alone, from left to right; Tesseract would also read what is beside it."""
    from PIL import Image  # only a child needs it

    first, second, third, fourth = corners
    width, height = math.dist(first, second), math.dist(first, fourth)
    scale = max(1, MIN_HEIGHT / max(1, min(width, height)))
    size = max(1, round(width * scale)), max(1, round(height * scale))
    ends = *first, *fourth, *third, *second
    line = picture.transform(size, Image.Transform.QUAD, ends, Image.Resampling.BICUBIC)
    return line.rotate(90, expand=True) if height > UPRIGHT * width else line


@cache
def _load_line_reader(languages: tuple[str, ...]) -> tesseract.LineReader:
    return tesseract.LineReader(languages)


@cache
def _load_engine() -> Any:
    """One engine for each process: loading its models takes about a second."""
    if sys.modules.get("numpy", ...) is None:
        del sys.modules["numpy"]  # the parsing process blocks it, because openpyxl would load it
    return importlib.import_module("rapidocr").RapidOCR(params={"Global.log_level": "critical"})
