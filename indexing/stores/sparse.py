"""Encode documents and queries as BM25 term weights, for both stores.

A document's weights are term frequencies, saturated and normalised for length; the store multiplies
them by inverse document frequencies when it searches. Term ids are hashes of stemmed words, so
documents and queries must be encoded with the same spec.

Source:
    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import regex  # for Unicode scripts, which re lacks
from qdrant_edge import Bm25, Bm25Config, DisabledStemmer, StopwordsSet, TokenizerType

from indexing.spec import SparseSpec
from indexing.stores.base import SparseVector
from text.fiscal_years import find_fiscal_years
from text.plain_spelling import spell_plainly

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
_YEAR_AFTER_LETTERS = regex.compile(r"(?<=\p{L})(?:19|20)[0-9]{2}(?![0-9])")
_DIGIT_LETTERS = "bcdfghjklm"


class Bm25Encoder:
    """Encodes text by one sparse spec. Thread-safe."""

    def __init__(self, spec: SparseSpec) -> None:
        self._model = Bm25(_build_config(spec))
        self._drops_numbers = spec.tokenizer == "multilingual"
        self._spells_plainly = spec.word_rules == 2

    def encode_document(self, text: str) -> SparseVector:
        vector = self._model.embed_document(self._spell(text))
        return SparseVector(vector.indices, vector.values)

    def encode_documents(self, texts: Sequence[str]) -> list[SparseVector]:
        return [self.encode_document(text) for text in texts]

    def encode_query(self, text: str) -> SparseVector:
        """Each distinct term once, with weight 1. A year after letters is also a term of its own:
        texts write FY2018 and FY18 as "fiscal year 2018", or head a column with 2018."""
        years = " ".join([*_YEAR_AFTER_LETTERS.findall(text), *find_fiscal_years(text)])
        vector = self._model.embed_query(self._spell(f"{text} {years}"))
        return SparseVector(vector.indices, vector.values)

    def _spell(self, text: str) -> str:
        if self._spells_plainly:
            text = spell_plainly(text)
        # The multilingual tokenizer drops separate numbers: "SACC-111" and "SACC-112" would be the
        # same word, and years would be lost. Spelt in letters, numbers are kept.
        return _NUMBER.sub(_spell_number, text) if self._drops_numbers else text


def _spell_number(number: "regex.Match[str]") -> str:
    """A unique word for a number. It has no vowel, ending or double letter that a stemmer of any
    language would change, and no digit that a segmenter would drop."""
    letters = "".join(f"{_DIGIT_LETTERS[unicodedata.digit(digit)]}q" for digit in number[0])
    return f" q{letters} "


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
