from django.db.models import Q

from core.apps import PathObject, StrataApp, Task, WaitingRows
from core.node_kinds import Kind


class ConceptsConfig(StrataApp):
    name = "concepts"
    kinds = [
        Kind(
            name="concept",
            plural="concepts",
            collection="concept",
            drafter="concepts.concept_nodes.ConceptDrafter",
            switch="concepts",
            regeneration_type="concept",
            is_standalone=True,
            has_sparse=False,  # a name of two words
            search="concepts",
            is_above_chunks=True,
            find_places="concepts.retrievers.find_concept_places",
            list_on_page="concepts.knowledge.sources.list_quotes",
            check="concepts.hit_checks.check_concepts",
        ),
        Kind(
            name="relationship_type",
            plural="relationship types",
            collection="relationship",
            drafter="concepts.concept_nodes.RelationshipTypeDrafter",
            switch="concepts",
            regeneration_type="vocabulary",
            is_standalone=True,
            has_categories=True,
            has_sparse=False,
            search="relationships",
            check="concepts.hit_checks.check_relationship_types",
        ),
        Kind(
            name="relationship",
            plural="relationships",
            collection="relationship",
            drafter="concepts.concept_nodes.RelationshipDrafter",
            switch="concepts",
            regeneration_type="relationship",
            is_standalone=True,
            has_sparse=False,
            search="relationships",
            find_places="concepts.retrievers.find_relationship_places",
            check="concepts.hit_checks.check_relationships",
        ),
    ]
    spec_sections = {"concepts": "concepts.spec.ConceptSpec"}
    searches = "concepts.searches.SEARCHES"
    tools = "concepts.agent_tools.TOOLS"
    page = "concepts"
    api_urls = "concepts.urls"
    tasks = [
        Task("extract_concepts", queue="llm"),
        Task("update_emergent_pairs", queue="indexing"),
        Task("reconcile_concepts", every=60),
    ]
    workers = ["pairing_worker", "extraction_worker"]
    waiting_rows = [
        WaitingRows("finding concepts", "Extraction", ["due"], condition=Q(source__is_current=True))
    ]
    path_objects = {
        "concept_id": PathObject("Concept"),
        "instance_id": PathObject("Instance"),
        "type_id": PathObject("RelationshipType"),
        "relationship_id": PathObject("Relationship"),
        "pair_id": PathObject("EmergentPair"),
    }
    exported = [
        "Concept", "Instance", "RelationshipType", "Relationship", "EmergentPair", "Extraction",
    ]  # fmt: skip

    def ready(self) -> None:
        super().ready()
        from concepts.extraction import (
            count_unfinished_extractions,
            find_extraction_faults,
            retry_failed_extractions,
        )
        from concepts.quoted_relationships import find_quoted_relationships
        from indexing.hooks import register_awaited_work, register_retry, register_text_faults
        from retrieval.hooks import register_quoted_relationships

        register_awaited_work("Finding concepts", count_unfinished_extractions)
        register_text_faults(find_extraction_faults)
        register_retry(retry_failed_extractions)
        register_quoted_relationships(find_quoted_relationships)
