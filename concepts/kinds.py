"""The kinds of node that hold knowledge. Each has one node for a row of its table."""

from core.node_kinds import Kind

KINDS = [
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
