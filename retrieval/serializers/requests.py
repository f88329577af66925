"""Reads and checks the parameters of searches."""

from collections.abc import Mapping
from typing import Any

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.exceptions import InvalidInput, Malformed
from core.parsers import load_json
from core.serializers import StrictSerializer, StringField, to_invalid_input
from retrieval.pipelines.running import MAX_ANSWER_HITS, AskRequest
from retrieval.search import (
    MAX_ARTIFACTS,
    MAX_LIMIT,
    MAX_OFFSET,
    MAX_QUERY_CHARS,
    HierarchicalRequest,
    Mode,
    SearchRequest,
    StaleHitPolicy,
    SummaryType,
)
from retrieval.source_context import MAX_WINDOW


@extend_schema_field(
    {
        "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "One name, or several that share an embedding model.",
    }
)
class IndexNamesField(serializers.Field):
    """A name, several with commas between them, or a list of names."""

    default_error_messages = {"invalid": "This takes the name of an index, or a list of names."}

    def to_internal_value(self, data: Any) -> list[str]:
        names = data.split(",") if isinstance(data, str) else data
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self.fail("invalid")
        names = [name.strip() for name in names]
        if not names or "" in names:
            self.fail("invalid")
        return names

    def to_representation(self, value: Any) -> Any:
        return value


@extend_schema_field({"type": "string"})
class IndexNameField(IndexNamesField):
    """The name of an index; in a query string it comes as a list of one."""

    default_error_messages = {"invalid": "This takes the name of one index."}

    def to_internal_value(self, data: Any) -> Any:
        names = super().to_internal_value(data)
        if len(names) != 1:
            self.fail("invalid")
        return names[0]


@extend_schema_field({"type": "object", "additionalProperties": True})
class FilterField(serializers.Field):
    """Not validated here: ``retrieval.filters`` checks it against the spec."""

    def to_internal_value(self, data: Any) -> Any:
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class QueryParametersSerializer(StrictSerializer):
    """The parameters of every search."""

    index = IndexNamesField()
    query = StringField(required=False, max_length=MAX_QUERY_CHARS)
    q = StringField(required=False, max_length=MAX_QUERY_CHARS, help_text="The same as query.")
    mode = serializers.ChoiceField(choices=[str(mode) for mode in Mode], default="hybrid")
    filter = FilterField(
        required=False,
        help_text='Such as {"year": {"gte": 2019}, "venue": ["ACL", "EMNLP"]}; all_of, any_of '
        "and not nest. JSON text in a query string.",
    )
    verify = serializers.BooleanField(
        default=True, help_text="Compare each hit with the document as it is now."
    )
    explain = serializers.BooleanField(
        default=False, help_text="Say what gave each hit its score; costs more requests."
    )
    stale = serializers.ChoiceField(
        choices=[str(stale) for stale in StaleHitPolicy],
        default="flag",
        help_text="What becomes of hits whose document has changed since.",
    )
    min_revision = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="A write's revision: hits that show it and all before it, or 409.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return merge_query_names(attrs)


def merge_query_names(attrs: dict[str, Any]) -> dict[str, Any]:
    query, q = attrs.get("query"), attrs.pop("q", None)
    if query is not None and q is not None:
        raise InvalidInput("Give query or q, not both.", field="q")
    attrs["query"] = q if query is None else query
    if attrs["query"] is None:
        raise InvalidInput("Give a query.", field="query")
    return attrs


class SearchParametersSerializer(QueryParametersSerializer):
    limit = serializers.IntegerField(default=10, min_value=1, max_value=MAX_LIMIT)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)
    min_score = serializers.FloatField(
        required=False, help_text="On the scale of the mode's scores."
    )


class SummarySearchParametersSerializer(SearchParametersSerializer):
    type = serializers.ChoiceField(choices=[str(type) for type in SummaryType], default="all")


class HierarchicalParametersSerializer(QueryParametersSerializer):
    limit = serializers.IntegerField(
        default=10, min_value=1, max_value=MAX_ARTIFACTS, help_text="Artifacts."
    )


class SpaceParametersSerializer(StrictSerializer):
    """The parameters of a search that ranks artifacts in a vector space of its own and by words."""

    index = IndexNamesField()
    query = StringField(required=False, max_length=MAX_QUERY_CHARS, help_text="Words.")
    q = StringField(required=False, max_length=MAX_QUERY_CHARS, help_text="The same as query.")
    limit = serializers.IntegerField(
        default=10, min_value=1, max_value=MAX_LIMIT, help_text="Artifacts."
    )
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)
    min_similarity = serializers.FloatField(
        required=False, min_value=0, max_value=1, help_text="In that space."
    )
    filter = FilterField(required=False)
    verify = serializers.BooleanField(default=True)
    stale = serializers.ChoiceField(
        choices=[str(stale) for stale in StaleHitPolicy], default="flag"
    )
    min_revision = serializers.IntegerField(required=False, min_value=0)


class StructureParametersSerializer(SpaceParametersSerializer):
    """A chemical structure, and optionally words."""

    structure = StringField(
        help_text="SMILES, such as CC(=O)Oc1ccccc1C(=O)O; percent-encoded in a query string."
    )


