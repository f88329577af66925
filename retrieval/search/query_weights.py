"""How much each ranking of a hybrid search counts, by whether it can read the query.

Vectors of a code, or of a language that the model does not know, are noise, and the words of a
query in another language than the texts find little. Reciprocal ranks would give both as many votes
as the ranking that reads the query. The values were chosen on XQuAD: see decision 76.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from access.grants import Grant
from indexing.embedding.availability import get_model_languages
from indexing.spec import EmbeddingSpec, IndexSpec
from retrieval.document_languages import find_text_languages
from text.question_languages import (
    is_in_other_language,
    is_in_other_script,
    is_latin,
    name_languages,
)
from text.units import UNITS

OTHER_LANGUAGE_WEIGHT: Final = 0.1  # of vectors: names and borrowed words are still read
_DIGIT: Final = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class QueryWeights:
    """Factors of an index's own weights, from 0 to 1. ``note``: why one of them is below 1."""

    dense: float = 1.0
    sparse: float = 1.0
    note: str = ""


BOTH_READ: Final = QueryWeights()


def weigh_rankings(spec: IndexSpec, model: EmbeddingSpec, query: str, grant: Grant) -> QueryWeights:
    """At most one of the rankings counts for less: words are weighed only where the model reads
    many languages. For a code or a quantity, the texts that hold it come first."""
    if _is_code(query):
        return QueryWeights(dense=OTHER_LANGUAGE_WEIGHT)
    languages = get_model_languages(model)
    if languages:
        return _weigh_dense(model, languages, query)
    return _weigh_sparse(spec.name, query, grant)


def _is_code(query: str) -> bool:
    """Whether a query is one word with a digit, such as P01234, perhaps after capitals or before a
    unit: LH 454, 0.5 kg."""
    words = query.split()
    if len(words) > 1 and words[-1].lower() in UNITS:
        words.pop()
    if len(words) == 2 and words[0].isupper():
        words.pop(0)
    return len(words) == 1 and _DIGIT.search(words[0]) is not None


def _weigh_dense(model: EmbeddingSpec, languages: Collection[str], query: str) -> QueryWeights:
    if is_in_other_script(query, languages):
        weight, share = 0.0, "by its words only"
    elif is_in_other_language(query, languages):
        weight, share = OTHER_LANGUAGE_WEIGHT, "mostly by its words"
    else:
        return BOTH_READ
    reason = f"the embedding model {model.model} reads {name_languages(languages)} only"
    return QueryWeights(dense=weight, note=f"Ranked {share}: {reason}.")


def _weigh_sparse(index: str, query: str, grant: Grant) -> QueryWeights:
    texts = find_text_languages(index, grant)
    has_script = texts.has_latin if is_latin(query) else texts.has_other_scripts
    if has_script and not (texts.languages and is_in_other_language(query, texts.languages)):
        return BOTH_READ
    reason = f"the texts of {index} are in another language"
    return QueryWeights(sparse=0.0, note=f"Ranked by its meaning only: {reason}.")
