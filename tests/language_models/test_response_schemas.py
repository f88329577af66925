"""The JSON schemas that are sent to a language model."""

from collections.abc import Iterator
from typing import Any

import pytest

from answers.questions.llm_filters import ModelReading
from answers.questions.wordings import ModelWordings
from concepts.extraction import make_extraction_schema
from indexing.spec import IndexSpec, QuestionSpec
from language_models.response_schemas import make_response_format
from summaries.writers import make_annotation_schema, make_summary_schema

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
        make_summary_schema(4),
        make_annotation_schema(SPEC.metadata, QuestionSpec()),
        make_extraction_schema(5),
        ModelReading,
        ModelWordings,
    ],
    ids=lambda model: model.__name__,
)
def test_each_list_and_string_has_a_largest_length(model):
    assert list(find_unbounded(make_response_format(model))) == []


def test_the_number_of_questions_and_concepts_follows_the_spec():
    about = QuestionSpec.model_validate({"count": {"min": 8, "max": 10}})
    questions = make_annotation_schema({}, about).model_json_schema()["properties"]["questions"]
    concepts = make_extraction_schema(3).model_json_schema()["properties"]["concepts"]

    assert (questions["minItems"], questions["maxItems"]) == (8, 10)
    assert concepts["maxItems"] == 3


def test_a_longer_answer_is_still_accepted():
    assert ModelWordings(queries=["word " * 100] * 50).queries[49] == "word " * 100
