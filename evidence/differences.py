"""Finds facts in which a finding differs from a similar one, although their vectors hardly do:
numbers and units, signs, negations and names.

The rules compare words and use no model. Numbers, units and names are found in every language that
writes names with capitals; the words for signs and negations are English.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evidence.fact_words import (
    NEGATING_PREFIX,
    NEGATIONS,
    NOT_UNITS,
    OPPOSITES,
    SCALES,
    SMALL_NUMBERS,
    TENS,
    UNITS,
)
from indexing.chunking.sentences import find_sentences
from summaries.extractive.languages import guess_language, load_stop_words

MIN_STEM_CHARS = 5
MIN_SHARED_WORDS = 0.3  # of the shorter of two sentences; others say different things

_TOKEN = re.compile(
    r"""
      (?P<name> [^\W\d_]++ (?:                                      # BX-114, p53, Sentinel-6
          \d [^\W_]*+ (?: [-/] [^\W\d_]*+ \d [^\W_]*+ )*+
        | (?: [-/] [^\W\d_]*+ \d [^\W_]*+ )++
      ) )
    | (?P<sign> (?<![\w.)]) [+\-−–] (?=\d) )?
      (?P<number> \d{1,3} (?: ,\d{3} )+ (?: \.\d+ )? | \d+ (?: [.,]\d+ )? )
    | (?P<word> [^\W\d_]+ (?: ['’] [^\W\d_]+ )* )
    | (?P<mark> [%€$£] | ° \s? [CF] \b )
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Quantity:
    """``unit``: a unit of the table, the word after the number, or empty. ``value`` and
    ``base`` are the number as written and in the unit that the table converts to."""

    value: float
    base: float
    unit: str
    is_known_unit: bool
    is_in_digits: bool


@dataclass(frozen=True, slots=True)
class _Facts:
    """The facts of a sentence or a text."""

    words: frozenset[str]  # in lower case, plural -s removed
    quantities: tuple[_Quantity, ...]
    names: frozenset[str]
    openers: frozenset[str]  # first words of sentences, seldom names: see ``_looks_ordinary``
    negation_count: int


def find_difference(new: str, known: str) -> str | None:
    """Return the kind of the first fact in which the finding ``new`` differs from ``known``:
    ``number``, ``negation``, ``sign`` or ``name``; None if there is none.

    A number of ``new`` must occur in ``known``, with its unit. For each sentence of ``new``, the
    most similar one of ``known`` must have as many negations, no word opposite to one of its words
    (such as fall and rise), and no other name in place of its names.
    """
    if new == known:
        return None
    if _adds_quantity(_read_facts(new), _read_facts(known)):
        return "number"
    sentences = _split(known)
    known_sentences = [_read_facts(sentence) for sentence in sentences]
    for facts in map(_read_facts, set(_split(new)) - set(sentences)):
        most_similar = max(
            known_sentences,
            key=lambda other: _compute_shared_word_ratio(facts, other),
            default=None,
        )
        if most_similar is None:
            continue
        if (
            len(known_sentences) > 1
            and _compute_shared_word_ratio(facts, most_similar) < MIN_SHARED_WORDS
        ):
            continue
        if _count_negations(facts, most_similar) != _count_negations(most_similar, facts):
            return "negation"
        if _has_opposite_sign(facts.words, most_similar.words):
            return "sign"
        if _has_other_names(facts, most_similar):
            return "name"
    return None


def _split(text: str) -> list[str]:
    return [text[each.start : each.end] for each in find_sentences(text)]


def _compute_shared_word_ratio(one: _Facts, other: _Facts) -> float:
    word_count = min(len(one.words), len(other.words))
    return len(one.words & other.words) / word_count if word_count else 0.0


# --- Reading ---------------------------------------------------------------------------------


def _read_facts(text: str) -> _Facts:
    tokens = list(_TOKEN.finditer(text))
    names: set[str] = set()
    openers: set[str] = set()
    unit_positions: set[int] = set()
    quantities = []
    for position in range(len(tokens)):
        quantity, used = _read_quantity(tokens, position)
        if quantity is not None:
            quantities.append(quantity)
            unit_positions.update(used)
    has_noun_capitals = guess_language(text, "en") == "de"
    stop_words = load_stop_words("en")
    starts = {each.start for each in find_sentences(text)}
    for position, token in enumerate(tokens):
        word = token["name"] or token["word"]
        if word is None or position in unit_positions or word.lower() in stop_words:
            continue
        is_code = bool(token["name"]) or (len(word) > 1 and not word[1:].islower())
        if not word[0].isupper() and not (is_code and word != word.lower()):
            continue
        is_opener = token.start() in starts
        if is_opener and not is_code and _looks_ordinary(word):
            openers.add(_fold(word))
        elif is_code or not has_noun_capitals:
            names.add(_fold(word))
    words = frozenset(_fold(token["name"] or token["word"]) for token in tokens
                      if token["name"] or token["word"])  # fmt: skip
    raw_words = [token["word"].lower().replace("’", "'") for token in tokens if token["word"]]
    return _Facts(
        words=words | frozenset(raw_words),
        quantities=tuple(quantities),
        names=frozenset(names),
        openers=frozenset(openers),
        negation_count=sum(word in NEGATIONS or word.endswith("n't") for word in raw_words),
    )


def _read_quantity(
    tokens: Sequence[re.Match[str]], position: int
) -> tuple[_Quantity | None, list[int]]:
    """The quantity that begins at a token, and the positions of the tokens of its unit."""
    token = tokens[position]
    following = [
        (each["word"] or each["mark"] or "").replace(" ", "").lower()
        for each in tokens[position + 1 : position + 4]
    ]
    if token["number"]:
        value = _parse_number(token["number"])
        if token["sign"] and token["sign"] != "+":
            value = -value
    else:
        word = (token["word"] or "").lower()
        if word in TENS:
            value = float(TENS[word])
            if following and following[0] in SMALL_NUMBERS and SMALL_NUMBERS[following[0]] < 10:
                value += SMALL_NUMBERS[following.pop(0)]
        elif word in SMALL_NUMBERS:
            previous = tokens[position - 1]["word"] if position else None
            if previous and previous.lower() in TENS and SMALL_NUMBERS[word] < 10:
                return None, []  # the second half of "twenty-five"
            value = float(SMALL_NUMBERS[word])
        else:
            return None, []
    used = []
    offset = position + 1
    if following and following[0] in SCALES:
        value *= SCALES[following.pop(0)]
        used.append(offset)
        offset += 1
    pair = "-".join(following[:2])
    if pair in UNITS:
        unit, used = pair, [*used, offset, offset + 1]
    elif following and following[0] in UNITS:
        unit, used = following[0], [*used, offset]
    elif position and tokens[position - 1]["mark"] in ("€", "$", "£"):
        unit = tokens[position - 1]["mark"]
    else:
        unit = following[0] if following else ""
    is_in_digits = bool(token["number"])
    if unit in UNITS:
        base_unit, factor = UNITS[unit]
        return _Quantity(value, value * factor, base_unit, True, is_in_digits), used
    if unit in NOT_UNITS or any(unit in one | other for one, other in OPPOSITES):
        unit = ""
    return _Quantity(value, value, _fold(unit), False, is_in_digits), used


def _parse_number(text: str) -> float:
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", text):
        return float(text.replace(",", ""))
    return float(text.replace(",", "."))


def _fold(word: str) -> str:
    """In lower case, without a possessive or plural -s."""
    word = re.sub(r"['’]s$", "", word.lower())
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _looks_ordinary(word: str) -> bool:
    """Whether the first word of a sentence looks like a plural, a participle or an adverb."""
    return word.endswith(("s", "ing", "ed", "ly"))


# --- Comparing -------------------------------------------------------------------------------


def _adds_quantity(new: _Facts, known: _Facts) -> bool:
    """Whether ``new`` has a number that ``known`` lacks. Numbers in words count only if ``known``
    has another number in its place: "sixty-five" may be part of a name for older people."""
    added = _find_unmatched(new, known)
    if any(quantity.is_in_digits for quantity in added):
        return True
    return bool(added) and bool(_find_unmatched(known, new))


def _find_unmatched(one: _Facts, other: _Facts) -> list[_Quantity]:
    return [
        quantity
        for quantity in one.quantities
        if not any(_are_equal(quantity, each, one, other) for each in other.quantities)
    ]


def _are_equal(one: _Quantity, other: _Quantity, one_facts: _Facts, other_facts: _Facts) -> bool:
    if one.is_known_unit and other.is_known_unit:
        return one.unit == other.unit and math.isclose(one.base, other.base)
    if not math.isclose(one.value, other.value):
        return False
    if not one.unit or not other.unit or _have_same_stem(one.unit, other.unit):
        return True
    # The word after a number is not always its unit: it may be elsewhere in the other text.
    return (not one.is_known_unit and one.unit in other_facts.words) or (
        not other.is_known_unit and other.unit in one_facts.words
    )


def _have_same_stem(one: str, other: str) -> bool:
    """Whether two words are equal or begin alike, as "diabetes" and "diabetics"."""
    return one == other or (
        len(one) > MIN_STEM_CHARS and one[:MIN_STEM_CHARS] == other[:MIN_STEM_CHARS]
    )


def _count_negations(one: _Facts, other: _Facts) -> int:
    """Count the negations of ``one``; "unexposed" is one if ``other`` says "exposed"."""
    prefixed = {
        word[match.end() :]
        for word in one.words - other.words
        if (match := NEGATING_PREFIX.match(word)) and word[match.end() :] in other.words
    }
    return one.negation_count + len(prefixed)


def _has_opposite_sign(new: Iterable[str], known: Iterable[str]) -> bool:
    new, known = frozenset(new), frozenset(known)
    for one, other in OPPOSITES:
        signs = [(bool(words & one), bool(words & other)) for words in (new, known)]
        if signs in ([(True, False), (False, True)], [(False, True), (True, False)]):
            return True
    return False


def _has_other_names(new: _Facts, known: _Facts) -> bool:
    """Whether each sentence has a name that the other lacks."""
    added = (new.names | new.openers) - known.words
    missing = (known.names | known.openers) - new.words
    is_about_names = bool(added & new.names or missing & known.names)
    return bool(added) and bool(missing) and is_about_names
