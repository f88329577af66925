"""Write a text as its words are searched, whatever characters a program or a keyboard chose."""

import re
import unicodedata
from typing import Final

import regex  # for Unicode properties, which re lacks

from core.text import clean_page, normalise

# Ligatures and other forms of letters that only look otherwise: full and half width, and how a
# letter of Arabic or Hebrew looks at its place in the word.
_PRESENTATION: Final = regex.compile(r"[\ufb00-\ufdff\ufe70-\ufefc\uff01-\uffee]+")
_UNSEEN: Final = regex.compile(
    r"\u200b|[\p{Default_Ignorable_Code_Point}--[\u200c\u200d]]+", regex.VERSION1
)
# A raised number belongs to a unit or a sign, as in "km²" and "x²"; after another number it is its
# power, and after a word of four letters or more it is the mark of a note.
# Any character that ``spell_plainly`` changes, or where it may have to: found ten times as fast.
_UNPLAIN: Final = re.compile(
    "[\x00-\x08\x1b\xad\u034f\u061c\u115f-\u1160\u17b4-\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufb00-\ufdff\ufe00-\ufe0f\ufe70-\ufeff\uff01-\uffff\U000e0000-\U000e0fff"
    "⁰¹²³⁴-⁻₀-₋]"
)
# What a tokenizer would not keep: the µ of units, which is two characters, and fractions.
_FRACTION: Final = re.compile(r"(\d)?([¼-¾⅐-⅞])")
_MICRO: Final = re.compile(r"[µμ](?=[a-zA-Z])")
_LANGUAGE: Final = re.compile(
    r"(?<!\w)(?:([A-Z])(\+\+|#)(?![\w+#])|([CF])[ -](plus[ -]plus|sharp)\b|\.net\b)", re.I
)
_LANGUAGE_SIGNS: Final = ("++", "#", "plus", "sharp", "Sharp", ".NET", ".net", ".Net")
_RAISED: Final = regex.compile(r"(?<=\p{Nd}|\p{L}{4})[⁺⁻]?[⁰¹²³⁴-⁹]+|(?<=\p{Nd})[₊₋]?[₀-₉]+")


def spell_plainly(text: str) -> str:
    """The text without characters that are not seen, with plain letters for presentation forms,
    and raised numbers as words of their own: "451²" gives "451 2"."""
    if text.isascii():
        return text
    text = _UNSEEN.sub(lambda found: " " if found[0] == "\u200b" else "", clean_page(text))
    text = _PRESENTATION.sub(lambda found: normalise(found[0], "NFKC"), text)
    return _RAISED.sub(lambda found: f" {normalise(found[0], 'NFKC')} ", text)


def spell_signs(text: str) -> str:
    """``spell_plainly``, and with letters for the signs that make another word of C++, C#, .NET and
    µg, with ss for ß, with digits for ½, and with one word for C sharp."""
    if not text.isascii():
        if _UNPLAIN.search(text) or not unicodedata.is_normalized("NFC", text):
            text = spell_plainly(text)
        text = _MICRO.sub("u", text).replace("ß", "ss").replace("ẞ", "SS")
        text = _FRACTION.sub(_spell_fraction, text)
    if any(sign in text for sign in _LANGUAGE_SIGNS):
        text = _LANGUAGE.sub(_spell_language, text)
    return text


def _spell_language(found: re.Match[str]) -> str:
    if found[1]:
        return found[1] + ("sharp" if found[2] == "#" else "plusplus")
    return found[3] + re.sub("[ -]", "", found[4].lower()) if found[3] else "dotnet NET"


def _spell_fraction(found: re.Match[str]) -> str:
    fraction = normalise(found[2], "NFKC").replace("\N{FRACTION SLASH}", "/")
    return f"{found[1]} {fraction}" if found[1] else fraction
