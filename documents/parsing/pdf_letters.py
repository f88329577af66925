"""The letters of a PDF's page as a reader means them: words that a line breaks as one, ligatures as
letters, and raised and lowered signs apart from what they stand at."""

import re
import unicodedata
from collections import Counter
from typing import NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from text.superscripts import lower_text, raise_text

MAX_SIZE = 0.85  # of a raised or lowered sign, in heights of the letter that it stands at
MIN_RISE = 0.15  # of its middle, in the same heights
MIN_DROP = 0.22  # the middle of a smaller letter on the same line is lower, too
MAX_RISE = 0.9
MAX_SIGNS = 12  # that are raised together

# PDFium marks a word broken at a line's end with U+FFFE in place of the hyphen. Other hyphens break
# a word there, and a soft one is not drawn elsewhere.
_BROKEN_WORD = re.compile(
    "[\ufffe\u0002](?:\r?\n)?|(?<=[^\\W\\d_])(?:\u00ad\\s*|\u2010\r?\n)(?=[^\\W\\d_])"
)
_SOFT_HYPHEN_OF_NUMBERS = re.compile("(?<=\\d)\u00ad(?=\\d)")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")  # glyphs of fonts without a Unicode map
_FORMS = re.compile("[\ufb00-\ufb06\ufb13-\ufb17\ufb50-\ufbb1\ufbd3-\ufd3d\ufe70-\ufefc]")
# The ligature of lam and alef after the article's alef: its letters come in the wrong order.
LAM_ALEF = re.compile("ا([أإآ])ل")
# Where a sign may begin that is smaller than what stands before it, or after it in a line.
_SIGN = re.compile(
    r"(?<=[^\s(\[])\d|(?<=\d)[a-z+−-]|(?<=[^\W\d_])[+−-](?=\d)|^\d\d?(?=\s{0,3}[^\W\d_])",
    re.MULTILINE,
)
_WORD_BEFORE = re.compile(r"\S{1,12}\Z")
_WORD_AFTER = re.compile(r"\s*\S{1,8}")
_END_OF_SIGN = re.compile(r"[\s)\]]")


class Script(NamedTuple):
    """A raised or lowered sign, and what stands without a space before and after it."""

    before: str
    sign: str
    after: str
    is_raised: bool


def clean(text: str) -> str:
    text = _SOFT_HYPHEN_OF_NUMBERS.sub("-", _BROKEN_WORD.sub("", text))
    text = _FORMS.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return LAM_ALEF.sub(r"ال\1", _CONTROL.sub("", text))


def find_scripts(text_page: pypdfium2.PdfTextPage, text: str) -> Counter[Script]:
    """The raised and lowered signs of a page, whose text as PDFium has it is ``text``, and how
    often each stands between the same words."""
    found: Counter[Script] = Counter()
    boxes: dict[int, _Line] = {}

    def read(at: int) -> _Line:
        if at not in boxes:
            boxes[at] = _read_line(text_page, at)
        return boxes[at]

    end = 0
    for match in _SIGN.finditer(text):
        start = match.start()
        if start < end:
            continue
        is_first = start == 0 or text[start - 1].isspace()
        base_at = match.end() if is_first else start - 1
        while text[base_at].isspace():
            base_at += 1
        base = read(base_at)
        rise = read(start).rise_over(base)
        if not rise or (is_first and rise < 0):
            continue
        end = start + 1
        while end < min(len(text), start + MAX_SIGNS) and not _END_OF_SIGN.match(text, end):
            if read(end).rise_over(base) * rise <= 0:
                break
            end += 1
        sign = text[start:end]
        if len(sign) == 1 or any(map(str.isdigit, sign)):
            before, after = _WORD_BEFORE.search(text, 0, start), _WORD_AFTER.match(text, end)
            words = [clean(each[0]) if each else "" for each in (before, after)]
            found[Script(words[0], sign, words[1].strip(), rise > 0)] += 1
    return found


class _Line(NamedTuple):
    """Where the font of a letter begins and ends, in points from the bottom of the page."""

    bottom: float
    top: float

    def rise_over(self, base: "_Line") -> int:
        """1: it is a raised sign beside the other letter, -1: a lowered one, 0: none."""
        height = base.top - base.bottom
        if not 0 < self.top - self.bottom <= MAX_SIZE * height:
            return 0
        rise = (self.bottom + self.top - base.bottom - base.top) / 2 / height
        if abs(rise) > MAX_RISE:
            return 0
        return (rise > MIN_RISE) - (rise < -MIN_DROP)


def _read_line(text_page: pypdfium2.PdfTextPage, at: int) -> _Line:
    box = pdfium.FS_RECTF()
    index = pdfium.FPDFText_GetCharIndexFromTextIndex(text_page, at)
    pdfium.FPDFText_GetLooseCharBox(text_page, index, box)
    return _Line(box.bottom, box.top)


def write_scripts(text: str, scripts: Counter[Script]) -> str:
    """The text with its raised and lowered signs as such, where they can be told from others."""
    for script, count in scripts.items():
        before = "".join(map(_match_any_form, script.before))
        after = re.escape(script.after)
        sign = (raise_text if script.is_raised else lower_text)(script.sign)
        place = rf"({before})\s?{re.escape(script.sign)}"
        for pattern in (rf"{place}(?=\s*{after})", rf"{place}(?!\d)"):
            places = len(re.findall(pattern, text))
            if places and (places == count or (after and before)):
                text = re.sub(pattern, rf"\g<1>{sign}", text, count=count)
                break
    return text


def _match_any_form(char: str) -> str:
    """A pattern of a character that may have been raised or lowered."""
    return f"[{char}{raise_text(char)}{lower_text(char)}]" if char.isdigit() else re.escape(char)
