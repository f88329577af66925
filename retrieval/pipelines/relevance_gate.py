"""Pipeline component that stops questions which have nothing to do with the index."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from haystack import component

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput
from indexing.spec import IndexSpec
from indexing.stores import Query, encode_sparse_query, get_bm25_encoder
from retrieval.event_loop import add_run_async
from retrieval.languages import is_in_languages
from retrieval.passages import Refusal
from retrieval.questions.english.rules import find_identifier_spans
from retrieval.search.multi_query import choose_passage_kind
from retrieval.search.query_vectors import embed_queries_if_available
from retrieval.search.targets import Target, find_builds, make_targets
from retrieval.visible_points import VisiblePoints
from summaries.extractive.languages import STOP_WORD_LANGUAGES, load_stop_word_lists

MAX_POINTS_CHECKED: Final = 10  # the points that share most words with the question


@dataclass(frozen=True, slots=True)
class RelevanceTest:
    """``min_similarity``: the cosine of a passage from which a question is relevant; 0 refuses
    nothing. ``languages``: codes (ISO 639-1) of the languages that the embedding model reads: the
    cosine is meaningless in others. None for all. ``embedding_model``: the model that these values
    were measured for; an index with another one is not tested. Empty for any."""

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

    def refuses(self, target: Target, question: str) -> tuple[bool, list[str]]:
        """Whether the question has nothing to do with the index, and a note if not tested."""
        if not self.min_similarity:
            return False, []
        untested = "It was not tested whether this index is about the question: the test is for"
        if self.embedding_model not in {"", target.embedding.model}:
            return False, [f"{untested} the embedding model {self.embedding_model}."]
        if not is_in_languages(question, self.languages):
            return False, [f"{untested} questions in {', '.join(self.languages)}."]
        is_about_index = is_relevant(target, question, self.min_similarity)
        if is_about_index is None:
            return False, [f"{untested} the embedding model, whose endpoint failed."]
        return not is_about_index, []


@component
@add_run_async
@dataclass(eq=False, repr=False)
class RelevanceGate:
    """Let a question pass, or refuse it if it has nothing to do with the index: then the only
    output is ``refusal``, so no later component runs.

    The parameters depend on the embedding model: see ``RelevanceTest``. A question in another
    language, or to an index with another embedding model, passes with a note. A question that
    names a document is always relevant, and so is any question to an empty index. ``FilterParser``
    has the same test, for pipelines that read filters.
    """

    min_similarity: float = 0.0
    languages: list[str] | None = None
    embedding_model: str = ""

    def __post_init__(self) -> None:
        languages = tuple(self.languages or ())
        self.test = RelevanceTest(self.min_similarity, languages, self.embedding_model)

    def warm_up(self) -> None:
        """Load the stop words of all languages."""
        load_stop_word_lists()

    @component.output_types(query=str, queries=list[str], notes=list[str], refusal=Refusal)
    def run(self, index: str, query: str, grant: Grant = EVERYTHING) -> dict[str, Any]:
        notes: list[str] = []
        build = find_builds([index], grant)[index]
        if build is not None and not find_identifier_spans(query, build.spec):
            [target] = make_targets([build], [choose_passage_kind(build)])
            is_refused, notes = self.test.refuses(target, query)
            if is_refused:
                return {"refusal": make_refusal(build.spec)}
        return {"query": query, "queries": [query], "notes": notes}


def is_relevant(target: Target, query: str, min_similarity: float) -> bool | None:
    """Whether some point has at least ``min_similarity`` (a cosine) to the question, or contains
    all of its content words (embeddings place names and abbreviations badly). The embedding model
    must read the question's language. None if the model's endpoint fails."""
    [dense], _ = embed_queries_if_available(target.spec.embedding, [query])
    if dense is None:
        return None
    points = VisiblePoints(target.grant)
    nearest = points.search(target.collection, Query(dense=dense, limit=1))
    if not nearest or nearest[0].score >= min_similarity:
        return True
    return _has_point_with_all_terms(target, query)


def _has_point_with_all_terms(target: Target, query: str) -> bool:
    spec = target.spec.sparse
    sparse = encode_sparse_query(spec, query)
    points = VisiblePoints(target.grant)
    found = points.search(target.collection, Query(sparse=sparse, limit=MAX_POINTS_CHECKED))
    encoder = get_bm25_encoder(spec)
    terms = set(sparse.indices)
    names = ("artifact_title", "heading", "text", "question", "chunk_text", "summary_text")
    texts = (
        "\n".join(str(point.payload[name]) for name in names if point.payload.get(name))
        for point in found
    )
    return any(terms <= set(encoder.encode_document(text).indices) for text in texts)


def make_refusal(spec: IndexSpec) -> Refusal:
    title = spec.title or spec.name
    holds = spec.description.rstrip(". ")
    return Refusal(
        detail=f"{title} holds nothing that this question is about.",
        fix=f"Ask about what it holds: {holds[:1].lower()}{holds[1:]}." if holds else None,
    )
