"""Tests whether an index has passages about a query: see decisions 17 and 97."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Final

from answers.abbreviations import find_definitions
from answers.questions.english.rules import find_identifier_spans
from core.exceptions import InvalidInput
from documents.groups import is_visible
from documents.models import Artifact
from indexing.kinds import KINDS
from indexing.sparse_vectors import encode_sparse_query
from indexing.stores import Match, Query, ScoredPoint, get_bm25_encoder
from retrieval.filters import all_of
from retrieval.relevance import Relevance
from retrieval.search.query_vectors import (
    SynonymGroups,
    add_synonyms,
    embed_queries_if_available,
    find_names,
)
from retrieval.search.targets import Target
from retrieval.visible_points import VisiblePoints
from text.languages import STOP_WORD_LANGUAGES
from text.question_languages import is_in_languages
from text.words import fold_words, split_words

MAX_POINTS_CHECKED: Final = 10  # the points that share most words with a query
MAX_WORDS_LOOKED_UP: Final = 12  # of a query, one by one
MAX_TITLES_CHECKED: Final = 100
MIN_STEM_CHARS: Final = 4
_TEXT_FIELDS: Final = (
    "artifact_title", "heading", "text", "question", "chunk_text", "summary_text",
)  # fmt: skip


def join_relevance(tested: Sequence[Relevance]) -> Relevance:
    """Of a query to several indexes: relevant if it is to one of them."""
    for is_relevant in (True, None):
        for each in tested:
            if each.is_relevant is is_relevant:
                return each
    if not tested:
        return Relevance(None)
    missing = set.intersection(*(set(each.missing) for each in tested))
    return Relevance(False, tuple(word for word in tested[0].missing if word in missing))


@dataclass(frozen=True, slots=True)
class RelevanceTest:
    """``min_similarity``: the cosine of a passage from which a query is relevant; 0 tests nothing.
    ``languages``: codes (ISO 639-1) of the languages that the embedding model reads: the cosine is
    meaningless in others. None for all. ``embedding_model``: the model that these values were
    measured for; an index with another one is not tested. Empty for any."""

    min_similarity: float
    languages: Collection[str]
    embedding_model: str

    def __post_init__(self) -> None:
        if not 0 <= self.min_similarity <= 1:
            raise InvalidInput("min_similarity must be between 0 and 1.", field="min_similarity")
        for language in self.languages:
            if language not in STOP_WORD_LANGUAGES:
                raise InvalidInput(
                    f"languages has no language {language[:20]!r}.",
                    field="languages",
                    allowed=STOP_WORD_LANGUAGES,
                )

    def judge(self, target: Target, query: str) -> Relevance:
        """A query that names a document is always relevant."""
        if find_identifier_spans(query, target.spec):
            return Relevance(True)
        if not self.min_similarity:
            return Relevance(None)
        untested = "It was not tested whether this index is about the question: the test is for"
        if self.embedding_model not in {"", target.embedding.model}:
            reason = f"{untested} the embedding model {self.embedding_model}."
            return Relevance(None, untested=reason)
        if not is_in_languages(query, self.languages):
            reason = f"{untested} questions in {', '.join(self.languages)}."
            return Relevance(None, untested=reason)
        reading = _Reading(target, query, target.spec.search.synonyms)
        is_similar = reading.is_similar(self.min_similarity)
        if is_similar is None:
            return Relevance(None)  # there are no passages, or a note says that the model failed
        return Relevance(True) if is_similar else judge_by_words(target, query, self.min_similarity)


def judge_by_words(target: Target, query: str, min_similarity: float) -> Relevance:
    """Whether a passage has all content words of a query that is similar to none: embeddings place
    names and abbreviations badly. For a name in the query any other name will do: one that the
    index's synonyms give, or that the passages with its words define as an abbreviation."""
    reading = _Reading(target, query, target.spec.search.synonyms)
    found = reading.find_passages()
    if reading.is_in_any(found):
        return Relevance(True)
    words = reading.words[:MAX_WORDS_LOOKED_UP]
    found_by_word = _search(target, [reading.make_query(word.names) for word in words])
    defined = _find_defined_names(query, chain(found, *found_by_word))
    if defined:
        reading = _Reading(target, query, (*reading.groups, *defined))
        if reading.is_similar(min_similarity):
            return Relevance(True)
        if reading.is_in_any(reading.find_passages()):
            return Relevance(True)
    if reading.is_in_a_title():
        return Relevance(True)
    missing = [word.shown for word, points in zip(words, found_by_word, strict=True) if not points]
    return Relevance(False, tuple(dict.fromkeys(missing)))


def has_all_words(target: Target, query: str) -> bool:
    """Whether a passage has all content words of a query."""
    reading = _Reading(target, query, target.spec.search.synonyms)
    return reading.is_in_any(reading.find_passages())


# --- Reading a query -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Word:
    """A content word of a query, or a name in it with its other names. ``terms``: of each name."""

    shown: str
    names: tuple[str, ...]
    terms: tuple[frozenset[int], ...]


