"""Reads and checks the parameters of searches."""

import math
from typing import Any, ClassVar

from django.http import QueryDict
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from core.exceptions import InvalidInput, Malformed
from core.http_formats import load_json
from core.openapi import with_example
from core.serializers import (
    MAX_NAME_CHARS,
    FlagField,
    PagingSerializer,
    StrictSerializer,
    StringField,
)
from core.text import is_storable
from retrieval.facets import MAX_FACET_VALUES
from retrieval.search import (
    DEFAULT_ARTIFACTS,
    MAX_ARTIFACTS,
    MAX_CONDITION_CHARS,
    MAX_CONDITIONS,
    MAX_DIMENSION,
    MAX_INDEXES,
    MAX_LIMIT,
    MAX_OFFSET,
    MAX_QUERY_CHARS,
    GroupBy,
    Mode,
    StaleHitPolicy,
    SummaryType,
    Versions,
    read_vector,
)
from retrieval.source_context import MAX_WINDOW, PASSAGE_KINDS
from retrieval.text_vectors import MAX_REQUEST_CHARS, MAX_TEXT_CHARS, MAX_TEXTS, InputType

MAX_VECTOR_BYTES = 2**21  # ``MAX_DIMENSION`` numbers as text
ONLY_INDEX = "May be left out where only one visible index holds what is searched."


def describe_strings(count: int, chars: int, description: str) -> dict[str, Any]:
    """The schema of a ``StringsField`` of at most ``count`` strings of ``chars`` characters."""
    items = {"type": "string", "maxLength": chars}
    return {
        "oneOf": [
            {"type": "string", "maxLength": count * (chars + 1)},
            {"type": "array", "items": items, "maxItems": count},
        ],
        "description": description,
    }


class StringsField(serializers.Field):
    """Strings separated by commas, or a list of strings; none of them is blank. Too many are the
    error ``too_many``."""

    max_count: ClassVar[int]

    def to_internal_value(self, data: Any) -> Any:
        strings = data.split(",") if isinstance(data, str) else data
        if not isinstance(strings, list) or not all(isinstance(each, str) for each in strings):
            self.fail("invalid")
        strings = [each.strip() for each in strings]
        if not strings or "" in strings or not all(map(is_storable, strings)):
            self.fail("invalid")
        if len(strings) > self.max_count:
            self.fail("too_many")
        return strings


@extend_schema_field(describe_strings(MAX_INDEXES, MAX_NAME_CHARS, "One name, or several."))
class IndexNamesField(StringsField):
    default_error_messages = {
        "invalid": "The value must be the name of an index, or a list of names.",
        "too_many": f"A search takes at most {MAX_INDEXES} indexes.",
    }
    max_count = MAX_INDEXES


@extend_schema_field(
    {
        "type": "array",
        "items": {"type": "string", "maxLength": MAX_CONDITION_CHARS},
        "maxItems": MAX_CONDITIONS,
    }
)
class PhrasesField(serializers.Field):
    """A list of texts, or one text, whose words ``retrieval.search`` reads. May be left out."""

    default_error_messages = {"invalid": "The value must be a text or a list of texts."}

    def __init__(self, help_text: str) -> None:
        super().__init__(required=False, help_text=help_text)

    def to_internal_value(self, data: Any) -> list[str]:
        texts = [data] if isinstance(data, str) else data
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            self.fail("invalid")
        return texts


@extend_schema_field({"type": "string", "maxLength": MAX_NAME_CHARS})
class IndexNameField(IndexNamesField):
    """The name of an index; in a query string it comes as a list of one."""

    default_error_messages = {"invalid": "The value must be the name of one index."}

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


class FiniteFloatField(serializers.FloatField):
    """A number that refuses NaN and infinity, which pass every bound check, and true and false."""

    def to_internal_value(self, data: Any) -> float:
        number = super().to_internal_value(data)
        if isinstance(data, bool) or not math.isfinite(number):
            self.fail("invalid")
        return number


class SimilarityField(FiniteFloatField):
    """A cosine; optional if it has no default."""

    def __init__(self, *, help_text: str = "Cosine, from -1 to 1.", **kwargs: Any) -> None:
        kwargs.setdefault("required", False)
        super().__init__(min_value=-1.0, max_value=1.0, help_text=help_text, **kwargs)


