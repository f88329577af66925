"""Reads what people type in a query beside its words, and finds words and phrases in a text.

``"exact phrase"``, ``+word``, ``-word``, ``one OR other`` and ``field:value`` are read where people
mean them. Everything else is text: ``-5 degrees``, ``state-of-the-art``, ``10:30``, ``Re: invoice``
and a quotation mark without its partner. A note says where a sign was taken as text.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import regex  # for Unicode properties, which re lacks

from core.exceptions import InvalidInput
from text.plain_spelling import spell_signs
from text.words import fold_words, split_word_set

Words: TypeAlias = tuple[str, ...]  # folded, which follow each other in a text
Alternatives: TypeAlias = tuple[Words, ...]

MAX_CONDITIONS: Final = 50  # words and phrases of a request
MAX_CONDITION_CHARS: Final = 500
_NAMED: Final = 10  # fields or phrases, in a note
_MAX_NOTES: Final = 3  # of signs that are text
PASTED_CHARS: Final = 1_000  # of a query: a longer one is pasted, not typed

# Scripts without spaces have a word for each character, so that a phrase is found in a sentence.
_UNSPACED_SCRIPTS: Final = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_UNSPACED = regex.compile(rf"{_UNSPACED_SCRIPTS}\p{{M}}*")
_ARABIC_ARTICLE = regex.compile(r"(?<!\p{L})[وفبك]?(?:ال|لل)(?=\p{L}{2})")  # part of its word
_NO_ASCII_WORD = re.compile("[^a-z0-9]+")

_DOUBLE: Final = '"“”„‟＂″'  # languages open and close with different ones of these
_QUOTES: Final = f"{_DOUBLE}«»‹›「」『』"
_QUOTED: Final = "|".join(
    f"[{opening}](?P<quoted>[^{opening}{closing}]+)[{closing}]"
    for opening, closing in (
        ("“", "”"),
        ("„", "“”"),
        ("«", "»"),
        ("»", "«"),
        ("‹", "›"),
        ("›", "‹"),
        ("「", "」"),
        ("『", "』"),
    )
)
_LETTER: Final = rf"[\w--{_UNSPACED_SCRIPTS}]"
_MINUS: Final = "-−－–"  # also the minus sign itself, and what word processors make of a hyphen
_PLUS: Final = "+＋"
_SIGN: Final = f"[{_MINUS}{_PLUS}]"
# A quoted phrase, an unquoted term, or a quotation mark alone. A mark that opens and closes is no
# beginning after a letter or a digit: it may be an inch.
_PIECE = regex.compile(
    rf"(?P<sign>(?<!\S){_SIGN})?(?:(?P<name>[A-Za-z]\w*):)?"
    rf"(?:{_QUOTED}|(?<!{_LETTER})[{_DOUBLE}](?P<quoted>[^{_DOUBLE}]+)[{_DOUBLE}](?!{_LETTER}))"
    rf"|(?P<term>[^\s{_QUOTES}]+)|(?P<lone>[{_QUOTES}])",
    regex.VERSION1,
)
_MAY_HAVE_SYNTAX = re.compile(  # re, not regex: every query is looked at
    rf"[{_QUOTES}]|(?:^|\s)(?:{_SIGN}\w|OR(?:\s|$)|{_SIGN}?[A-Za-z]\w*:)"
)
_SIGNED = regex.compile(rf"({_SIGN})(\p{{L}}.+)")
_SIGNED_NUMBER = regex.compile(rf"[{_MINUS}]\d.*")
_FIELD = regex.compile(rf"({_SIGN})?([A-Za-z]\w*):([^/\s].*)")
_LOOKS_LIKE_FIELD = regex.compile(r"[a-z][a-z_]+:\w[^:/@]*")
_ENDING_DASH = regex.compile(r"(?<=\w)[-–](?=[\s.,;:!?]|$)")
# After these words, a hyphen stands for the beginning of a word before: "Ein- und -ausgang".
_JOINING: Final = split_word_set("and or und oder bzw sowie et ou y e o")


def compare_words(text: str) -> Words:
    """The words of a text as they are compared: whatever their case, accents and punctuation."""
    text = spell_signs(text)  # C++ and C# are other words than C
    if text.isascii():  # the same in less time: hundreds of passages are compared
        return tuple(_NO_ASCII_WORD.sub(" ", text.lower()).split())
    text = _UNSPACED.sub(lambda found: f" {found[0]} ", _ARABIC_ARTICLE.sub("", text))
    return tuple(filter(None, fold_words(text)))


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the text of a hit has, one of each ``Alternatives``, and what it lacks."""

    required: tuple[Alternatives, ...] = ()
    excluded: Alternatives = ()

    def __bool__(self) -> bool:
        return bool(self.required or self.excluded)

    def hold(self, text: str) -> bool:
        words = f" {' '.join(compare_words(text))} "

        def has(phrase: Words) -> bool:
            return f" {' '.join(phrase)} " in words

        return all(any(map(has, each)) for each in self.required) and not any(
            map(has, self.excluded)
        )


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """A query as it is searched. ``conditions`` hold for every hit. ``typed`` are those of the
    query's own quotation marks, plus signs and ORs; where no passage meets them, they are given up.
    ``filter``: of its fields, in the API's syntax. ``words``: what a request requires beside its
    query, which is searched by words, too. ``notes``: what was taken as text. ``question``: the
    text with its quotation marks, in which nothing is read as a filter."""

    text: str
    conditions: Conditions = Conditions()
    typed: tuple[Alternatives, ...] = ()
    filter: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""
    notes: tuple[str, ...] = ()
    question: str = ""

    @property
    def all_conditions(self) -> Conditions:
        return Conditions(self.conditions.required + self.typed, self.conditions.excluded)

    def explain_given_up(self) -> str:
        shown = [
            " or ".join(f"“{' '.join(words)}”" for words in each) for each in self.typed[:_NAMED]
        ]
        more = " …" if len(self.typed) > _NAMED else ""
        return (
            f"No passage was found with {' and '.join(shown)}{more}, so quotation marks, plus "
            "signs and ORs were not applied."
        )