class _Reading:
    """A query, and other names of what it mentions."""

    def __init__(self, target: Target, query: str, groups: SynonymGroups) -> None:
        self.target = target
        self.query = query
        self.groups = groups
        self.text = add_synonyms(query, groups)

    @cached_property
    def whole(self) -> frozenset[int]:
        return self._encode(self.query)

    @cached_property
    def words(self) -> list[_Word]:
        words = split_words(self.query)
        named = find_names([word.folded for word in words], self.groups)
        covered = {place for span in named for place in range(*span)}
        spans = {**named, **{(n, n + 1): () for n in range(len(words)) if n not in covered}}
        split = []
        for start, end in sorted(spans):
            shown = self.query[words[start].start : words[end - 1].end]
            names = tuple(dict.fromkeys([shown, *spans[start, end]]))
            if terms := tuple(filter(None, map(self._encode, names))):
                split.append(_Word(shown, names, terms))
        return split

    def is_similar(self, min_similarity: float) -> bool | None:
        """Whether a passage has at least this cosine to the query, with the other names or without.
        The embedding model must read the query's language. None if its endpoint fails, or if there
        are no passages."""
        for text in dict.fromkeys([self.text, self.query]):
            [dense], _ = embed_queries_if_available(self.target.embedding, [text])
            if dense is None:
                return None
            [nearest] = _search(self.target, [Query(dense=dense, limit=1, with_payload=False)])
            if not nearest:
                return None
            if nearest[0].score >= min_similarity:
                return True
        return False

    def find_passages(self) -> list[ScoredPoint]:
        """Those that share most words with the query, with their terms if these are words."""
        has_words = self.target.spec.sparse.model is None
        query = replace(self.make_query([self.text]), with_terms=has_words)
        [found] = _search(self.target, [query])
        return found

    def make_query(self, texts: Iterable[str]) -> Query:
        sparse = encode_sparse_query(self.target.spec.sparse, " ".join(texts))
        return Query(sparse=sparse, limit=MAX_POINTS_CHECKED, with_payload=list(_TEXT_FIELDS))

    def is_in_any(self, points: Sequence[ScoredPoint]) -> bool:
        """Whether one of these passages has all content words of the query. To encode their texts
        again would take longer than the search, so the terms that they are stored with are
        compared, and only the texts that these lack are encoded."""
        spec, kind = self.target.spec, self.target.kinds[0]
        stored = {KINDS[kind].text_field}
        if kind == "chunk":
            stored |= {
                f"artifact_{part}" if part == "title" else part for part in spec.chunks.context
            }
        fields = [name for name in _TEXT_FIELDS if name not in stored or spec.sparse.model]
        return any(self._is_in(_read_text(point, fields), point.terms) for point in points)

    def _is_in(self, text: str, stored_terms: Iterable[int] = ()) -> bool:
        terms = set(stored_terms)
        if text:
            encoder = get_bm25_encoder(self.target.spec.sparse)
            terms.update(encoder.encode_document(text).indices)
        if self.whole and self.whole <= terms:
            return True
        names = [word.terms for word in self.words]
        return bool(names) and all(any(each <= terms for each in name) for name in names)

    def is_in_a_title(self) -> bool:
        """Whether a document has all words in its title. Where chunks are indexed with their title,
        the passages show it."""
        if "title" in self.target.spec.chunks.context or not self.words:
            return False
        titled = Artifact.objects.filter(is_visible(self.target.grant), index=self.target.index)
        for word in self.words:
            if len(word.names) == 1:  # its beginning, because words are compared by their stems
                titled = titled.filter(title__icontains=word.shown[:MIN_STEM_CHARS])
        titles = titled.values_list("pk", "title")[:MAX_TITLES_CHECKED]
        ids = [str(pk) for pk, title in titles if self._is_in(title)]
        if not ids:
            return False
        condition = all_of(self.target.filter, Match("artifact_id", ids))
        return VisiblePoints(self.target.grant).count(self.target.collection, condition) > 0

    def _encode(self, text: str) -> frozenset[int]:
        return get_bm25_encoder(self.target.spec.sparse).find_words(text)


def _read_text(point: ScoredPoint, fields: Iterable[str] = _TEXT_FIELDS) -> str:
    return "\n".join(str(point.payload[name]) for name in fields if point.payload.get(name))


def _find_defined_names(query: str, points: Iterable[ScoredPoint]) -> SynonymGroups:
    """The abbreviations that these points define, if the query has their short or long form."""
    folded = f" {' '.join(fold_words(query))} "
    defined: dict[tuple[str, ...], None] = {}
    for text in {_read_text(point): None for point in points}:
        for short, long in find_definitions(text):
            forms = [short, f"{short}s", long]
            mentioned = [each for each in forms if f" {' '.join(fold_words(each))} " in folded]
            if mentioned:
                defined[tuple(dict.fromkeys([mentioned[0], short, long]))] = None
    return tuple(defined)


def _search(target: Target, queries: Sequence[Query]) -> list[list[ScoredPoint]]:
    filtered = [replace(query, filter=target.filter) for query in queries]
    requests = [(target.collection, query) for query in filtered]
    return VisiblePoints(target.grant).search_many(requests) if requests else []
