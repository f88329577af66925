"""The JSON schemas that are sent to a language model."""

from collections.abc import Iterator
from typing import Any

import pytest

from concepts.extraction import ExtractionResponse
from indexing.spec import IndexSpec
from retrieval.questions.llm_filters import ModelReading
from retrieval.questions.wordings import ModelWordings
from summaries.llm.response_schemas import make_response_format
from summaries.writers import SummaryResponse, make_annotation_schema

SPEC = IndexSpec.model_validate(
    {
        "name": "birds",
        "metadata": {
            "habitats": {"type": "keyword", "many": True},
            "mood": {"type": "keyword"},
            "sizes": {"type": "keyword", "many": True, "values": ["small", "large"]},
        },
    }
)


def find_unbounded(schema: Any, path: str = "") -> Iterator[str]:
    """Yield the path of each list without a largest length, and of each such string that is not of
    an enumeration."""
    if isinstance(schema, list):
        for number, each in enumerate(schema):
            yield from find_unbounded(each, f"{path}/{number}")
    if isinstance(schema, dict):
        kind = schema.get("type")
        if kind == "array" and "maxItems" not in schema:
            yield path
        if kind == "string" and not schema.keys() & {"maxLength", "enum"}:
            yield path
        for name, each in schema.items():
            yield from find_unbounded(each, f"{path}/{name}")


@pytest.mark.parametrize(
    "model",
    [
        SummaryResponse,
        make_annotation_schema(SPEC.metadata),
        ExtractionResponse,
        ModelReading,
        ModelWordings,
    ],
    ids=lambda model: model.__name__,
)
def test_each_list_and_string_has_a_largest_length(model):
    assert list(find_unbounded(make_response_format(model))) == []


def test_a_longer_answer_is_still_accepted():
    assert ModelWordings(queries=["word " * 100] * 50).queries[49] == "word " * 100