class ImageParametersSerializer(SpaceParametersSerializer):
    """Words that describe the image."""

    with_text = serializers.BooleanField(
        default=True, help_text="Rank artifacts by their passages as well."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return merge_query_names(attrs)


class AskParametersSerializer(StrictSerializer):
    """A user's question."""

    index = IndexNameField()
    query = StringField(required=False, max_length=MAX_QUERY_CHARS)
    q = StringField(required=False, max_length=MAX_QUERY_CHARS, help_text="The same as query.")
    filter = FilterField(required=False, help_text="Holds beside what the question itself says.")
    limit = serializers.IntegerField(
        default=10, min_value=1, max_value=MAX_ANSWER_HITS, help_text="Hits."
    )
    pipeline = serializers.CharField(
        required=False, help_text="By default the one the index's spec names."
    )
    explain = serializers.BooleanField(
        default=False, help_text="Say of each hit how it came through the pipeline."
    )
    why_not = serializers.UUIDField(
        required=False, help_text="A node or an artifact: say where it was lost."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        return merge_query_names(attrs)


# Shared by all requests: creating a serializer for each would copy every field.
_search_parameters = SearchParametersSerializer()
_summary_parameters = SummarySearchParametersSerializer()
_hierarchical_parameters = HierarchicalParametersSerializer()
_structure_parameters = StructureParametersSerializer()
_image_parameters = ImageParametersSerializer()
_ask_parameters = AskParametersSerializer()


def read_search_request(content: Any) -> SearchRequest:
    """
    Raises:
        InvalidInput: the first error.
    """
    return _make_search_request(_validate(_search_parameters, content))


def read_summary_request(content: Any) -> tuple[SearchRequest, SummaryType]:
    """
    Raises:
        InvalidInput: the first thing wrong with it.
    """
    values = _validate(_summary_parameters, content)
    return _make_search_request(values), SummaryType(values["type"])


def read_hierarchical_request(content: Any) -> HierarchicalRequest:
    """
    Raises:
        InvalidInput: the first thing wrong with it.
    """
    values = _validate(_hierarchical_parameters, content)
    return HierarchicalRequest(
        indexes=values["index"],
        query=values["query"],
        mode=Mode(values["mode"]),
        limit=values["limit"],
        filter=values.get("filter"),
        verify=values["verify"],
        explain=values["explain"],
        stale=StaleHitPolicy(values["stale"]),
        min_revision=values.get("min_revision"),
    )


def read_structure_request(content: Any) -> tuple[SearchRequest, str | None]:
    """Read a structure search: the request, and the words if any.

    Raises:
        InvalidInput: the first thing wrong with it.
    """
    values = _validate(_structure_parameters, content)
    text = merge_query_names(values)["query"] if {"query", "q"} & values.keys() else None
    return _make_dense_request(values, values["structure"]), text


def read_image_request(content: Any) -> tuple[SearchRequest, bool]:
    """Read an image search: the request, and whether passages count as well.

    Raises:
        InvalidInput: the first thing wrong with it.
    """
    values = _validate(_image_parameters, content)
    return _make_dense_request(values, values["query"]), values["with_text"]


def read_ask_request(content: Any) -> AskRequest:
    """
    Raises:
        InvalidInput: the first thing wrong with it.
    """
    values = _validate(_ask_parameters, content)
    return AskRequest(
        index=values["index"],
        query=values["query"],
        filter=values.get("filter"),
        limit=values["limit"],
        pipeline=values.get("pipeline"),
        explain=values["explain"],
        why_not=values.get("why_not"),
    )


def _validate(parameters: StrictSerializer, content: Any) -> dict[str, Any]:
    try:
        return parameters.run_validation(content)
    except serializers.ValidationError as error:
        raise to_invalid_input(error.detail, parameters.fields) from None


def _make_search_request(values: Mapping[str, Any]) -> SearchRequest:
    return SearchRequest(
        indexes=values["index"],
        query=values["query"],
        mode=Mode(values["mode"]),
        limit=values["limit"],
        offset=values["offset"],
        filter=values.get("filter"),
        min_score=values.get("min_score"),
        verify=values["verify"],
        explain=values["explain"],
        stale=StaleHitPolicy(values["stale"]),
        min_revision=values.get("min_revision"),
    )


def _make_dense_request(values: Mapping[str, Any], query: str) -> SearchRequest:
    return SearchRequest(
        indexes=values["index"],
        query=query,
        mode=Mode.DENSE,
        limit=values["limit"],
        offset=values["offset"],
        filter=values.get("filter"),
        min_score=values.get("min_similarity"),
        verify=values["verify"],
        stale=StaleHitPolicy(values["stale"]),
        min_revision=values.get("min_revision"),
    )


def read_query_string(params: QueryDict) -> dict[str, Any]:
    """Convert a query string to the equivalent JSON body: ``index`` may repeat, ``filter`` is JSON.

    Raises:
        InvalidInput: a parameter given more than once, or a filter that is not JSON.
    """
    content: dict[str, Any] = {}
    for name, values in params.lists():
        if name == "index":
            content[name] = [part for value in values for part in value.split(",")]
            continue
        if len(values) > 1:
            raise InvalidInput(f"{name[:100]} is given more than once.", field=name[:100])
        content[name] = values[0]
    if "filter" in content:
        try:
            content["filter"] = load_json(content["filter"])
        except Malformed:
            raise InvalidInput(
                "The filter is not JSON.",
                field="filter",
                fix='Write it as {"year": {"gte": 2019}}, percent-encoded.',
            ) from None
    return content


class SourceParametersSerializer(StrictSerializer):
    window = serializers.IntegerField(
        default=0, min_value=0, max_value=MAX_WINDOW, help_text="Neighbours on each side."
    )


def read_window_parameters(params: Mapping[str, Any]) -> int:
    parameters = SourceParametersSerializer(data=params)
    parameters.is_valid(raise_exception=True)
    return int(parameters.validated_data["window"])
