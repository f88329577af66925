"""The other spellings of what a text holds: codes, numbers and quantities, names of programs, and
stop words that are names. A search meets them, whichever of them the text has and the query asks.

Texts and queries get the same spellings, so that either may have any of them. A code of digits is
joined only where it can be no range and no date but one such as 2018-12-31.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import compress, pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

import regex  # for Unicode properties, which re lacks

from text.languages import find_languages_of_stop_word
from text.units import OTHER_UNITS, UNITS

# name: a stop word or a sign, which is searched in no other way; value: a quantity or a version,
# however it is written; same: another way to write all of it; part: a word of it.
Kind = Literal["name", "value", "same", "part"]

MAX_PARTS: Final = 6  # of a code that is joined
MAX_CHARS: Final = 60  # of a token: a longer one is data
MIN_DIGITS: Final = 9  # of a joined code of digits: a date has eight
_MIN_HYPHENATED_DIGITS: Final = 7  # of one with two hyphens: 2018-12-31 is 20181231
_MAX_DIGITS: Final = 20  # of a row of groups
MAX_JOINED_WORDS: Final = 8  # of a query, of which any two may be one
_MAX_NAME_CHARS: Final = 10  # of a stop word

EDGES: Final = ".,;:!?()[]{}<>|\"'`*_“”‘’„«»…®©™℠"
_SENTENCE_ENDS: Final = frozenset('.!?:;"“”«»([')
_NON_JOINER: Final = "\u200c"  # within a word of Persian
_DASHES: Final = dict.fromkeys(map(ord, "‐‑‒–—−"), "-")
_SEPARATOR: Final = re.compile(r"[-_/.:·\\]+")
_LETTERS: Final = r"[^\W\d_]"
_CAMEL: Final = regex.compile(
    r"\p{Lu}{2,}(?=s?(?!\p{Ll}))|\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lu}|\d+"
)
_IS_CAMEL: Final = regex.compile(r"\p{Ll}\p{Lu}|\p{Lu}{2}\p{Ll}{2}")
_WITH_DIGITS: Final = regex.compile(r"\p{Lu}+\p{Ll}*\d+|\p{Ll}+\d+")  # OAuth2 of OAuth2Token
_LETTERS_AND_DIGITS: Final = re.compile(rf"({_LETTERS}{{2,}})(\d{{2,}}){_LETTERS}*")
_UMLAUTS: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_DECIMAL: Final = re.compile(r"\d+[.,]\d+")
_AMOUNT: Final = re.compile(
    rf"(-?[$€£]?)(\d+(?:[.,]\d+)?)(-?)((?:°[CF]?|[%‰$€£℃℉]|{_LETTERS}+[23]?)(?:/{_LETTERS}+[23]?)?)?"
)
_DIMENSIONS: Final = re.compile(rf"\d+(?:[.,]\d+)?(?:[x×]\d+(?:[.,]\d+)?)+{_LETTERS}*")
_RAISED: Final = str.maketrans("²³", "23")
_VERSION: Final = re.compile(rf"({_LETTERS}*)-?(\d+(?:\.\d+)+)((?:[-.+]?[a-z][\w.]*)?)")
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_GROUP: Final = re.compile(r"\d{3}")
_DIGITS: Final = re.compile(r"[+(]*\d[\d()/-]*")
_FRACTION: Final = re.compile(r"\d{1,2}/\d{1,2}")
_TIME: Final = re.compile(r"0?(\d{1,2}:\d\d)(?::\d\d)?(?:[ap]\.?m)?")
# Two groups that are no range, which would not begin with 0 or go from 12 to 3456, and no month.
_TWO_GROUPS: Final = re.compile(
    r"(?=(?:\d-?){6})(?!(?:19|20)\d\d-)(?:0\d+-|\d-\d{3}|\d\d-\d\d|\d{3}-\d{3}|\d+-0)\d\d+"
    r"(?<!-19\d\d)(?<!-20\d\d)(?<!00)"
)
# Of programs, without rows of signs that separate parts of a text; a question mark may follow.
_OPERATOR: Final = re.compile(r"((?!--|([^=>])\2\2|[?!]+$)[=!<>&|?:+*/%^~-]{2,3}?)[?:!]?")
_RUN: Final = re.compile(rb"\x01{5,}")  # of stop words, which are searched as they stand
_INITIALS: Final = re.compile(rf"(?:{_LETTERS}\.)+{_LETTERS}")
_PICTOGRAPH: Final = regex.compile(
    r"[\p{Extended_Pictographic}--[\p{ASCII}©®™]]|\p{RI}{2}", regex.VERSION1
)


class Spelling(NamedTuple):
    """``written``: what the text has. ``spelt``: a word, or a key that is compared as a whole."""

    written: str
    spelt: str
    kind: Kind
    is_key: bool


_Spelt: TypeAlias = tuple[tuple[str, Kind, bool], ...]  # of each its word or key, and which it is


class _Token(NamedTuple):
    """What one token says by itself. ``number``: as a decimal. ``name``: what it is if it is a stop
    word. ``code``: what digits after it may continue."""

    core: str
    spelt: _Spelt = ()
    number: str = ""
    name: str = ""
    code: str = ""
    is_foreign_word: bool = False  # in capitals, and otherwise a stop word of some language


def find_spellings(
    text: str, stop_words: Collection[str], *, is_query: bool = False
) -> Iterator[Spelling]:
    """The other spellings of a text in plain spelling, several times if it has them so. In a query
    codes need no capitals, and words side by side may be one."""
    tokens = text.replace("\n", " . ").split()
    marked = [n for n, token in enumerate(tokens) if not (token.isalpha() and token.islower())]
    for place in marked:
        token = _read_token(tokens[place])
        if token is None:
            if tokens[place] == "&" and 0 < place < len(tokens) - 1:
                names = (tokens[place - 1].strip(EDGES), tokens[place + 1].strip(EDGES))
                yield Spelling(" & ".join(names), "&".join(names).upper(), "name", True)
            continue
        for spelt, kind, is_key in token.spelt:
            yield Spelling(token.core, spelt, kind, is_key)
        if token.name in stop_words or token.is_foreign_word:
            yield from _name_stop_word(tokens, place, token, stop_words, is_query=is_query)
        if token.number:
            yield from _join_number(tokens, place, token.number)
        if token.code:
            yield from _join_digits(tokens, place, token.code)
    if is_query and len(tokens) <= MAX_JOINED_WORDS:
        yield from _join_neighbours(tokens, stop_words)
    elif not is_query:
        yield from _find_runs(tokens, stop_words)


def list_stop_words(text: str) -> Iterator[Spelling]:
    """All words of a query that has no others, and each with the one before it."""
    names = [core.lower() for token in text.split() if (core := token.strip(EDGES))]
    for name in names:
        yield Spelling(name, name, "name", True)
        yield Spelling(name, name.upper(), "part", True)
    for written in map(" ".join, pairwise(names)):
        yield Spelling(written, written, "name", True)


def _name_stop_word(
    tokens: Sequence[str],
    place: int,
    token: _Token,
    stop_words: Collection[str],
    *,
    is_query: bool,
) -> Iterator[Spelling]:
    """A stop word that begins with a capital is a name in capitals among other words, in the middle
    of a sentence or before a comma, and may be one at the beginning of a line."""
    before, after = tokens[place - 1 : place], tokens[place + 1 : place + 2]
    spelt = token.name
    kind: Kind = "same" if token.is_foreign_word and token.name not in stop_words else "name"
    if token.core.isupper() and len(token.core) > 1:
        neighbours = [each for each in (*before, *after) if each.isalpha()]
        if neighbours and all(each.isupper() for each in neighbours) and not is_query:
            return
        spelt = spelt.upper()
    elif (not before or before[0][-1] in _SENTENCE_ENDS) and tokens[place][-1] not in ',"”»':
        if is_query or before not in ([], ["."]):
            return
        kind = "part"
    yield Spelling(token.core, spelt, kind, True)
    if is_query:
        yield Spelling(token.core, spelt.swapcase(), "part", True)
    first = before[0].strip(EDGES).lower() if before else ""
    if first in stop_words and token.name in stop_words:
        written = f"{first} {token.name}"
        yield Spelling(written, written, "name", True)


def _find_runs(tokens: Sequence[str], stop_words: Collection[str]) -> Iterator[Spelling]:
    """The words of "to be or not to be", and all where they are so few that the text has another
    language."""
    flags = bytes([token in stop_words for token in tokens])
    if 5 * flags.count(1) <= len(tokens):
        for token in compress(tokens, flags):
            core = token.strip(EDGES)
            yield Spelling(core, core, "part", True)
    for run in _RUN.finditer(flags):
        start = max(0, run.start() - 1)  # a capital may begin it
        for core in (token.strip(EDGES) for token in tokens[start : run.end()]):
            if core.lower() in stop_words:
                yield Spelling(core, core.lower(), "part", True)


def _join_number(tokens: Sequence[str], place: int, number: str) -> Iterator[Spelling]:
    """A number and the unit after it, and digits that are grouped by spaces."""
    following = tokens[place + 1 : place + 5]
    if not following:
        return
    core = tokens[place].strip(EDGES)
    unit = following[0].strip(EDGES)
    if unit in {"x", "×"} and (side := _NUMBER.match(" ".join(following[1:2]).replace(",", "."))):
        yield Spelling(f"{core} {unit} {side[0]}", f"{number}x{side[0]}", "same", True)
    if unit[:1].isdigit() or unit[:1] in {"(", "-"}:
        yield from _join_groups(tokens, place)
    if amount := _measure(number, unit):
        yield Spelling(f"{core} {unit}", amount, "value", True)
        if number.isdigit() and len(unit) <= 4:
            yield Spelling(f"{core} {unit}", number + unit, "same", False)
    elif core.isdigit() and len(core) <= 3 and core[0] != "0":
        end = place + 1
        while end < min(place + 5, len(tokens)) and _GROUP.fullmatch(tokens[end].strip(EDGES)):
            end += 1
        if end > place + 1 and not (place and _GROUP.fullmatch(tokens[place - 1])):
            written = " ".join(tokens[place:end]).strip(EDGES)
            yield Spelling(written, re.sub(r"\W", "", written), "same", False)


def _join_groups(tokens: Sequence[str], place: int) -> Iterator[Spelling]:
    """All digits of a row of three to six groups: a telephone number, such as +49 40 123456-78."""
    if place and _DIGITS.fullmatch(tokens[place - 1]):
        return
    end = place + 1
    for each in tokens[end : end + MAX_PARTS]:
        if not (_DIGITS.fullmatch(tokens[end - 1]) and _DIGITS.fullmatch(each.rstrip(EDGES))):
            break
        end += 1
    written = " ".join(tokens[place:end]).strip(EDGES)
    groups = _NUMBER.findall(written)
    joined = "".join(groups)
    if 2 < len(groups) <= MAX_PARTS and MIN_DIGITS <= len(joined) <= _MAX_DIGITS:
        yield Spelling(written, joined, "same", False)


def _join_digits(tokens: Sequence[str], place: int, code: str) -> Iterator[Spelling]:
    """PPR 9087 and AB 123 45 as one word, TLS 1.3 as one key."""
    joined = code
    for end in range(place + 1, min(place + 6, len(tokens))):
        core = tokens[end].strip(EDGES)
        written = " ".join((*tokens[place:end], core)).strip(EDGES)
        if end == place + 1 and (version := _VERSION.fullmatch(core)) and not version[1]:
            yield Spelling(written, (joined + version[2]).lower(), "same", True)
        if not core.isdigit():
            if len(core) == 1 and core.isupper() and joined[-1].isdigit():
                yield Spelling(written, joined + core, "same", False)
            break
        joined += core
        yield Spelling(written, joined, "same", False)
        if core != tokens[end]:
            break


def _join_neighbours(tokens: Sequence[str], stop_words: Collection[str]) -> Iterator[Spelling]:
    """Words of a query that a text may write as one: ppr 9087, sign off, soft logout."""
    cores = [token.strip(EDGES) for token in tokens]
    for place, (core, following) in enumerate(pairwise(cores)):
        if core != tokens[place] or not core.isalpha() or core.lower() in stop_words:
            continue
        if not following.isalpha():
            yield from _join_digits(tokens, place, core)
        elif following not in stop_words or place + 2 == len(cores):
            written = f"{core} {following}"
            yield Spelling(written, core + following, "same", False)
    if len(cores) > 2 and cores == tokens and all(map(str.isalpha, cores)):
        yield Spelling(" ".join(cores), "".join(cores), "same", False)


@lru_cache(maxsize=1 << 16)
def _read_token(token: str) -> _Token | None:
    """None: it has no other spelling."""
    if len(token) > MAX_CHARS:
        return None
    if not token.isascii():
        if signs := _PICTOGRAPH.findall(token):
            return _Token(token, tuple((sign, "name", True) for sign in signs))
        if _NON_JOINER in token:
            return _Token(token, ((token.replace(_NON_JOINER, ""), "same", False),))
        token = token.translate(_DASHES)
    core = token.strip(EDGES).lstrip("+").removesuffix("'s").removesuffix("’s")
    if core.isalpha():
        return _read_letters(core)
    if "@" in core[1:]:
        return _Token(core, ((core.lower(), "same", True),))  # an address is no name
    if "&" in core[1:]:
        return _Token(core, ((core.upper(), "name", True),))
    if _INITIALS.fullmatch(core):
        joined = core.replace(".", "")
        is_name = joined.isupper()
        return _Token(core, ((joined, "same", False),) * is_name, name=joined.lower() * is_name)
    if not any(each.isalnum() for each in core):
        operator = _OPERATOR.fullmatch(token.strip("`'\"(),.;"))
        return _Token(operator[1], ((operator[1], "name", True),)) if operator else None
    return _read_number(core) or _read_code(core)


def _read_letters(core: str) -> _Token | None:
    if core.islower() or core.lower() == core.upper():
        return None
    name = core.lower() if len(core) <= _MAX_NAME_CHARS else ""
    if core.istitle() and len(core) > 1:
        return _Token(core, name=name)
    if core.isupper():
        is_code = len(core) <= 6 and core not in {"A", "I"}
        is_foreign_word = len(core) > 1 and bool(find_languages_of_stop_word(name))
        return _Token(
            core, name=name, code=core if is_code else "", is_foreign_word=is_foreign_word
        )
    spelt = _list_parts(core)
    return _Token(core, spelt) if spelt else None


def _list_parts(word: str) -> _Spelt:
    """get, User, By and Id of getUserById; PPR and 9087 of PPR9087; the digits of 0x1F."""
    parts: list[str] = []
    has_one_case = word.islower() or word.isupper() or word.istitle() or word.isdecimal()
    if not has_one_case and _IS_CAMEL.search(word):  # a slow test
        parts = _CAMEL.findall(word)
        parts += [] if word.isalpha() else _WITH_DIGITS.findall(word)
        parts += [] if word.isascii() else [word.translate(_UMLAUTS)]
    elif found := _LETTERS_AND_DIGITS.fullmatch(word):
        parts = [*found.groups(), found[1] + found[2]]
    elif word[:2] == "0x" and len(word) > 5:
        parts = [word[2:]]
    return tuple((part, "part", False) for part in parts if len(part) > 1 and part != word)


def _read_number(core: str) -> _Token | None:
    """A number, a fraction, a version or an amount with its unit."""
    if core.isdecimal():
        digits: _Spelt = ((core.lstrip("0"), "same", False),)
        has_zeros = core[0] == "0" and core.strip("0")
        return _Token(core, digits if has_zeros else (), number=core if len(core) < 16 else "")
    if core[:2] != "0x" and _DIMENSIONS.fullmatch(core):
        return _Token(core, _list_sides(core.replace(",", ".")))
    if _FRACTION.fullmatch(core):
        return _Token(core, ((core, "same", True),))
    if time := _TIME.fullmatch(core):
        return _Token(core, ((time[1], "value", True),))
    amount = _AMOUNT.fullmatch(core)
    if amount and (amount[1] or amount[4] or _DECIMAL.fullmatch(core)):
        currency, written, hyphen, unit = amount.groups("")
        number = written.replace(",", ".")
        spelt: _Spelt = ()
        if "." in number:
            spelt = tuple((digits, "part", False) for digits in number.split("."))
        if currency[:1] == "-":
            currency, number = currency[1:], f"-{number}"
            spelt += ((number, "value", True),)
        measured = _measure(number, unit or currency)
        if measured or not unit:
            spelt += ((measured, "value", True),) if measured else ()
            if measured and unit and not hyphen:
                spelt += ((unit, "part", False),)
                spelt += ((written, "part", False),) if written.isdigit() else ()
            return _Token(core, spelt, number="" if unit else number)
    version = _VERSION.fullmatch(core)
    if version is None:
        return None
    letters, tail, suffix = version.groups("")
    is_version = tail.count(".") > 1
    spelt = ((tail, "part" if suffix and is_version else "value", is_version),)
    if suffix and is_version:
        spelt += ((tail + suffix, "value", True),)
    if len(letters) > 1:
        spelt += ((letters, "part", False),)
    if letters.lower() not in {"", "v"}:
        spelt += (((letters + tail).lower(), "same", True), *_join(core))
    return _Token(core, spelt)


def _list_sides(core: str) -> _Spelt:
    sides = _NUMBER.findall(core)
    pairs: _Spelt = tuple(("x".join(pair), "same", True) for pair in pairwise(sides))
    return pairs + tuple((side, "part", False) for side in sides)


def _measure(number: str, unit: str) -> str:
    """The key of a quantity, the same for 0.5 g and 500 mg; empty if this is no unit."""
    name = unit.lower().translate(_RAISED)
    if name in UNITS:
        base, factor = UNITS[name]
        return f"{float(number) * factor:.9g} {base}"
    first, slash, _ = name.partition("/")
    if name in OTHER_UNITS or (slash and first in UNITS):
        return f"{number} {name}"
    return ""


def _read_code(core: str) -> _Token | None:
    parts = [part for part in _SEPARATOR.split(core) if part]
    spelt = _join(core)
    for part in parts:
        spelt += _list_parts(part)
    digits = sum(each.isdigit() for each in core)
    if len(parts) > 2 and digits and not core.islower():
        joined = (_join(f"{first}-{second}") for first, second in pairwise(parts))
        spelt += tuple((word, "part", False) for each in joined for word, *_ in each)
    if "/" in core and all(map(find_languages_of_stop_word, core.lower().split("/"))):
        spelt += ((core.lower(), "same", True),)  # they/them
    is_code = 0 < digits < len(core) and core[0].isalpha() and len(core) <= 20
    if not (spelt or is_code):
        return None
    return _Token(core, spelt, code="".join(parts) if is_code else "")


def _join(core: str) -> _Spelt:
    """A code without its hyphens, dots and slashes: PPR-9087, AB-123/45, sign-off, node.js."""
    parts = [part for part in _SEPARATOR.split(core) if part]
    joined = "".join(parts)
    digits = sum(map(str.isdigit, joined))
    if len(parts) < 2 or len(parts) > MAX_PARTS or not joined.isalnum():
        return ()
    if digits == len(joined):  # no date or range
        least = _MIN_HYPHENATED_DIGITS if core.count("-") > 1 else MIN_DIGITS
        is_joined = (len(parts) > 2 and digits >= least) or bool(_TWO_GROUPS.fullmatch(core))
    elif digits == 0:
        is_joined = core.isupper() or not ("/" in core or "\\" in core)
    else:  # AB1.5 is not AB15
        is_joined = digits > 3 or not re.search(r"\d\.\d", core)
    return ((joined, "same", False),) if is_joined else ()
