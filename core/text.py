"""Text as the service stores and hashes it."""

import hashlib
import re
import unicodedata
from typing import Literal

import regex  # for combining classes, which re lacks


def hash_text(text: str) -> str:
    """SHA-256 of a text's UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

_SOFT_HYPHEN, _ZERO_WIDTH_SPACE, _JOINERS = "\u00ad", "\u200b", "\u200c\u200d"
_SOFT_BREAK = re.compile("\u00ad[ \t]*\r?\n[ \t]*")  # within a word
_BLACK_FLAG = "\U0001f3f4"  # followed by tags it is the flag of a region
# A set alone, which ``re`` finds ten times as fast as alternatives: with what cannot be stored.
_NOT_SEEN = re.compile(
    f"[\0\ud800-\udfff{_SOFT_HYPHEN}{_ZERO_WIDTH_SPACE}{_JOINERS}"
    "\u2060-\u2064\ufeff\U000e0000-\U000e007f]+"
)
# Thai, Lao, Tibetan, Burmese, Khmer and others, whose words the space separates.
_WITHOUT_SPACES = re.compile("[\u0e00-\u109f\u1780-\u17ff\u1900-\u1aff\ua980-\uaadf]")
# Scripts whose letters join or stack, and emoji.
_JOINING = re.compile("[\u0590-\u1dff\u2190-\u2bff\ua800-\uabff\ufb1d-\ufefc\U00010000-\U0001fbff]")

# Colours, titles and movements of the cursor that programs send to terminals (ECMA-48).
_TERMINAL_CODES = re.compile(
    "\x1b(?:\\[[0-?]*+[ -/]*+[@-~]?|\\][^\x07\x1b]*+(?:\x07|\x1b\\\\)?|[ -/]*+[0-Z^-~\\\\]?)"
)

# Embeddings, overrides and isolates of direction. Marks, which Arabic and Hebrew need, stay.
_REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")

MAX_MARKS = 30  # in a row, counted in the decomposed text
_JOINER = "\N{COMBINING GRAPHEME JOINER}"
# A character and the marks after it, where there may be too many: a mark is decomposed to at most
# two, and a character ends in at most three. The listed marks have class 0, but not decomposed.
_MANY_MARKS = regex.compile(r"[\s\S][\P{ccc=0}\u0f73\u0f75\u0f81\uff9e\uff9f]{14,}+")


def clean_text(text: str) -> str:
    """The text in NFC and the stream-safe format, with characters that cannot be stored replaced
    by U+FFFD.

    PostgreSQL rejects NUL, and UTF-8 cannot encode lone surrogates; nothing else changes.
    """
    return normalise(_UNSTORABLE.sub(REPLACEMENT, text))


def clean_page(text: str) -> str:
    """``clean_text`` without what is not seen: codes for terminals, soft hyphens with the end of
    the line after them, byte order marks, and spaces and joiners of no width except where a script
    or an emoji needs them."""
    if "\x1b" in text:
        text = _TERMINAL_CODES.sub("", text)
    if text.isascii():
        return text.replace("\0", REPLACEMENT)
    if _SOFT_HYPHEN in text:
        text = _SOFT_BREAK.sub("", text)
    return normalise(_NOT_SEEN.sub(_keep_needed, text))


def _keep_needed(found: re.Match[str]) -> str:
    text, start, end = found.string, found.start(), found.end()
    before = text[start - 1] if start else ""
    neighbours = before + text[end : end + 1]
    kept = _ZERO_WIDTH_SPACE if _WITHOUT_SPACES.search(neighbours) else ""
    kept += _JOINERS if _JOINING.search(neighbours) else ""
    return "".join(
        REPLACEMENT if _UNSTORABLE.match(each) else each
        for each in found[0]
        if each in kept
        or (before == _BLACK_FLAG and each >= "\U000e0020")
        or _UNSTORABLE.match(each)
    )


def clean_name(text: str) -> str:
    """``clean_page`` for a name that lists show beside others: without the characters by which it
    could be shown in another order, such as ``exe.pdf`` for a file that ends in ``fdp.exe``."""
    return clean_page(_REORDERING.sub("", text))


def normalise(text: str, form: Literal["NFC", "NFKC", "NFKD"] = "NFC") -> str:
    """Normalise a text in linear time. Normalising sorts the combining marks of a character in
    quadratic time, so a combining grapheme joiner (U+034F), which is not displayed, is inserted
    after every 30 marks in a row.

    Source:
        Stream-safe text format: Unicode Standard Annex 15, section 13.
    """
    if not text.isascii():
        text = _MANY_MARKS.sub(_insert_joiners, text)
    return unicodedata.normalize(form, text)


def _insert_joiners(found: "regex.Match[str]") -> str:
    parts: list[str] = []
    count = 0  # of the marks since the last other character
    for character in found[0]:
        classes = [*map(unicodedata.combining, unicodedata.normalize("NFKD", character))]
        mark_count = len(classes) if all(classes) else 0
        if count + mark_count > MAX_MARKS:
            parts.append(_JOINER)
            count = 0
        count = count + mark_count if mark_count else classes[::-1].index(0)
        parts.append(character)
    return "".join(parts)


def shorten(text: str, max_chars: int) -> str:
    """The text; the start and the end of one that is longer, with an ellipsis between them."""
    if len(text) <= max_chars:
        return text
    end = max_chars // 3
    return f"{text[: max_chars - end - 1]}…{text[len(text) - end :]}"


def is_storable(text: str) -> bool:
    """Whether the database can store it or compare it: it has no NUL and no lone surrogate."""
    return _UNSTORABLE.search(text) is None


def is_text(text: str) -> bool:
    """Whether UTF-8 can encode it: it holds no lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
