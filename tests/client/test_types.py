"""The client's types agree with the OpenAPI document, which the server generates."""

import pytest

from strata_client import types
from tests.client.declared import differences

SAME = {
    types.AskOptions: "AskBody",
    types.BlendOptions: "BlendQuery",
    types.DocumentOptions: "PatchedArtifactUpdate",
    types.EvaluationOptions: "EvaluationRequest",
    types.EvidenceItem: "EvidenceInput",
    types.HierarchicalSearchOptions: "HierarchicalParameters",
    types.RecursiveSearchOptions: "RecursiveParameters",
    types.ImageSearchOptions: "ImageParameters",
    types.KnowledgeSearchOptions: "SubgraphQuery",
    types.PagedKnowledgeSearchOptions: "PagedKnowledgeQuery",
    types.RegenerationOptions: "Regenerate",
    types.PassageSearchOptions: "PassageSearchParameters",
    types.SearchOptions: "SearchParameters",
    types.SourceSearchOptions: "SourceQuery",
    types.RouteOptions: "RouteQuery",
    types.SpaceSearchOptions: "StructureParameters",
    types.SummarySearchOptions: "SummarySearchParameters",
    types.TextDocument: "TextArtifact",
}


class TestTypes:
    @pytest.mark.parametrize("kind", SAME, ids=lambda kind: kind.__name__)
    def test_match_the_openapi_document(self, kind, schemas):
        is_asked = kind.__name__.endswith(("Options", "Document"))
        at = kind.__name__ + ("?" if is_asked else "")

        assert differences(kind, schemas[SAME[kind]], schemas, at) == []
