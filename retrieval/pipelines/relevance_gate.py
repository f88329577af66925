"""Pipeline component that stops questions which have nothing to do with the index."""

from typing import Any

from haystack import component

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput
from indexing.spec import IndexSpec
from retrieval.passages import Refusal
from retrieval.pipelines.threads import add_run_async
from retrieval.questions.english.rules import find_identifier_spans
from retrieval.questions.relevance import is_relevant, load_stop_word_lists
from retrieval.search.multi_query import choose_passage_kind
from retrieval.search.targets import find_builds, make_targets, parse_recipe


@component
@add_run_async
class RelevanceGate:
    """Let a question pass, or refuse it if it has nothing to do with the index: then the only
    output is ``refusal``, so no later component runs.

    ``min_similarity`` is the cosine of a passage from which a question is relevant
    (``retrieval.questions.relevance``); 0 refuses nothing. A question that names a document is
    always relevant, and so is any question to an empty index. ``FilterParser`` has the same test
    for pipelines that read filters.
    """

    def __init__(self, min_similarity: float = 0.0) -> None:
        check_min_similarity(min_similarity)
        self.min_similarity = min_similarity

    def warm_up(self) -> None:
        """Load the stop words of all languages."""
        load_stop_word_lists()

    @component.output_types(query=str, queries=list[str], refusal=Refusal)
    def run(self, index: str, query: str, grant: Grant = EVERYTHING) -> dict[str, Any]:
        """
        Raises:
            UnknownIndex: there is no such index.
            StoreUnavailable, EmbeddingUnavailable: retry helps.
        """
        passed = {"query": query, "queries": [query]}
        build = find_builds([index], grant)[index]
        if build is None or not self.min_similarity:
            return passed
        spec = parse_recipe(build.recipe)
        if find_identifier_spans(query, spec):
            return passed
        [target] = make_targets([build], [choose_passage_kind(build)], None)
        if is_relevant(target, query, self.min_similarity):
            return passed
        return {"refusal": make_refusal(spec)}


def check_min_similarity(min_similarity: float) -> None:
    """
    Raises:
        InvalidInput: it is no cosine from 0 to 1.
    """
    if not 0 <= min_similarity <= 1:
        raise InvalidInput("min_similarity must be between 0 and 1.", field="min_similarity")


def make_refusal(spec: IndexSpec) -> Refusal:
    title = spec.title or spec.name
    holds = spec.description.rstrip(". ")
    return Refusal(
        detail=f"{title} holds nothing that this question is about.",
        fix=f"Ask about what it holds: {holds[:1].lower()}{holds[1:]}." if holds else None,
    )
