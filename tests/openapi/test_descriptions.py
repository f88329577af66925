"""Every operation has a place, a name and examples that are right."""

from typing import Any

import pytest
from django.conf import settings

from tests.openapi.document import Document

MAX_SUMMARY_CHARS = 90
# Bounded in another way: by the bytes of the body, by a check of the whole, or by the index's spec.
OTHERWISE_BOUNDED = {
    "text", "pages", "content", "file", "metadata", "groups", "filter", "queries", "qrels",
    "search_terms", "systems", "measures", "artifacts", "call_tool", "citation",
}  # fmt: skip


@pytest.fixture(scope="module")
def document() -> Document:
    return Document()


@pytest.fixture(scope="module")
def operations(document):
    return document.operations.values()


class TestOperations:
    def test_have_one_described_tag(self, operations):
        described = {tag["name"] for tag in settings.SPECTACULAR_SETTINGS["TAGS"]}

        tags = {each.id: each.content["tags"] for each in operations}

        assert {name: given for name, given in tags.items() if len(given) != 1} == {}
        assert {tag for [tag] in tags.values()} == described

    def test_have_a_short_unique_summary(self, operations):
        summaries = {each.id: each.content.get("summary", "") for each in operations}

        assert [
            (name, summary)
            for name, summary in summaries.items()
            if not summary[:1].isupper()
            or summary.endswith(".")
            or len(summary) > MAX_SUMMARY_CHARS
        ] == []
        assert len(set(summaries.values())) == len(summaries)

    def test_have_an_example_of_each_body_and_answer(self, operations):
        assert [
            place
            for operation in operations
            for place, content in operation.bodies
            if "examples" not in content and content["schema"].get("format") != "binary"
        ] == []

    def test_have_examples_that_match_their_schemas(self, document, operations):
        assert [
            (place, name, difference)
            for operation in operations
            for place, content in operation.bodies
            for name, example in content.get("examples", {}).items()
            for difference in document.find_differences(example["value"], content["schema"])
        ] == []

    def test_limit_the_size_of_every_text_and_list(self, document, operations):
        unbounded = {
            f"{operation.id}: {place}"
            for operation in operations
            for place, schema in document.list_inputs(operation)
            if place.rpartition(".")[2] not in OTHERWISE_BOUNDED and _lacks_bound(schema)
        }

        assert not unbounded


def _lacks_bound(schema: dict[str, Any]) -> bool:
    if schema.get("type") == "array":
        return "maxItems" not in schema
    is_free = schema.get("type") == "string" and not {"enum", "format"} & schema.keys()
    return is_free and "maxLength" not in schema
