"""Encode documents and queries as BM25 term weights, for both stores.

A document's weights are term frequencies, saturated and normalised for length; the store multiplies
them by inverse document frequencies when it searches. Term ids are hashes of stemmed words, so
documents and queries must be encoded with the same spec.

Source:
    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple
from zlib import crc32

import regex  # for Unicode scripts, which re lacks
from qdrant_edge import Bm25, Bm25Config, DisabledStemmer, StopwordsSet, TokenizerType

from indexing.spec import SparseSpec
from indexing.stores.base import SparseVector
from text.fiscal_years import find_fiscal_years
from text.languages import STOP_WORD_LANGUAGES, load_stop_words
from text.number_spelling import spell_numbers
from text.plain_spelling import spell_plainly, spell_signs
from text.spellings import EDGES, Kind, Spelling, find_spellings, list_stop_words

TOKENIZERS = {
    "multilingual": TokenizerType.Multilingual,  # segments Chinese, Japanese, Thai … into words
    "word": TokenizerType.Word,
    "whitespace": TokenizerType.Whitespace,
    "prefix": TokenizerType.Prefix,
}

# Letters of scripts that separate words by spaces.
_LETTER = r"[\p{L}\p{M}--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"
# Separate numbers: digits within a word, such as "P00037" or "v2", belong to the word.
_NUMBER = regex.compile(rf"(?<!\p{{Nd}}|{_LETTER})\p{{Nd}}++(?!{_LETTER})", regex.VERSION1)
# The same ten times as fast: those scripts by their blocks. With the decimals of a number.
_UNSPACED = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_DECIMAL = re.compile(
    rf"(?<![^\W_{_UNSPACED}])\d++(?:\.\d++(?![^\W\d_{_UNSPACED}]))*(?![^\W\d_{_UNSPACED}])"
)
# What the tokenizers take for a part of a word: signs, and spaces other than the plain one.
_GLUE = re.compile(
    r"[$<=>^|~→°€®©™℠№ªº\x0b\x0c\x1c-\x1f\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
)
_YEAR_AFTER_LETTERS = regex.compile(r"(?<=\p{L})(?:19|20)[0-9]{2}(?![0-9])")
_DIGIT_LETTERS = "bcdfghjklm"


# How much another spelling counts in a text and in a query: less than what is written, so that the
# text that has it as it was asked comes first, and a part less than all of it.
_TEXT_WEIGHTS: Final[Mapping[Kind, float]] = {
    "name": 1.0, "value": 0.75, "same": 0.5, "part": 0.5,
}  # fmt: skip
_QUERY_WEIGHTS: Final[Mapping[Kind, float]] = {
    "name": 1.0, "value": 1.0, "same": 0.75, "part": 0.25,
}  # fmt: skip
# A query of a few words that has a quantity asks for it: 500 g is 0.5 kg, and 500 ml is not.
_SHORT_QUERY: Final = 3
_SHORT_QUERY_WEIGHTS: Final = {**_QUERY_WEIGHTS, "value": 2.0}


class Term(NamedTuple):
    """``written``: a word as the text has it, or several. ``ids``: the terms that it stands for;
    empty for a word that no search looks for. ``kind``: None for the word itself, else which other
    spelling of it this is."""

    written: str
    ids: frozenset[int]
    kind: Kind | None = None


class Bm25Encoder:
    """Encodes text by one sparse spec. Thread-safe."""

    def __init__(self, spec: SparseSpec) -> None:
        self._model = Bm25(_build_config(spec))
        self._drops_numbers = spec.tokenizer == "multilingual"
        self._rules = spec.word_rules
        self._language = next(
            (code for code, name in STOP_WORD_LANGUAGES.items() if name == spec.language), "en"
        )
        self._stop_words = frozenset(
            word + end
            for word in load_stop_words(self._language)
            if not self._model.embed_query(word).indices
            for end in ("", ",")  # so that a comma ends no row of them
        )

    def encode_document(self, text: str) -> SparseVector:
        plain, spellings = self._read(text)
        vector = self._model.embed_document(self._spell(plain))
        indices, values = vector.indices, vector.values
        if not spellings:
            return SparseVector(indices, values)
        # The least weight is that of a word that the text has once.
        unit = min(values, default=1.0)
        weights = dict(zip(indices, values, strict=True))
        return self._add(
            weights, spellings, {kind: unit * share for kind, share in _TEXT_WEIGHTS.items()}
        )

    def encode_documents(self, texts: Sequence[str]) -> list[SparseVector]:
        return [self.encode_document(text) for text in texts]

    def encode_query(self, text: str) -> SparseVector:
        """Each distinct term once: words with weight 1, other spellings by their own weights. A
        year after letters is also a term of its own: texts write FY2018 and FY18 as "fiscal year
        2018", or head a column with 2018."""
        words, spellings = self._read_query(text)
        if not words and self._rules > 2 and not any(each.kind == "name" for each in spellings):
            spellings += list_stop_words(text)
        is_short = len(text.split()) <= _SHORT_QUERY
        weights = _SHORT_QUERY_WEIGHTS if is_short else _QUERY_WEIGHTS
        return self._add(dict.fromkeys(words, 1.0), spellings, weights)

    def find_words(self, text: str) -> frozenset[int]:
        """The terms of ``encode_query`` that are the words as they are written, with stop words in
        capitals. A text that says the same has them among those of ``encode_document``."""
        words, spellings = self._read_query(text)
        names = (each.spelt for each in spellings if each.kind == "name")
        return frozenset((*words, *(_hash_key(name) for name in names if not name.islower())))

    def list_terms(self, text: str, *, is_query: bool = False) -> list[Term]:
        """The words of a text in their order, then their other spellings, by what is written."""
        plain, spellings = self._read(text, is_query=is_query)
        terms = [
            Term(word.strip(EDGES) or word, frozenset(self._find_words(word)))
            for word in plain.split()
        ]
        if is_query and self._rules > 2 and not any(term.ids for term in terms):
            spellings += list_stop_words(text)
        return terms + [
            Term(each.written, frozenset(self._find_ids([each])), each.kind) for each in spellings
        ]

    def find_met_words(self, query: str, text: str) -> dict[str, str]:
        """The words of a query that a text has in some spelling, with what the text has."""
        written: dict[int, str] = {}
        for term in self.list_terms(text):
            for each in term.ids:
                written.setdefault(each, term.written)
        met: dict[str, str] = {}
        for term in self.list_terms(query, is_query=True):
            if found := [written[each] for each in sorted(term.ids) if each in written]:
                met.setdefault(term.written, found[0])
        return met

    def _read_query(self, text: str) -> tuple[list[int], list[Spelling]]:
        years = " ".join([*_YEAR_AFTER_LETTERS.findall(text), *find_fiscal_years(text)])
        plain, spellings = self._read(text, is_query=True)
        return self._find_words(f"{plain} {years}"), spellings

    def _read(self, text: str, *, is_query: bool = False) -> tuple[str, list[Spelling]]:
        """The text in plain spelling, and the other spellings of its words."""
        if self._rules < 3:
            return (text if self._rules == 1 else spell_plainly(text)), []
        text = spell_signs(text)
        text, readings = spell_numbers(text, self._language, is_query=is_query)
        spellings = list(find_spellings(text, self._stop_words, is_query=is_query))
        spellings += [Spelling(each.written, each.spelt, "part", each.is_key) for each in readings]
        return text, spellings

    def _find_words(self, plain: str) -> list[int]:
        return self._model.embed_query(self._spell(plain)).indices

    def _find_ids(self, spellings: Iterable[Spelling]) -> list[int]:
        words = {each.spelt for each in spellings if not each.is_key}
        keys = [_hash_key(each.spelt) for each in spellings if each.is_key]
        return keys + self._find_words(" ".join(words))

    def _add(
        self,
        weights: dict[int, float],
        spellings: Sequence[Spelling],
        weight_by_kind: Mapping[Kind, float],
    ) -> SparseVector:
        """The terms with the other spellings; a term keeps its greatest weight."""
        by_weight: dict[float, list[Spelling]] = {}
        for each in spellings:
            by_weight.setdefault(weight_by_kind[each.kind], []).append(each)
        for weight in sorted(by_weight, reverse=True):
            for term in self._find_ids(by_weight[weight]):
                weights.setdefault(term, weight)
        return SparseVector(list(weights), list(weights.values()))

    def _spell(self, text: str) -> str:
        # The multilingual tokenizer drops separate numbers: "SACC-111" and "SACC-112" would be the
        # same word, and years would be lost. Spelt in letters, they are kept, and decimals whole.
        if self._rules > 2:
            return _DECIMAL.sub(_spell_decimal, _GLUE.sub(" ", text))
        return _NUMBER.sub(_spell_number, text) if self._drops_numbers else text


