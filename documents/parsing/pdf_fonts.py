"""Find the letters of a page that its file maps to wrong ones, or to none: a search could not find
what the page shows.

Such text is in no language, and its letters are drawn in other shapes than those of the letters to
which they are mapped. A cipher or a table of codes is not in a language either, but the page shows
the letters that it has.
"""

import ctypes
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from documents.parsing.pdf_objects import (
    PageObject,
    address,
    draw,
    group_chars,
    list_objects,
    remove_objects,
)
from text.languages import load_stop_word_lists

MIN_LETTERS = 15  # in a font; fewer tell nothing
MIN_KINDS = 5  # of letters
LINE = 40  # letters and signs; shorter lines are looked at together
MIN_WORDS = 0.1  # share of the words that are function words
MIN_PAIRS = 0.6  # share of the pairs of letters that are frequent in some language
FREQUENT_PAIRS = 0.8  # of all pairs in function words
MIN_MAPPED = 0.5  # share of the letters, those that are mapped to a letter, digit or common sign
MIN_FITTING = 0.88  # share of the letters whose shape may be that of the letter
MAX_MEASURED = 400  # letters of a font on a page

_LATIN_WORD = re.compile(r"[A-Za-zÀ-ɏ]+")
_NO_LETTERS = re.compile(r"[\s\d.]+")
_SIGN = re.compile(r"[!-/:-@\[-`{-~]")
_UNMAPPED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ue000-\uf8ff\ufff0-\ufffd\U000f0000-\U0010ffff]"
)
# Signs of these fonts have no letters, and their files say so.
_SYMBOLS = re.compile(
    "symbol|dingbat|webding|wingding|awesome|icon|emoji|math|^cm|msam|msbm|marlett", re.I
)
# Letters by what their shapes have in nearly all fonts: a part below the line, or none; a height.
_DEEP, _LOW = frozenset("gpqy"), frozenset("aceimnorsuvwxzbdhklABCDEFGHIKLMNOPRSTUVWXYZ")
_SHORT, _TALL = frozenset("acemnorsuvwxz"), frozenset("bdhklABCDEFGHIKLMNPRSTUVXYZ")
_HIGH = frozenset("'\"^`*")  # they do not reach down to the line
_FLAT = frozenset("_.,")  # they reach up to a part of a letter's height only
DEPTH = 0.08  # of the height of a font's line, below the line of writing
SHORT = 0.87  # of the tallest letter, at most


def may_be_unreadable(text: str) -> bool:
    """Whether a line of the text, or several short ones together, are in no language, which is
    quick to tell."""
    part, letter_count = "", 0
    for line in [*text.splitlines(), "\f"]:
        count = len(_NO_LETTERS.sub("", line))
        if letter_count >= LINE or (letter_count and (count >= LINE or line == "\f")):
            if not _reads_well(part):
                return True
            part, letter_count = "", 0
        part, letter_count = f"{part}{line}\n", letter_count + count
    return False


def remove_unreadable(page: pypdfium2.PdfPage, text_page: pypdfium2.PdfTextPage) -> int:
    """Take texts in fonts whose letters are wrong off the page. Returns how many letters they
    have."""
    unreadable, _, count = _part_texts(page, text_page)
    remove_objects(page, unreadable)
    return count


def draw_unreadable(document: pypdfium2.PdfDocument, index: int, max_side: int) -> Image.Image:
    """The page without the texts that can be read without a picture."""
    page = document[index]
    _, readable, _ = _part_texts(page, page.get_textpage())
    for text in readable:
        pdfium.FPDFPageObj_SetIsActive(text.handle, False)
    return draw(page, max_side)


def _part_texts(
    page: pypdfium2.PdfPage, text_page: pypdfium2.PdfTextPage
) -> tuple[list[PageObject], list[PageObject], int]:
    """The text objects in fonts whose letters are wrong, the others, and how many letters the
    former have."""
    texts = {
        each.address: each for each in list_objects(page) if each.kind == pdfium.FPDF_PAGEOBJ_TEXT
    }
    fonts: defaultdict[int | None, list[tuple[PageObject, list[tuple[int, str]]]]]
    fonts = defaultdict(list)
    for place, chars in group_chars(text_page).items():
        if place in texts:
            font = pdfium.FPDFTextObj_GetFont(texts[place].handle)
            fonts[address(font)].append((texts[place], chars))
    unreadable: list[PageObject] = []
    readable: list[PageObject] = []
    count = 0
    for group in fonts.values():
        chars = [char for _, those in group for char in those if not char[1].isspace()]
        words = "\n".join("".join(char for _, char in those) for _, those in group)
        if _is_readable(group[0][0], words, chars, text_page):
            readable += [text for text, _ in group]
        else:
            unreadable += [text for text, _ in group]
            count += len(chars)
    return unreadable, readable, count


