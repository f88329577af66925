"""The client's types agree with the OpenAPI document, which the server generates."""

import pytest

from strata_client import types
from tests.client.declared import differences

SAME = {
    types.Answer: "AskAnswer",
    types.AnswerHit: "PipelineHit",
    types.Artifact: "Artifact",
    types.BatchVerdict: "BatchLine",
    types.EvidenceAnswer: "EvidenceSearchAnswer",
    types.EvidenceItem: "EvidenceInput",
    types.EvidenceVerdict: "EvidenceVerdict",
    types.HierarchicalAnswer: "HierarchicalAnswer",
    types.HierarchicalSearchOptions: "HierarchicalParameters",
    types.Index: "Index",
    types.LineError: "Error",
    types.PageSearchAnswer: "PageSearchAnswer",
    types.QuestionSearchAnswer: "QuestionSearchAnswer",
    types.Removal: "Removal",
    types.SearchOptions: "SearchParameters",
    types.SummarySearchAnswer: "SummarySearchAnswer",
    types.SummarySearchOptions: "SummarySearchParameters",
    types.TextDocument: "TextArtifact",
}


class TestTypes:
    @pytest.mark.parametrize("kind", SAME, ids=lambda kind: kind.__name__)
    def test_are_those_of_the_server(self, kind, schemas):
        is_asked = kind.__name__.endswith(("Options", "Document"))
        at = kind.__name__ + ("?" if is_asked else "")

        assert differences(kind, schemas[SAME[kind]], schemas, at) == []