def read_conditions(
    must: Sequence[str] = (), must_not: Sequence[str] = (), phrases: Sequence[str] = ()
) -> Conditions:
    """The conditions of a request's own parameters. Raises ``InvalidInput``: names the one that
    has no word, or is too long."""
    given = {"must": must, "must_not": must_not, "phrases": phrases}
    read: dict[str, list[Words]] = {}
    for name, texts in given.items():
        read[name] = [compare_words(text) for text in texts]
        if not all(read[name]):
            raise InvalidInput(f"{name} must hold words; one of them has none.", field=name)
        if any(len(text) > MAX_CONDITION_CHARS for text in texts):
            raise InvalidInput(
                f"{name} may hold {MAX_CONDITION_CHARS} characters each.", field=name
            )
        if len(texts) > MAX_CONDITIONS:
            raise InvalidInput(f"{name} may hold at most {MAX_CONDITIONS} texts.", field=name)
    words = [((word,),) for each in read["must"] for word in each]
    required = [*words, *((phrase,) for phrase in read["phrases"])]
    return Conditions(tuple(required), tuple(read["must_not"]))


# --- Typed queries ---------------------------------------------------------------------------

# The name of a field and a value -> the condition, in the API's syntax. Raises ``LookupError``: no
# such field; ``InvalidInput``: not such a value.
ReadField: TypeAlias = Callable[[str, str], tuple[str, Any]]


@dataclass(slots=True)
class _Piece:
    shown: str
    text: str  # what is searched of it
    words: Words = ()
    is_required: bool = False
    is_or: bool = False
    field: str = ""  # of which this was a value
    quoted: str = ""  # a phrase with its quotation marks


