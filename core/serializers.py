"""Reads and checks requests: ``StrictSerializer`` and its fields. Answers are plain dicts of the
shapes in ``strata_types``."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from core.exceptions import InvalidInput, StrataError
from core.server_paths import hide_server_paths
from core.text import clean_name, clean_text, normalise

MAX_NAME_CHARS = 100  # of an unknown name that an error quotes

MAX_PAGE_SIZE = 100

MAX_OFFSET = 2**31 - 1


class StrictSerializer(serializers.Serializer):
    """Rejects unknown fields, so that a misspelt name is an error.

    Takes a JSON object, or a query string or form, in which a name may be given only once.
    """

    @classmethod
    def read(cls, data: Any) -> dict[str, Any]:
        """The values of a request's body or query string.

        Raises:
            InvalidInput: names the first wrong field.
        """
        serializer = _get_instance(cls)
        try:
            return serializer.run_validation(data)
        except serializers.ValidationError as error:
            raise to_invalid_input(error.detail, serializer.fields) from None

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, QueryDict):
            data = _to_plain_dict(data)
        if isinstance(data, Mapping):
            allowed = [name for name, field in self.fields.items() if not field.read_only]
            for name in data:
                if name not in allowed:
                    shown = str(name)[:MAX_NAME_CHARS]
                    raise InvalidInput(
                        f"There is no field {shown!r}.", field=shown, allowed=allowed
                    )
        return super().to_internal_value(data)


@cache
def _get_instance(serializer_class: type[StrictSerializer]) -> StrictSerializer:
    """Shared by all requests: creating a serializer for each would copy every field."""
    return serializer_class()


def to_invalid_input(
    errors: Any, fields: Mapping[str, serializers.Field] | None = None
) -> InvalidInput:
    """Convert the first of DRF's validation errors; ``field`` is its dotted path in the body."""
    path, error = _first_error(errors)
    field = (fields or {}).get(path[0]) if path else None
    allowed = None
    if isinstance(field, serializers.ChoiceField) and error.code == "invalid_choice":
        allowed = [str(choice) for choice in field.choices]
    return InvalidInput(str(error), field=".".join(path) or None, allowed=allowed)


def make_error_json(error: StrataError) -> dict[str, Any]:
    """The JSON form of an error, cleaned: text it quotes from the request may not be valid
    UTF-8, and text from a library may name folders of the server."""
    return {
        name: hide_server_paths(clean_text(value)) if isinstance(value, str) else value
        for name, value in error.as_json().items()
    }


def _first_error(errors: Any) -> tuple[list[str], ErrorDetail]:
    path: list[str] = []
    while not isinstance(errors, str):
        if isinstance(errors, Mapping):
            name, errors = next((name, error) for name, error in errors.items() if error)
            if name != "non_field_errors":
                path.append(str(name))
        else:
            # In a list of objects, the valid ones have an empty entry.
            position, errors = next((i, error) for i, error in enumerate(errors) if error)
            if not isinstance(errors, str):
                path.append(str(position))
    return path, errors if isinstance(errors, ErrorDetail) else ErrorDetail(errors, "invalid")


def _to_plain_dict(data: QueryDict) -> dict[str, Any]:
    # In a plain dict an absent boolean takes its default; in a form DRF reads it as false.
    plain: dict[str, Any] = {}
    for name, values in data.lists():
        if len(values) > 1:
            shown = name[:MAX_NAME_CHARS]
            raise InvalidInput(f"Parameter {shown!r} is given more than once.", field=shown)
        plain[name] = values[0]
    return plain


class StringField(serializers.CharField):
    """Accepts only strings, no numbers, and keeps whitespace around them. In NFC: a Mac writes
    names decomposed."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(trim_whitespace=False, **kwargs)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return normalise(super().to_internal_value(data))


class TitleField(StringField):
    """A name, stripped of whitespace; characters that cannot be stored are replaced."""

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if self.max_length is not None and len(text) > self.max_length:  # before it is cleaned
            self.fail("max_length", max_length=self.max_length)
        return clean_name(text).strip()


class IdField(serializers.UUIDField):
    """Accepts only strings; DRF makes an id of any number, true and false included."""

    def to_internal_value(self, data: Any) -> Any:
        if not isinstance(data, str):
            self.fail("invalid", value=data)
        return super().to_internal_value(data)


class FlagField(serializers.BooleanField):
    """True or false, in a query string as a word. Numbers are rejected."""

    def to_internal_value(self, data: Any) -> bool:
        if isinstance(data, (int, float)) and not isinstance(data, bool):
            self.fail("invalid", input=data)
        return super().to_internal_value(data)


class PagingSerializer(StrictSerializer):
    limit = serializers.IntegerField(default=20, min_value=1, max_value=MAX_PAGE_SIZE)
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)
