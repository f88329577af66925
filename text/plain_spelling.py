"""Write a text as its words are searched, whatever characters a program or a keyboard chose."""

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
_RAISED: Final = regex.compile(r"(?<=\p{Nd}|\p{L}{4})[⁺⁻]?[⁰¹²³⁴-⁹]+|(?<=\p{Nd})[₊₋]?[₀-₉]+")


def spell_plainly(text: str) -> str:
    """The text without characters that are not seen, with plain letters for presentation forms,
    and raised numbers as words of their own: "451²" gives "451 2"."""
    if text.isascii():
        return text
    text = _UNSEEN.sub(lambda found: " " if found[0] == "\u200b" else "", clean_page(text))
    text = _PRESENTATION.sub(lambda found: normalise(found[0], "NFKC"), text)
    return _RAISED.sub(lambda found: f" {normalise(found[0], 'NFKC')} ", text)