@dataclass(slots=True)
class _Reader:
    query: str
    read_field: ReadField
    field_names: Sequence[str]
    pieces: list[_Piece] = field(default_factory=list)
    excluded: list[Words] = field(default_factory=list)
    values: dict[str, list[Any]] = field(default_factory=dict)
    ranges: list[Mapping[str, Any]] = field(default_factory=list)
    excluded_values: dict[str, list[Any]] = field(default_factory=dict)
    value_texts: list[str] = field(default_factory=list)
    last_dash: int = -1  # where a word ends with a hyphen
    notes: list[str] = field(default_factory=list)

    def read(self) -> ReadQuery:
        self.last_dash = max(
            (each.start() for each in _ENDING_DASH.finditer(self.query)), default=-1
        )
        for found in _PIECE.finditer(self.query):
            if found["term"]:
                self._read_term(found[0], found.start())
            elif found["lone"]:
                self._take_as_text(found[0], "it has no partner")
            else:
                self._read_phrase(found[0], found["sign"], found["name"], found["quoted"])
        required = list(self._group())
        if len(required) + len(self.excluded) > MAX_CONDITIONS:
            note = f"More than {MAX_CONDITIONS} signs of syntax were read as text."
            return ReadQuery(self.query, notes=(note,))
        notes = list(dict.fromkeys(self.notes))
        if len(notes) > _MAX_NOTES:
            notes[_MAX_NOTES - 1 :] = [f"{len(notes) - _MAX_NOTES + 1} more signs are text, too."]
        text = " ".join(piece.text for piece in self.pieces if piece.text)
        if not compare_words(text):
            text = " ".join(self.value_texts)
        if not text and self.excluded:
            notes.append(
                "Only words to leave out were given: nothing was searched for, and the order of "
                "the hits has no meaning."
            )
        filters: list[Mapping[str, Any]] = [dict(self.values)] if self.values else []
        filters += self.ranges
        filters += [{"not": {name: values}} for name, values in self.excluded_values.items()]
        return ReadQuery(
            text or self.query,
            Conditions((), tuple(self.excluded)),
            tuple(dict.fromkeys(required)),
            {"all_of": filters} if filters else {},
            notes=tuple(notes),
            question=" ".join(filter(None, (each.quoted or each.text for each in self.pieces))),
        )

    def _take_as_text(self, shown: str, reason: str) -> None:
        self.pieces.append(_Piece(shown, shown))
        self.notes.append(f"“{shown}” was read as text: {reason}.")

    def _read_phrase(self, shown: str, sign: str | None, name: str | None, quoted: str) -> None:
        if name and self._read_field(shown, sign, name, quoted):
            return
        words = compare_words(quoted)
        if not words:
            self._take_as_text(shown, "it holds no word")
        elif sign and sign in _MINUS:
            self.excluded.append(words)
        else:
            text = f"{name}: {quoted.strip()}" if name else quoted.strip()
            quoted = shown.lstrip(_PLUS)
            self.pieces.append(_Piece(shown, text, words, is_required=True, quoted=quoted))

    def _read_term(self, term: str, start: int) -> None:
        is_first = start == 0 or self.query[start - 1].isspace()
        is_whole = is_first and self.query[start + len(term) :][:1].strip() == ""
        if is_whole and term == "OR":
            self.pieces.append(_Piece(term, "", is_or=True))
        elif (
            is_first
            and (named := _FIELD.fullmatch(term))
            and self._read_field(term, named[1], named[2], named[3].rstrip(",;.?!)"))
        ):
            pass
        elif is_first and (signed := _SIGNED.fullmatch(term)):
            self._read_signed(term, signed[1], signed[2], start)
        elif is_first and _SIGNED_NUMBER.fullmatch(term):
            self._take_as_text(term, "a minus sign before a number leaves nothing out")
        else:
            name = term.lstrip(_MINUS + _PLUS).removesuffix(":").casefold()
            if is_whole and term.endswith(":") and name in map(str.casefold, self.field_names):
                self.notes.append(f"“{term}” was read as text: a space follows it.")
            self.pieces.append(_Piece(term, term, compare_words(term)))

    def _read_signed(self, term: str, sign: str, rest: str, start: int) -> None:
        words = compare_words(rest)
        if sign in _PLUS and words:
            self.pieces.append(_Piece(term, rest, words, is_required=True))
        elif reason := self._find_hyphen(words, start):
            self._take_as_text(term, reason)
        else:
            self.excluded.append(words)

    def _find_hyphen(self, words: Words, start: int) -> str:
        """Why this minus sign is a hyphen or a dash; empty if it is none."""
        before = self.query[:start].rstrip(" \t")
        last = self.pieces[-1].shown.casefold().strip(".") if self.pieces else ""
        if not words or (len(words) == 1 and len(words[0]) == 1):
            return "a single letter is not left out"
        if last in _JOINING or last.endswith(("/", "&")):
            return f"after “{self.pieces[-1].shown}”, it is the end of a word"
        if "\n" in self.query.strip() and (not before or before.endswith("\n")):
            return "at the beginning of a line, it is a dash"
        if self.last_dash > start:
            return "it stands between dashes"
        return ""

    def _read_field(self, shown: str, sign: str | None, name: str, value: str) -> bool:
        """Whether this was the value of a field; if people may have meant one, a note says why it
        was not."""
        try:
            known, read = self.read_field(name, value)
        except LookupError:
            if _LOOKS_LIKE_FIELD.fullmatch(f"{name}:{value}"):
                named = ", ".join(self.field_names[:_NAMED])
                fields = f"the fields are {named}" if named else "the index declares none"
                self.notes.append(f"“{name}” was read as text, not as a field: {fields}.")
            return False
        except InvalidInput as error:
            self.notes.append(f"“{shown}” was read as text: {error}")
            return False
        is_excluded = sign is not None and sign in _MINUS
        if isinstance(read, Mapping):  # several bounds hold together, unlike several values
            self.ranges.append({"not": {known: read}} if is_excluded else {known: read})
        else:
            values = self.excluded_values if is_excluded else self.values
            values.setdefault(known, []).append(read)
        if not is_excluded:
            self.value_texts.append(value)
        self.pieces.append(_Piece("", "", field=known))
        return True

    def _group(self) -> Iterable[Alternatives]:
        """What each hit must have: the required pieces, and one of those that ORs join."""
        groups: list[list[_Piece]] = []
        is_joined = False
        neighbours = zip([None, *self.pieces], [*self.pieces[1:], None], strict=False)
        for piece, (before, after) in zip(self.pieces, neighbours, strict=False):
            if not piece.is_or:
                if is_joined:
                    groups[-1].append(piece)
                else:
                    groups.append([piece])
            is_joined = bool(piece.is_or and before and after and before.words and after.words)
            is_of_field = before and after and before.field and before.field == after.field
            if piece.is_or and not is_joined and not is_of_field:  # a field takes any of its values
                piece.text = piece.shown
                self.notes.append(
                    "“OR” was read as text: it joins two words, phrases or values of one field."
                )
        for group in groups:
            if len(group) > 1 or group[0].is_required:
                yield tuple(piece.words for piece in group)


def read_query(query: str, read_field: ReadField, field_names: Sequence[str]) -> ReadQuery:
    """Read a typed query. One without a sign of syntax is returned as it is, at no cost. In a
    pasted text, such as a log, signs are text."""
    if _MAY_HAVE_SYNTAX.search(query) is None:
        return ReadQuery(query)
    if len(query) >= PASTED_CHARS:
        note = f"Signs of syntax are text in a query of {PASTED_CHARS:,} characters or more."
        return ReadQuery(query, notes=(note,))
    read = _Reader(query, read_field, field_names).read()
    has_syntax = read.all_conditions or read.filter
    return read if has_syntax else ReadQuery(query, notes=read.notes)