@extend_schema_field(
    {
        "oneOf": [
            {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 1,
                "maxItems": MAX_DIMENSION,
            },
            {"type": "string", "maxLength": MAX_VECTOR_BYTES},
        ],
    }
)
class VectorField(serializers.Field):
    """A list of numbers, in a query string with commas between them."""

    def __init__(self) -> None:
        super().__init__(
            required=False,
            help_text="A vector of the index's model, as `embed` returns it: the search uses it in "
            "place of that of the query. Without a query the search is by meaning only.",
        )

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, str):
            try:
                data = [float(number) for number in data.split(",")]
            except ValueError:
                data = []
        return read_vector(data)


def split_text_conditions(filter: Any, path: str = "filter") -> tuple[Any, dict[str, list[str]]]:
    """Take the words of the passage itself (``text``, also in ``not`` and ``all_of``) out of a
    filter, as ``must`` and ``must_not``. Raises ``InvalidInput``: the words are no text."""
    conditions: dict[str, list[str]] = {"must": [], "must_not": []}
    if not isinstance(filter, dict):  # the search says what is wrong with it
        return filter, conditions
    rest = dict(filter)
    if "text" in rest:
        conditions["must"] = _read_texts(rest.pop("text"), f"{path}.text")
    negated = rest.get("not")
    if isinstance(negated, dict) and negated.keys() == {"text"}:
        conditions["must_not"] = _read_texts(
            rest.pop("not")["text"], f"{path}.not.text", is_list=True
        )
    if isinstance(parts := rest.get("all_of"), list):
        split = [
            split_text_conditions(part, f"{path}.all_of.{number}")
            for number, part in enumerate(parts)
        ]
        rest["all_of"] = [
            kept for (kept, _), given in zip(split, parts, strict=True) if kept or not given
        ]
        if parts and not rest["all_of"]:
            del rest["all_of"]
        for _, found in split:
            for name, texts in found.items():
                conditions[name] += texts
    return rest, conditions


def _read_texts(value: Any, path: str, *, is_list: bool = False) -> list[str]:
    """Several words of which none may be there can be a list."""
    texts = value if isinstance(value, list) and is_list else [value]
    if not all(isinstance(each, str) for each in texts):
        raise InvalidInput("The words of a passage must be a string.", field=path)
    return texts


def join_alias(attrs: dict[str, Any], name: str, alias: str) -> None:
    """Read a parameter that has two names. Raises ``InvalidInput``: both are given."""
    if name in attrs and alias in attrs:
        raise InvalidInput(f"Give {name} or {alias}, not both.", field=alias)
    if alias in attrs:
        attrs[name] = attrs.pop(alias)


class QuerySerializer(StrictSerializer):
    """The parameters of every search, and of a question."""

    index = IndexNamesField(required=False, help_text=f"One name, or several. {ONLY_INDEX}")
    query = StringField(required=False, max_length=MAX_QUERY_CHARS)
    q = StringField(required=False, max_length=MAX_QUERY_CHARS, help_text="The same as query.")
    limit = serializers.IntegerField(default=10, min_value=1, max_value=MAX_LIMIT)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        join_alias(attrs, "query", "q")
        if not attrs.keys() & {"query", "vector"}:
            what = "a query or a vector" if "vector" in self.fields else "a query"
            raise InvalidInput(f"Give {what}.", field="query")
        return attrs


class VectorQuerySerializer(QuerySerializer):
    """The parameters of a search that may be given a vector."""

    query = StringField(
        required=False,
        max_length=MAX_QUERY_CHARS,
        help_text='What to look for; not needed beside a vector. "exact phrase", -word, +word, OR '
        "and field:value are read.",
    )
    vector = VectorField()


class VersionsSerializer(StrictSerializer):
    versions = serializers.ChoiceField(
        choices=[str(each) for each in Versions],
        default="newest",
        help_text="Of versions and copies of a passage, only the newest, which names the others "
        "(`folded`), or all.",
    )


class ConditionsSerializer(StrictSerializer):
    """The words and phrases that the text of a hit has or lacks."""

    must = PhrasesField("Words that the text of each hit has, whatever their case and accents.")
    must_not = PhrasesField("Words and phrases that the text of no hit has.")
    phrases = PhrasesField("Phrases that the text of each hit has, word for word.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if "filter" in attrs:
            attrs["filter"], conditions = split_text_conditions(attrs["filter"])
            for name, texts in conditions.items():
                if texts:
                    attrs[name] = [*attrs.get(name, ()), *texts]
        return attrs


@with_example(
    {
        "index": "handbook",
        "query": "when is the lamp lit",
        "phrases": ["north quay"],
        "must_not": ["winter"],
        "limit": 5,
    }
)
class QueryParametersSerializer(ConditionsSerializer, VectorQuerySerializer, VersionsSerializer):
    """The parameters of a search that has a mode."""

    mode = serializers.ChoiceField(choices=[str(mode) for mode in Mode], default="hybrid")
    filter = FilterField(
        required=False,
        help_text='Such as {"year": {"gte": 2019}, "venue": ["ACL", "EMNLP"]}; null: has no value; '
        "all_of, any_of and not nest. JSON text in a query string.",
    )
    verify = FlagField(default=True, help_text="Compare each hit with the document as it is now.")
    explain = FlagField(
        default=False, help_text="Explain each hit's score; this costs more requests."
    )
    stale = serializers.ChoiceField(
        choices=[str(stale) for stale in StaleHitPolicy],
        default="flag",
        help_text="How to treat hits whose document has changed since it was indexed.",
    )
    min_revision = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="A write's revision. If the index does not show that write yet: 409.",
    )