def _hash_key(key: str) -> int:
    """The term of a key, which no tokenizer sees: a number like those of the engine."""
    return crc32(key.encode()) & 0x7FFF_FFFF


def _spell_number(number: "regex.Match[str]") -> str:
    """A unique word for a number. It has no vowel, ending or double letter that a stemmer of any
    language would change, and no digit that a segmenter would drop."""
    return _spell_digits(number[0])


def _spell_decimal(number: re.Match[str]) -> str:
    """One word for a number or a decimal, several for those of a date or of v1.2.3."""
    parts = number[0].split(".")
    if len(parts) > 2 or number.string[max(0, number.start() - 1) : number.start()] == ".":
        return "".join(map(_spell_digits, parts))
    return _spell_digits(number[0])


@lru_cache(maxsize=4_096)
def _spell_digits(digits: str) -> str:
    letters = (
        "nq" if digit == "." else f"{_DIGIT_LETTERS[unicodedata.digit(digit)]}q" for digit in digits
    )
    return f" q{''.join(letters)} "


@lru_cache(maxsize=64)
def get_bm25_encoder(spec: SparseSpec) -> Bm25Encoder:
    return Bm25Encoder(spec)


def _build_config(spec: SparseSpec) -> Bm25Config:
    is_neutral = spec.language == "none"
    return Bm25Config(
        tokenizer=TOKENIZERS[spec.tokenizer],
        k=spec.k,
        b=spec.b,
        avg_len=spec.average_length,
        language=None if is_neutral else spec.language,
        stopwords=StopwordsSet() if is_neutral else None,  # None: those of the language
        stemmer=DisabledStemmer() if is_neutral else None,
    )
