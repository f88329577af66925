"""How the searches of knowledge are offered over REST and on the command line."""

from functools import partial

import strata_types
from concepts import search_answers, search_requests
from concepts.agent_tools import render_knowledge
from concepts.serializers import EVIDENCE_DISCLAIMER
from retrieval.searches import Search

_search_knowledge = partial(
    Search, to_text=render_knowledge, printer="concepts.management.answer_printing.KnowledgePrinter"
)

# Keys: the last segment of the URL, /search/<name>.
SEARCHES: dict[str, Search] = {
    "concepts": _search_knowledge(
        "search_concepts",
        "concepts.retrievers.ConceptRetriever",
        search_requests.PagedKnowledgeQuerySerializer,
        search_answers.render_hits,
        strata_types.ConceptSearchAnswer,
        "Search concepts",
        f"Concepts by their meaning, each with quotes that support it. {EVIDENCE_DISCLAIMER}",
        kinds=("concept",),
    ),
    "relationships": _search_knowledge(
        "search_relationships",
        "concepts.retrievers.RelationshipTypeRetriever",
        search_requests.PagedKnowledgeQuerySerializer,
        search_answers.render_relationship_hits,
        strata_types.RelationshipTypeSearchAnswer,
        "Search relationships",
        "Relationship types by their meaning, each with its relationships; and as `relationships` "
        "single ones, by their concepts, their type and their quotes.",
        kinds=("relationship_type",),
    ),
    "sources": _search_knowledge(
        "search_sources",
        "concepts.retrievers.SourceRetriever",
        search_requests.SourceQuerySerializer,
        search_answers.render_hits,
        strata_types.SourceSearchAnswer,
        "Search sources",
        "Sources by their matching chunks, with offsets to highlight.",
    ),
    "route": _search_knowledge(
        "route_query",
        "concepts.retrievers.RoutingRetriever",
        search_requests.RouteQuerySerializer,
        search_answers.render_routing,
        strata_types.RoutingAnswer,
        "Find the best entry point",
        "Concepts, sources and relationship types near a query, each with a limit and a minimum "
        "similarity of its own; `entry` names the nearest of all.",
        kinds=("concept",),
    ),
    "blend": _search_knowledge(
        "blend_concepts",
        "concepts.retrievers.BlendRetriever",
        search_requests.BlendQuerySerializer,
        search_answers.render_blended_concepts,
        strata_types.ConceptSearchAnswer,
        "Search concepts by meaning, sources and relationships",
        "Concepts by their meaning, by sources that quote them and by the types of their "
        "relationships; each once, by the sum of the weighted similarities. "
        f"{EVIDENCE_DISCLAIMER}",
        kinds=("concept",),
    ),
    "subgraph": _search_knowledge(
        "search_subgraph",
        "concepts.retrievers.SubgraphRetriever",
        search_requests.SubgraphQuerySerializer,
        search_answers.render_subgraph,
        strata_types.SubgraphAnswer,
        "Read the subgraph around a query",
        "Concepts, sources and types over a threshold, and relationships of these concepts.",
        kinds=("concept",),
    ),
}
