"""What optional apps register here when they start: how relationships that passages quote are
found, whether passages are about a query, and the query pipelines that can be measured."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol

from access.grants import Grant
from retrieval.passages import AnswerContext, QuotedRelationship
from retrieval.relevance import Relevance
from retrieval.search import Hit, Mode

# The question and the contexts of its answer -> visible relationships, the best first.
FindRelationships = Callable[[str, Sequence[AnswerContext], Grant], Sequence[QuotedRelationship]]

_finders: list[FindRelationships] = []


def register_quoted_relationships(find: FindRelationships) -> None:
    _finders.append(find)


def find_quoted_relationships(
    query: str, contexts: Sequence[AnswerContext], grant: Grant
) -> list[QuotedRelationship]:
    return [each for find in _finders for each in find(query, contexts, grant)]


class JudgeSearch(Protocol):
    """Whether passages that the filter leaves are about the query of a search, whose answer has
    these notes."""

    def __call__(
        self,
        indexes: Sequence[str],
        query: str,
        grant: Grant,
        *,
        mode: Mode | str = Mode.HYBRID,
        filter: Mapping[str, Any] | None = None,
        has_vector: bool = False,
        notes: Sequence[str] = (),
    ) -> Relevance: ...


class QueryPipelines(Protocol):
    def list_names(self) -> Collection[str]: ...

    def find_hits(
        self, index: str, query: str, *, pipeline: str, limit: int
    ) -> tuple[Sequence[Hit], Sequence[str]]:
        """The hits of a pipeline, the best first, and its notes."""


_judges: list[JudgeSearch] = []
_pipelines: list[QueryPipelines] = []


def register_search_judge(judge: JudgeSearch) -> None:
    _judges.append(judge)


def register_pipelines(pipelines: QueryPipelines) -> None:
    _pipelines.append(pipelines)


def judge_search(indexes: Sequence[str], query: str, grant: Grant, **about: Any) -> Relevance:
    """As a ``JudgeSearch``. It cannot be told without an app that tests it."""
    for judge in _judges:
        return judge(indexes, query, grant, **about)
    return Relevance(None)


def find_pipelines() -> dict[str, QueryPipelines]:
    """The query pipelines by their names."""
    return {name: pipelines for pipelines in _pipelines for name in pipelines.list_names()}
