"""How the searches of the core are offered over REST and on the command line.

An app lists its searches in such a table and names it in ``searches`` of its ``apps.py``. A new
search needs a retriever and one entry.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import strata_types
from core.serializers import StrictSerializer
from retrieval.hit_text import Content, render_hits
from retrieval.serializers import answers, requests


@dataclass(frozen=True, slots=True)
class Search:
    """``parameters`` are the query, or a vector, and the retriever's own arguments. ``answer`` is
    the type of what ``render`` makes of the retriever's answer, with ``relevant`` where
    ``finds_passages``. ``kinds``: of the nodes that an index must hold to be searched without being
    named; empty for any. ``to_text`` writes the rendered answer for a language model,
    ``printer`` prints it on the command line."""

    operation_id: str
    retriever: str  # dotted path, because importing a retriever imports LlamaIndex
    parameters: type[StrictSerializer]
    render: Callable[[Any], dict[str, Any]]
    answer: Any
    summary: str
    description: str
    finds_passages: bool = False
    kinds: tuple[str, ...] = ()
    to_text: Callable[[Content], str] = render_hits
    printer: str = "retrieval.management.answer_printing.AnswerPrinter"  # dotted path, as above
    # On the command line and over MCP, each search has a query. Where it is not words: the
    # parameter that it is, and what to write.
    query_parameter: str = "query"
    query_form: str = ""


RELEVANT = (
    "A search always finds the nearest passages; `relevant` is false if they seem to be about "
    "something else."
)

render_chunks = partial(answers.render_search_answer, render_hit=answers.render_chunk)

# Keys: the last segment of the URL, /search/<name>.
SEARCHES: dict[str, Search] = {
    "pages": Search(
        "search_pages",
        "retrieval.retrievers.ChunkRetriever",
        requests.PassageSearchParametersSerializer,
        render_chunks,
        strata_types.PageSearchAnswer,
        "Search passages",
        "Passages that answer a query, best first, each compared with its document as it is now. "
        f"{RELEVANT}",
        finds_passages=True,
    ),
    "summaries": Search(
        "search_summaries",
        "retrieval.retrievers.SummaryRetriever",
        requests.SummarySearchParametersSerializer,
        partial(answers.render_search_answer, render_hit=answers.render_summary),
        strata_types.SummarySearchAnswer,
        "Search summaries",
        "Summaries of pages and artifacts that answer a query, best first.",
        finds_passages=True,
        kinds=("page_summary", "artifact_summary"),
    ),
    "questions": Search(
        "search_questions",
        "retrieval.retrievers.QuestionRetriever",
        requests.SearchParametersSerializer,
        answers.render_question_answer,
        strata_types.QuestionSearchAnswer,
        "Search by question",
        "Passages by the questions they answer, each passage once, best first.",
        finds_passages=True,
        kinds=("question",),
    ),
    "hierarchical": Search(
        "search_hierarchical",
        "retrieval.retrievers.HierarchicalRetriever",
        requests.HierarchicalParametersSerializer,
        answers.render_hierarchical_answer,
        strata_types.HierarchicalAnswer,
        "Search artifacts, pages and passages at once",
        "Artifacts that answer a query with their best pages, and up to three passages of each.",
        finds_passages=True,
    ),
    "recursive": Search(
        "search_recursive",
        "retrieval.retrievers.RecursiveChunkRetriever",
        requests.RecursiveParametersSerializer,
        render_chunks,
        strata_types.PageSearchAnswer,
        "Search passages by way of what is above them",
        "Passages below the summaries, questions and other nodes that answer a query, best first.",
        finds_passages=True,
    ),
}
