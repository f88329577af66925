"""Pipeline component that stops questions which have nothing to do with the index."""

from dataclasses import dataclass
from typing import Any

from haystack import component

from access.grants import EVERYTHING, Grant
from answers.asking import Refusal
from answers.pipelines.run_async import add_run_async
from answers.relevance import RelevanceTest
from indexing.spec import IndexSpec
from retrieval.relevance import Relevance
from retrieval.search.multi_query import choose_passage_kind
from retrieval.search.targets import find_builds, make_targets
from text.languages import load_stop_word_lists


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

    @component.output_types(
        query=str, queries=list[str], notes=list[str], relevant=bool | None, refusal=Refusal
    )
    def run(self, index: str, query: str, grant: Grant = EVERYTHING) -> dict[str, Any]:
        relevance = Relevance(None)
        build = find_builds([index], grant)[index]
        if build is not None:
            [target] = make_targets([build], [choose_passage_kind(build)])
            relevance = self.test.judge(target, query)
            if relevance.is_relevant is False:
                return {"refusal": make_refusal(build.spec, relevance)}
        notes = [relevance.untested] if relevance.untested else []
        return {
            "query": query,
            "queries": [query],
            "notes": notes,
            "relevant": relevance.is_relevant,
        }


def make_refusal(spec: IndexSpec, relevance: Relevance | None = None) -> Refusal:
    """``relevance``: what the test found; None if a language model decided."""
    title = spec.title or spec.name
    reason = "" if relevance is None else f": {relevance.reason}"
    holds = spec.description.rstrip(". ")
    return Refusal(
        detail=f"{title} holds nothing that this question is about{reason}.",
        fix=f"Ask about what it holds: {holds[:1].lower()}{holds[1:]}." if holds else None,
    )
