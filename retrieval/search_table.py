"""The table of searches: how each is offered over REST and on the command line.

A new search needs a retriever and one entry here; ``retrieval/urls.py`` makes its routes from it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.utils.module_loading import import_string

import strata_types
from access.grants import Grant
from concepts.serializers import EVIDENCE_DISCLAIMER
from core.serializers import StrictSerializer
from retrieval.pipelines.search_relevance import judge_search
from retrieval.request_cache import keep_for_request
from retrieval.search import find_only_index
from retrieval.serializers import answers, knowledge_answers, requests
from retrieval.serializers import knowledge_requests as knowledge


@dataclass(frozen=True, slots=True)
class Search:
    """``parameters`` are the query, or a vector, and the retriever's own arguments. ``answer`` is
    the type of what ``render`` makes of the retriever's answer, with ``relevant`` where
    ``finds_passages``. ``kinds``: of the nodes that an index must hold to be searched without being
    named; empty for any."""

    operation_id: str
    retriever: str  # dotted path, because importing a retriever imports LlamaIndex
    parameters: type[StrictSerializer]
    render: Callable[[Any], dict[str, Any]]
    answer: Any
    summary: str
    description: str
    finds_passages: bool = False
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResponse:
    content: dict[str, Any]
    stale_ids: Iterable[UUID]  # the caller enqueues planning for these


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
        "Passages below the summaries, questions and concepts that answer a query, best first.",
        finds_passages=True,
    ),
    "structures": Search(
        "search_structures",
        "retrieval.retrievers.StructureRetriever",
        requests.StructureParametersSerializer,
        partial(answers.render_artifact_hits, space="structure"),
        strata_types.StructureSearchAnswer,
        "Search by chemical structure",
        "Artifacts with structures similar to the given one, best first. With a query, artifacts "
        "whose passages answer it are ranked with them.",
        kinds=("compound",),
    ),
    "images": Search(
        "search_images",
        "retrieval.retrievers.ImageRetriever",
        requests.ImageParametersSerializer,
        partial(answers.render_artifact_hits, space="image"),
        strata_types.ImageSearchAnswer,
        "Search images by what they show",
        "Artifacts whose images show what the query says, best first. Artifacts whose passages "
        "answer it are ranked with them, unless with_text is false.",
        kinds=("image",),
    ),
    "concepts": Search(
        "search_concepts",
        "retrieval.retrievers.ConceptRetriever",
        knowledge.PagedKnowledgeQuerySerializer,
        knowledge_answers.render_hits,
        strata_types.ConceptSearchAnswer,
        "Search concepts",
        f"Concepts by their meaning, each with quotes that support it. {EVIDENCE_DISCLAIMER}",
        kinds=("concept",),
    ),
    "relationships": Search(
        "search_relationships",
        "retrieval.retrievers.RelationshipTypeRetriever",
        knowledge.PagedKnowledgeQuerySerializer,
        knowledge_answers.render_relationship_hits,
        strata_types.RelationshipTypeSearchAnswer,
        "Search relationships",
        "Relationship types by their meaning, each with its relationships; and as `relationships` "
        "single ones, by their concepts, their type and their quotes.",
        kinds=("relationship_type",),
    ),
    "sources": Search(
        "search_sources",
        "retrieval.retrievers.SourceRetriever",
        knowledge.SourceQuerySerializer,
        knowledge_answers.render_hits,
        strata_types.SourceSearchAnswer,
        "Search sources",
        "Sources by their matching chunks, with offsets to highlight.",
    ),
    "route": Search(
        "route_query",
        "retrieval.retrievers.RoutingRetriever",
        knowledge.RouteQuerySerializer,
        knowledge_answers.render_routing,
        strata_types.RoutingAnswer,
        "Find the best entry point",
        "Concepts, sources and relationship types near a query, each with a limit and a minimum "
        "similarity of its own; `entry` names the nearest of all.",
        kinds=("concept",),
    ),
    "blend": Search(
        "blend_concepts",
        "retrieval.retrievers.BlendRetriever",
        knowledge.BlendQuerySerializer,
        knowledge_answers.render_blended_concepts,
        strata_types.ConceptSearchAnswer,
        "Search concepts by meaning, sources and relationships",
        "Concepts by their meaning, by sources that quote them and by the types of their "
        "relationships; each once, by the sum of the weighted similarities. "
        f"{EVIDENCE_DISCLAIMER}",
        kinds=("concept",),
    ),
    "subgraph": Search(
        "search_subgraph",
        "retrieval.retrievers.SubgraphRetriever",
        knowledge.SubgraphQuerySerializer,
        knowledge_answers.render_subgraph,
        strata_types.SubgraphAnswer,
        "Read the subgraph around a query",
        "Concepts, sources and types over a threshold, and relationships of these concepts.",
        kinds=("concept",),
    ),
}


def load_retriever(name: str) -> Any:
    """Import the class of a search's retriever."""
    return import_string(SEARCHES[name].retriever)


def run_search(name: str, parameters: Any, grant: Grant) -> SearchResponse:
    """Run a search with the API's parameters and render its answer in the API's format. Raises as
    the retriever."""
    search = SEARCHES[name]
    fields = search.parameters.read(parameters)
    query = fields.pop("query", "")
    if "index" not in fields:
        fields["index"] = [find_only_index(grant, search.kinds)]
    with keep_for_request():
        answer = load_retriever(name)(**fields, grant=grant).search(query)
        content = search.render(answer)
        if search.finds_passages:
            relevance = judge_search(
                fields["index"],
                query,
                grant,
                mode=fields["mode"],
                filter=fields.get("filter"),
                has_vector="vector" in fields,
                notes=answer.notes,
            )
            answers.add_relevance(content, relevance)
    return SearchResponse(content, answer.stale_ids)
