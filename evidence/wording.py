"""Whether two findings say the same in the same words.

No list of antonyms is ever complete, and vectors hardly tell "activates" from "inhibits" or "mice
outran rats" from "rats outran mice". So every word counts, and so does their order."""

import re
from collections.abc import Iterator, Sequence

from text.units import UNITS

FORMS_OF_BE = frozenset("is are was were be been being".split())  # noqa: SIM905

# Words that a rewording may add, drop or exchange.
FREE_WORDS = FORMS_OF_BE | frozenset("a an the that which who it its their of in".split())  # noqa: SIM905

# So close after a form of "be", "sued" is taken for a passive: "is often sued" is not "often sues".
PASSIVE_REACH = 3

# A word as it is compared, and the words of which it may be an inflected form.
_Word = tuple[str, tuple[str, ...]]

_TOKEN = re.compile(
    r"""
      (?P<number> (?<![\w.]) [+\-−–]? \d+ (?: ,\d{3}\b )* (?: [.,]\d+ )? )
    | (?P<word> [^\W_]+ (?: [-/'’] [^\W_]+ )* )                       # BX-114, p53, Sentinel-6
    | (?P<mark> ° \s? [CF] \b | [^\w\s.,;:!?()\[\]{}"'“”‘’„«»…\-–—/] )  # %, €, <, ≥, ±
    """,
    re.VERBOSE,
)


def has_same_words(one: str, other: str) -> bool:
    """Whether the texts have the same words in the same order, or one phrase has changed places.

    "In mice, the drug slows growth" has the same words as "The drug slows growth in mice". Units of
    the same kind are converted, and "lowers", "lowering" and "lowered" count as "lower"; but -ing
    and -ed differ ("infecting" is not "infected"), and a passive is a word of its own.
    """
    read, other_read = list(_read_words(one)), list(_read_words(other))
    first, second = _uninflect(read, other_read), _uninflect(other_read, read)
    if len(first) != len(second):
        return False
    differing = [n for n, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1]]
    if not differing:
        return True
    between = slice(differing[0], differing[-1] + 1)
    # If one phrase has moved, what differs is a rotation, which is found in the text twice over.
    return f" {' '.join(second[between])} " in f" {' '.join(first[between] * 2)} "


def _uninflect(words: Sequence[_Word], others: Sequence[_Word]) -> list[str]:
    """The words, each in the form that the other text has."""
    known = {form for form, _ in others}
    return [
        form if form in known else next((each for each in bases if each in known), form)
        for form, bases in words
    ]


def _read_words(text: str) -> Iterator[_Word]:
    """The words that count, without spaces; a quantity is one word, in the unit of the table."""
    tokens = list(_TOKEN.finditer(text))
    position = 0
    while position < len(tokens):
        token = tokens[position]
        position += 1
        if not token["number"]:
            word = _fold(token.group())
            if word not in FREE_WORDS:
                before = tokens[max(0, position - 1 - PASSIVE_REACH) : position - 1]
                is_passive = any(each.group().lower() in FORMS_OF_BE for each in before)
                is_passive = is_passive and word.endswith("ed")
                yield word, () if is_passive else tuple(_list_bases(word))
            continue
        following = [_spell_unit(each) for each in tokens[position : position + 2]]
        for unit in ("-".join(following), *following[:1]):
            if unit in UNITS:
                position += 2 if unit != following[0] else 1
                base, factor = UNITS[unit]
                break
        else:
            base, factor = "", 1.0
        yield f"{_parse_number(token.group()) * factor:.9g}{base.replace(' ', '-')}", ()


def _spell_unit(token: re.Match[str]) -> str:
    return token.group().replace(" ", "").lower()


def _parse_number(text: str) -> float:
    text = text.replace("−", "-").replace("–", "-")
    is_decimal_comma = text.count(",") == 1 and not re.fullmatch(r"[+-]?\d{1,3},\d{3}", text)
    return float(text.replace(",", "." if is_decimal_comma and "." not in text else ""))


def _fold(word: str) -> str:
    """In lower case, without a possessive or plural -s."""
    word = re.sub(r"['’]s?$", "", word.lower())
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    if len(word) > 3:  # "passes", "studies"
        word = re.sub(r"(ss|zz|x|ch|sh)e$", r"\1", re.sub(r"ie$", "y", word))
    return word


def _list_bases(word: str) -> Iterator[str]:
    """The words of which this may be the form in -ing or -ed."""
    found = re.fullmatch(r"(\w*[aeiouy]\w*)(ing|ed)", word)
    if found is None:
        return
    stem = found[1]
    if stem.endswith("i"):  # "studied"
        yield stem[:-1] + "y"
    elif re.search(r"([^aeiou])\1$", stem):  # "stopping", "falling"
        yield stem
        yield stem[:-1]
    else:
        # "rating" is a form of "rate": that of "rat" has two t.
        if not re.fullmatch(r"[^aeiou]*[aeiouy][^aeiouwxy]", stem):
            yield stem
        yield stem + "e"
