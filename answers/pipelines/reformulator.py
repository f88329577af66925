"""Pipeline component that writes several wordings of a question to search with."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from haystack import component

from access.grants import EVERYTHING, Grant
from answers.pipelines.run_async import add_run_async
from answers.questions.wordings import (
    drop_near_duplicates,
    extract_keywords,
    is_question,
    request_wordings,
)
from core.exceptions import InvalidInput
from language_models.exceptions import LanguageModelError
from language_models.llm import is_configured
from language_models.prompts import read_prompt_template
from retrieval.ledger import LiveBuild
from retrieval.retrievers import ChunkRetriever, QuestionRetriever
from retrieval.search import MAX_QUERIES
from retrieval.search.targets import find_builds

MAX_MODEL_QUERY_CHARS: Final = 2_000  # of the question, shown to the language model


@component
@add_run_async
@dataclass(eq=False, repr=False)
class Reformulator:
    """Return the question itself, then other wordings of it: at most ``count`` in total.

    A language model writes them if one is configured and ``uses_model`` is on. Without one, or if
    it does not respond within ``patience_seconds``, rules write them: the key words of a question,
    and with ``uses_titles`` the title of the best matching document (a simple form of Rocchio's
    pseudo-relevance feedback). Near-duplicates are dropped, so a title, a claim or a few key words
    often keep one wording; more of them would find less
    (docs/decisions/0019-rules-reword-only-questions.md). If there are fewer than ``count``, a note
    says how many and why.
    """

    count: int = 3
    uses_model: bool = True
    uses_titles: bool = False
    model: str = ""
    prompt: str = "reformulation"
    patience_seconds: float = 8.0

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_QUERIES:
            raise InvalidInput(f"count must be between 1 and {MAX_QUERIES}.", field="count")
        read_prompt_template(self.prompt)  # raises if there is no such prompt

    @component.output_types(queries=list[str], notes=list[str])
    def run(self, index: str, query: str, grant: Grant = EVERYTHING) -> dict[str, Any]:
        build = find_builds([index], grant)[index]
        if build is None or self.count == 1:
            return {"queries": [query], "notes": []}
        others, why = self._reformulate_by_model(query, build)
        if others is None:
            others = self._reformulate_by_rules(query, build, grant)
        queries = drop_near_duplicates(query, others, self.count)
        notes = []
        if len(queries) < self.count:
            wordings = "1 wording" if len(queries) == 1 else f"{len(queries)} wordings"
            notes.append(f"Searched in {wordings} instead of {self.count}: {why}.")
        return {"queries": queries, "notes": notes}

    def _reformulate_by_model(
        self, query: str, build: LiveBuild
    ) -> tuple[Iterable[str] | None, str]:
        """What the model writes, or None; and why there are no other wordings."""
        if not (self.uses_model and is_configured()):
            return None, "without a language model, rules write no more"
        try:
            written = request_wordings(
                query[:MAX_MODEL_QUERY_CHARS],
                build.spec,
                self.count - 1,
                model=self.model,
                prompt=self.prompt,
                patience_seconds=self.patience_seconds,
            )
        except LanguageModelError:
            return None, "the language model did not answer, and rules write no more"
        return written, "the language model wrote no more that differ"

    def _reformulate_by_rules(self, query: str, build: LiveBuild, grant: Grant) -> Iterator[str]:
        if is_question(query):
            yield extract_keywords(query)
        if self.uses_titles and (title := find_best_title(query, build, grant)):
            yield title


def find_best_title(query: str, build: LiveBuild, grant: Grant) -> str:
    """Title of the first hit of one hybrid search; empty if there is none."""
    kinds = build.spec.kinds
    retriever = ChunkRetriever if "chunk" in kinds else QuestionRetriever
    options: dict[str, Any] = {"grant": grant, "limit": 1, "verify": False}
    hits = retriever(build.index, **options).search(query).hits
    return str(hits[0].payload.get("artifact_title") or "") if hits else ""
