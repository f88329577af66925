"""The OpenAPI document, and the differences of bodies and answers from it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from drf_spectacular.generators import SchemaGenerator
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    content: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.content["operationId"])

    @property
    def bodies(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every body and answer that has content: its place, and its media type object."""
        for media_type, content in self.content.get("requestBody", {}).get("content", {}).items():
            yield f"{self.id} {media_type}", content
        for status, response in self.content["responses"].items():
            for media_type, content in response.get("content", {}).items():
                yield f"{self.id} {status} {media_type}", content


class Document:
    def __init__(self) -> None:
        self.content = SchemaGenerator().get_schema(public=True)

    @cached_property
    def operations(self) -> dict[str, Operation]:
        operations = [
            Operation(method, path, content)
            for path, methods in self.content["paths"].items()
            for method, content in methods.items()
        ]
        return {operation.id: operation for operation in operations}

    @cached_property
    def _schemas(self) -> dict[str, Any]:
        return {
            name: _forbid_undeclared(schema)
            for name, schema in self.content["components"]["schemas"].items()
        }

    def list_inputs(self, operation: Operation) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every schema of a parameter or of a part of the body, with its place."""
        for parameter in operation.content.get("parameters", ()):
            if parameter["in"] == "query":
                yield from self._walk(parameter["name"], parameter["schema"])
        for content in operation.content.get("requestBody", {}).get("content", {}).values():
            yield from self._walk("", content["schema"])

    def _walk(self, place: str, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        if name := schema.get("$ref"):
            schema = self.content["components"]["schemas"][name.rpartition("/")[2]]
        yield place, schema
        for part in [*schema.get("oneOf", ()), *schema.get("allOf", ())]:
            yield from self._walk(place, part)
        if "items" in schema:
            yield from self._walk(place, schema["items"])
        for name, part in schema.get("properties", {}).items():
            yield from self._walk(f"{place}.{name}".lstrip("."), part)

    def find_differences(self, value: Any, schema: dict[str, Any]) -> list[str]:
        """Where the value differs from the schema; undeclared fields are differences."""
        validator = Draft202012Validator(
            {**_forbid_undeclared(schema), "components": {"schemas": self._schemas}},
            format_checker=Draft202012Validator.FORMAT_CHECKER,
        )
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def _forbid_undeclared(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_forbid_undeclared(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {name: _forbid_undeclared(each) for name, each in schema.items()}
    if "properties" in schema:
        strict.setdefault("additionalProperties", False)
    return strict