def _is_readable(
    text: PageObject,
    words: str,
    chars: Sequence[tuple[int, str]],
    text_page: pypdfium2.PdfTextPage,
) -> bool:
    if len(chars) < MIN_LETTERS or len({char for _, char in chars}) < MIN_KINDS:
        return True
    mapped = sum(
        not _UNMAPPED.match(char) and not pdfium.FPDFText_HasUnicodeMapError(text_page, index)
        for index, char in chars
    )
    if mapped < MIN_MAPPED * len(chars):
        return bool(_SYMBOLS.search(_read_name(text)))
    if _reads_well(words):
        return True
    fits = list(_compare_shapes(text_page, chars[:MAX_MEASURED]))
    return len(fits) < MIN_LETTERS or sum(fits) >= MIN_FITTING * len(fits)


def _reads_well(text: str) -> bool:
    """Whether the text is in a language, or has too few Latin letters to tell."""
    if len(_UNMAPPED.findall(text)) >= MIN_LETTERS:
        return False
    words = _LATIN_WORD.findall(text.lower())
    letter_count = sum(map(len, words))
    if letter_count < MIN_LETTERS:
        return len(_SIGN.findall(text)) < LINE or len(set(_SIGN.findall(text))) < MIN_KINDS
    long_words = [word for word in words if len(word) > 2]
    known = load_stop_word_lists()
    if sum(word in known for word in long_words) >= MIN_WORDS * len(long_words) > 0:
        return True
    pairs = [word[at : at + 2] for word in words for at in range(len(word) - 1)]
    return sum(pair in _load_pairs() for pair in pairs) >= MIN_PAIRS * len(pairs)


@cache
def _load_pairs() -> frozenset[str]:
    """The most frequent pairs of letters in the function words of all languages."""
    counts = Counter(
        word[at : at + 2]
        for word in filter(_LATIN_WORD.fullmatch, load_stop_word_lists())
        for at in range(len(word) - 1)
    )
    pairs, covered = set(), 0
    for pair, count in counts.most_common():
        if covered >= FREQUENT_PAIRS * counts.total():
            break
        covered += count
        pairs.add(pair)
    return frozenset(pairs)


def _compare_shapes(
    text_page: pypdfium2.PdfTextPage, chars: Sequence[tuple[int, str]]
) -> Iterator[bool]:
    """For each letter whose shape says something, whether it may be of the letter."""
    measured = [
        (char, *_measure(text_page, index))
        for index, char in chars
        if pdfium.FPDFText_GetCharAngle(text_page, index) == 0  # not turned
    ]
    tallest = max((height for _, _, height in measured), default=0)
    for char, depth, height in measured:
        if char in _DEEP:
            yield depth > DEPTH
        elif char in _LOW or char in _HIGH:
            is_low = depth < DEPTH
            is_short = height < SHORT * tallest
            yield (
                is_low
                and (char not in _SHORT or is_short)
                and (char not in _TALL or not is_short)
                and (char not in _HIGH or depth < -DEPTH)
            )
        elif char in _FLAT:
            yield height < tallest / 2


def _measure(text_page: pypdfium2.PdfTextPage, index: int) -> tuple[float, float]:
    """How far a letter reaches below and above the line of writing, in heights of its line."""
    _, bottom, _, top = text_page.get_charbox(index)
    _, line_bottom, _, line_top = text_page.get_charbox(index, loose=True)
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(text_page, index, x, y)
    height = (line_top - line_bottom) or 1
    return (y.value - bottom) / height, (top - y.value) / height


def _read_name(text: PageObject) -> str:
    name = ctypes.create_string_buffer(128)
    font = pdfium.FPDFTextObj_GetFont(text.handle)
    pdfium.FPDFFont_GetBaseFontName(font, name, len(name))
    return name.value.decode("latin-1").partition("+")[2] or name.value.decode("latin-1")
