"""The answers have what the OpenAPI document says they have."""

from typing import Any

import pytest
from rest_framework import serializers

from concepts.instances import add_instance
from concepts.serializers import ConceptSerializer, InstanceSerializer, RelationshipSerializer
from concepts.services import create_concept, create_relationship_type, relate_concepts
from retrieval.serializers import knowledge_schema as schema
from tests.concepts.conftest import INDEX, sync_entities
from tests.factories import give, sync


@pytest.fixture
def paths(knowledge, wakes) -> dict[str, Any]:
    document = give("The heron stands in the shallows.", index=INDEX)
    heron, fish = create_concept(INDEX, "Heron"), create_concept(INDEX, "Fish")
    eats = create_relationship_type(INDEX, "EATS")
    edge, _ = relate_concepts(INDEX, heron.pk, eats.pk, fish.pk)
    instance, _ = add_instance(heron.pk, "the heron", artifact_id=document.pk)
    sync(knowledge, document)
    sync_entities(knowledge, heron, fish, eats)
    search = {"index": INDEX, "query": "heron", "include_concepts": "true"}
    plain = {"index": INDEX, "query": "heron", "min_similarity": "-1"}
    concept = f"concepts/{heron.pk}"
    return {
        "search/concepts": (plain, schema.ConceptSearchAnswerSerializer),
        "search/relationships": (plain, schema.RelationshipTypeSearchAnswerSerializer),
        "search/sources": (search, schema.SourceSearchAnswerSerializer),
        "search/route": (plain, schema.RoutingAnswerSerializer),
        "search/blend": (plain, schema.ConceptSearchAnswerSerializer),
        "search/subgraph": (plain, schema.SubgraphAnswerSerializer),
        f"{concept}/evidence": ({"query": "heron"}, schema.ConceptEvidenceAnswerSerializer),
        f"{concept}/context": ({}, schema.ConceptContextAnswerSerializer),
        f"{concept}/paths": ({"like": "eats"}, schema.PathsAnswerSerializer),
        f"sources/{instance.source_id}/similar": ({}, schema.SourceSearchAnswerSerializer),
        concept: ({}, ConceptSerializer),
        f"{concept}/instances": ({}, InstanceSerializer),
        f"relationships/{edge.pk}": ({}, RelationshipSerializer),
    }


def missing(answer: Any, serializer: Any, where: str = "") -> list[str]:
    """What the document promises and the answer does not have."""
    if isinstance(serializer, serializers.ListSerializer):
        return [m for each in answer for m in missing(each, serializer.child, where)]
    if not isinstance(serializer, serializers.Serializer) or answer is None:
        return []
    if "results" in answer:
        return [m for each in answer["results"] for m in missing(each, serializer, where)]
    absent = [f"{where}.{name}" for name in serializer.fields if name not in answer]
    absent = [name for name in absent if not name.endswith(".explain")]
    return absent + [
        m
        for name, field in serializer.fields.items()
        if name in answer
        for m in missing(answer[name], field, f"{where}.{name}")
    ]


def test_every_answer_has_what_is_documented(client, paths):
    for path, (given, described) in paths.items():
        answer = client.get(f"/api/v1/{path}", given)

        assert answer.status_code == 200, (path, answer.json())
        assert missing(answer.json(), described(), path) == []