class SearchParametersSerializer(QueryParametersSerializer):
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)
    min_score = FiniteFloatField(required=False, help_text="On the scale of the mode's scores.")


class PassageSearchParametersSerializer(SearchParametersSerializer):
    group_by = serializers.ChoiceField(
        choices=[str(each) for each in GroupBy],
        required=False,
        help_text="Only the best passage of each page or artifact; a second one that is nearly as "
        "good adds to its score. limit and offset count pages or artifacts.",
    )


class SummarySearchParametersSerializer(SearchParametersSerializer):
    type = serializers.ChoiceField(choices=[str(type) for type in SummaryType], default="all")


class HierarchicalParametersSerializer(QueryParametersSerializer):
    limit = serializers.IntegerField(
        default=DEFAULT_ARTIFACTS,
        min_value=1,
        max_value=MAX_ARTIFACTS,
        help_text="Maximum number of artifacts.",
    )


class RecursiveParametersSerializer(QueryParametersSerializer):
    explain = None  # type: ignore[assignment]  # a score fuses several searches


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS},
            {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": MAX_TEXT_CHARS},
                "minItems": 1,
                "maxItems": MAX_TEXTS,
            },
        ]
    }
)
class TextsField(serializers.Field):
    """One text or a list, which ``retrieval.text_vectors`` checks."""

    default_error_messages = {"invalid": "The value must be a text or a list of texts."}

    def to_internal_value(self, data: Any) -> list[str]:
        texts = [data] if isinstance(data, str) else data
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            self.fail("invalid")
        return texts


@with_example({"input": ["when is the lamp lit", "who keeps the lamp"], "input_type": "query"})
class EmbedSerializer(StrictSerializer):
    input = TextsField(
        help_text=f"A text or a list of texts, at most {MAX_TEXTS}, each of at most "
        f"{MAX_TEXT_CHARS:,} characters and together of at most {MAX_REQUEST_CHARS:,}."
    )
    input_type = serializers.ChoiceField(
        choices=[str(each) for each in InputType],
        default=str(InputType.QUERY),
        help_text="A query is embedded as searches of this index embed it, a passage as documents.",
    )


def read_query_string(params: QueryDict) -> dict[str, Any]:
    """Convert a query string to the equivalent JSON body: ``index``, ``vector``, ``must``,
    ``must_not`` and ``phrases`` may repeat, ``filter`` is JSON. Raises ``InvalidInput``: another
    parameter given more than once, or a filter that is not JSON."""
    content: dict[str, Any] = {}
    for name, values in params.lists():
        if name == "index":
            content[name] = [part for value in values for part in value.split(",")]
            continue
        if name in {"must", "must_not", "phrases"}:
            content[name] = values
            continue
        if name == "vector":
            content[name] = ",".join(values)
            continue
        if len(values) > 1:
            raise InvalidInput(f"{name[:100]} is given more than once.", field=name[:100])
        content[name] = values[0]
    if "filter" in content:
        try:
            content["filter"] = load_json(content["filter"])
        except Malformed:
            raise InvalidInput(
                "The filter is not valid JSON.",
                field="filter",
                fix='Write it as {"year": {"gte": 2019}}, percent-encoded.',
            ) from None
    return content


class FacetParametersSerializer(StrictSerializer):
    filter = FilterField(
        required=False,
        help_text="Count only what matches. A field's own condition does not apply to its values.",
    )
    limit = serializers.IntegerField(
        default=20, min_value=1, max_value=MAX_FACET_VALUES, help_text="Maximum values of a field."
    )


class SourceParametersSerializer(StrictSerializer):
    window = serializers.IntegerField(
        default=0, min_value=0, max_value=MAX_WINDOW, help_text="Neighbours on each side."
    )


class PassageKindSerializer(PagingSerializer):
    kind = serializers.ChoiceField(PASSAGE_KINDS, default=PASSAGE_KINDS[0])
