"""The client's types agree with the OpenAPI document, which the server generates."""

import pytest

from strata_client import types
from tests.client.declared import differences

SAME = {
    types.Answer: "AskAnswer",
    types.AnswerHit: "PipelineHit",
    types.Artifact: "Artifact",
    types.ArtifactList: "ArtifactList",
    types.BatchVerdict: "BatchLine",
    types.BlendOptions: "BlendQuery",
    types.Concept: "Concept",
    types.ConceptContextAnswer: "ConceptContextAnswer",
    types.ConceptEvidenceAnswer: "ConceptEvidenceAnswer",
    types.ConceptList: "ConceptList",
    types.ConceptSearchAnswer: "ConceptSearchAnswer",
    types.Deletion: "Deletion",
    types.EmergentPairList: "EmergentPairList",
    types.EvaluationDetail: "EvaluationDetail",
    types.EvaluationList: "EvaluationList",
    types.EvidenceAnswer: "EvidenceSearchAnswer",
    types.EvidenceItem: "EvidenceInput",
    types.EvidenceVerdict: "EvidenceVerdict",
    types.HierarchicalAnswer: "HierarchicalAnswer",
    types.HierarchicalSearchOptions: "HierarchicalParameters",
    types.RecursiveSearchOptions: "RecursiveParameters",
    types.ImageSearchAnswer: "ImageSearchAnswer",
    types.ImageSearchOptions: "ImageParameters",
    types.Index: "Index",
    types.IndexVerification: "IndexVerification",
    types.InstanceList: "InstanceList",
    types.KnowledgeSearchOptions: "SubgraphQuery",
    types.LineError: "Error",
    types.Page: "Page",
    types.PageList: "PageList",
    types.PageSearchAnswer: "PageSearchAnswer",
    types.PagedKnowledgeSearchOptions: "PagedKnowledgeQuery",
    types.PathsAnswer: "PathsAnswer",
    types.QuestionSearchAnswer: "QuestionSearchAnswer",
    types.RegenerationList: "RegenerationList",
    types.RegenerationOptions: "Regenerate",
    types.RelationshipList: "RelationshipList",
    types.RelationshipTypeList: "RelationshipTypeList",
    types.RelationshipTypeSearchAnswer: "RelationshipTypeSearchAnswer",
    types.Removal: "Removal",
    types.RoutingAnswer: "RoutingAnswer",
    types.SearchOptions: "SearchParameters",
    types.Source: "SourceAnswer",
    types.SourceSearchAnswer: "SourceSearchAnswer",
    types.SourceSearchOptions: "SourceQuery",
    types.RouteOptions: "RouteQuery",
    types.SpaceSearchOptions: "StructureParameters",
    types.StructureSearchAnswer: "StructureSearchAnswer",
    types.SubgraphAnswer: "SubgraphAnswer",
    types.Summary: "Summary",
    types.SummarySearchAnswer: "SummarySearchAnswer",
    types.SummarySearchOptions: "SummarySearchParameters",
    types.TextDocument: "TextArtifact",
    types.Tool: "Tool",
    types.ToolAnswer: "ToolAnswer",
}


class TestTypes:
    @pytest.mark.parametrize("kind", SAME, ids=lambda kind: kind.__name__)
    def test_match_the_openapi_document(self, kind, schemas):
        is_asked = kind.__name__.endswith(("Options", "Document"))
        at = kind.__name__ + ("?" if is_asked else "")

        assert differences(kind, schemas[SAME[kind]], schemas, at) == []
