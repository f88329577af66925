"""How operations are described in the OpenAPI document: summaries, errors and examples."""

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import (
    ComponentRegistry,
    ResolvedComponent,
    get_class,
    get_lib_doc_excludes,
)
from drf_spectacular.utils import (
    Direction,
    OpenApiExample,
    OpenApiParameter,
    extend_schema,
    extend_schema_serializer,
)
from pydantic import TypeAdapter
from rest_framework import serializers
from typing_extensions import get_original_bases, is_typeddict

import strata_types
from core.serializers import StrictSerializer
from strata_types.examples import EXAMPLES

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

SUCCESS_CODES = (200, 201, 202)


def _error(meaning: str, code: str, detail: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return meaning, {"code": code, "detail": detail, **more}


# What each status means, and an example of its body.
ERRORS = {
    400: _error(
        "A value or a name is not allowed.",
        "invalid",
        "There is no field 'limits'.",
        field="limits",
        allowed=["index", "limit", "offset", "query"],
    ),
    401: _error(
        "There is no key, or it is not valid.",
        "unknown_key",
        "This key is unknown, has expired or has been revoked.",
    ),
    403: _error(
        "The key lacks the scope of the operation, or does not see all documents.",
        "missing_scope",
        "This operation needs the scope write; this key has the scope search.",
    ),
    404: _error(
        "Nothing has this name or id.",
        "unknown_index",
        "There is no index named 'handbok'.",
        field="index",
        allowed=["evidence", "handbook"],
    ),
    409: _error(
        "The current state of the resource does not allow this.",
        "not_yet_indexed",
        "The index does not show this revision yet.",
    ),
    413: _error(
        "The body is too large.", "too_large", "A JSON body may have at most 33,554,432 bytes."
    ),
    415: _error(
        "The body's media type is not accepted.",
        "unsupported_media_type",
        'Unsupported media type "text/plain" in request.',
    ),
    422: _error(
        "The request is well formed but cannot be processed.",
        "invalid_spec",
        "specs/handbook.yaml: chunk: there is no such setting.",
    ),
    429: _error(
        "The key has reached one of its limits; Retry-After says when to try again.",
        "too_many_requests",
        "The key has sent more than 6,000 requests in this minute.",
        fix="Try again after the number of seconds in Retry-After.",
    ),
    502: _error(
        "The language model returned a malformed response.",
        "language_model_error",
        "The language model returned a malformed response.",
    ),
    503: _error(
        "Something the answer needs is not available; Retry-After says when to try again.",
        "store_unavailable",
        "The vector store did not answer.",
    ),
}


def with_example(value: Any, *media_types: str) -> Callable[[type[T]], type[T]]:
    """Show ``value`` as the example of a request's body."""
    return extend_schema_serializer(
        examples=[
            OpenApiExample("Example", value, media_type=media_type, status_codes=SUCCESS_CODES)
            for media_type in media_types or ("application/json",)
        ]
    )


class AnswerSerializer(serializers.Serializer):
    """Stands for an answer in ``extend_schema``. It renders nothing: answers are plain dicts."""

    shape: ClassVar[Any]


@cache
def body_of(shape: Any, media_type: str = "application/json") -> type[serializers.Serializer]:
    """Describe a response: a TypedDict of ``strata_types``, with its example."""
    described = type(shape.__name__, (AnswerSerializer,), {"shape": shape})
    if shape in EXAMPLES:
        described = with_example(EXAMPLES[shape], media_type)(described)
    return extend_schema_serializer(many=False)(described)


ERROR = body_of(strata_types.ErrorContent)


def operation(
    operation_id: str | None,
    answer: Any = None,
    *,
    path: Sequence[OpenApiParameter] = (),
    query: type[serializers.Serializer] | None = None,
    body: Any = None,
    status: int | Sequence[int] = 200,
    errors: Iterable[int] = (),
    **described: Any,
) -> Callable[[F], F]:
    """Describe an operation of a view: the type of its answer, what reads its parameters and its
    body, and the errors that these do not imply. ``path``: the parameters of the route whose types
    its converters do not name. ``described``: as in ``extend_schema``."""
    statuses = [status] if isinstance(status, int) else status
    answered = answer and body_of(answer)
    return extend_schema(
        operation_id,
        parameters=[*path, *filter(None, [query])],
        request=body,
        responses=dict.fromkeys(statuses, answered) | dict.fromkeys(errors, ERROR),
        **described,
    )


class _AnswerExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Makes the schema of an answer, and of the shapes in it, from its TypedDict."""

    target_class = AnswerSerializer
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: Direction) -> str:
        return str(self._shape.__name__)

    def map_serializer(self, auto_schema: AutoSchema, direction: Direction) -> dict[str, Any]:
        schema = TypeAdapter(self._shape).json_schema(ref_template="#/components/schemas/{model}")
        for name, part in schema.pop("$defs", {}).items():
            component = ResolvedComponent(  # type: ignore[no-untyped-call]
                name,
                ResolvedComponent.SCHEMA,
                _add_descriptions(name, part),
                body_of(getattr(strata_types, name)),
            )
            auto_schema.registry.register_on_missing(component)
        return _add_descriptions(self._shape.__name__, schema)

    @property
    def _shape(self) -> Any:
        described: Any = get_class(self.target)
        return described.shape


def _add_descriptions(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Describe the fields by the strings below them, in place of pydantic's titles."""
    schema.pop("title", None)
    descriptions = _read_descriptions(getattr(strata_types, name))
    for field, part in schema["properties"].items():
        part.pop("title", None)
        if field in descriptions:
            part["description"] = descriptions[field]
    return schema


@cache
def _read_descriptions(shape: Any) -> dict[str, str]:
    """Of the fields of a TypedDict and its bases, which keep no trace of them at run time."""
    descriptions: dict[str, str] = {}
    for base in get_original_bases(shape):
        if is_typeddict(base):
            descriptions |= _read_descriptions(base)
    for field, below in pairwise(_read_class_bodies(shape.__module__)[shape.__name__]):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                descriptions[name] = " ".join(text.split())
    return descriptions


@cache
def _read_class_bodies(module: str) -> dict[str, list[ast.stmt]]:
    statements = ast.parse(inspect.getsource(sys.modules[module])).body
    return {each.name: each.body for each in statements if isinstance(each, ast.ClassDef)}


def list_classes_without_description() -> list[type]:
    """Classes whose docstrings must not become the descriptions of their subclasses."""
    return [*get_lib_doc_excludes(), StrictSerializer]  # type: ignore[no-untyped-call]


class OperationSchema(AutoSchema):
    """Takes an operation's summary from the first paragraph of its docstring, unless one is given,
    and adds the error responses that its parameters and body imply."""

    def get_summary(self) -> str | None:
        return self._split_docstring()[0].removesuffix(".") or None

    def get_description(self) -> str:  # type: ignore[override]
        first, rest = self._split_docstring()
        if first.removesuffix(".") == self.get_summary():
            return rest
        return f"{first}\n\n{rest}".rstrip()

    def _split_docstring(self) -> tuple[str, str]:
        first, _, rest = super().get_description().partition("\n\n")
        return " ".join(first.split()), rest

    def get_operation(
        self,
        path: str,
        path_regex: str,
        path_prefix: str,
        method: str,
        registry: ComponentRegistry,
    ) -> dict[str, Any] | None:
        operation = super().get_operation(path, path_regex, path_prefix, method, registry)
        if operation is not None:
            responses = operation["responses"]
            errors = {int(status) for status in responses if int(status) >= 400}
            for status in errors | _find_implied_errors(path, operation):
                responses[str(status)] = self._describe_error(status)
            operation["responses"] = dict(sorted(responses.items()))
        return operation

    def resolve_serializer(
        self, serializer: Any, direction: Direction, bypass_extensions: bool = False
    ) -> ResolvedComponent:
        component = super().resolve_serializer(serializer, direction, bypass_extensions)
        if component.schema and issubclass(get_class(serializer), StrictSerializer):
            component.schema["additionalProperties"] = False  # a misspelt name is refused
        return component

    def _describe_error(self, status: int) -> dict[str, Any]:
        description, example = ERRORS[status]
        content = {
            "schema": self.resolve_serializer(ERROR, "response").ref,
            "examples": {"Example": {"value": example}},
        }
        return {"description": description, "content": {"application/json": content}}


def _find_implied_errors(path: str, operation: Mapping[str, Any]) -> set[int]:
    statuses = {401, 403, 429, 503}
    if "{" in path:
        statuses.add(404)
    if any(parameter["in"] == "query" for parameter in operation.get("parameters", ())):
        statuses.add(400)
    if "requestBody" in operation:
        statuses |= {400, 413, 415}
    return statuses
