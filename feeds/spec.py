"""The section ``sources`` of a spec: a name for each source, and its settings, which its type
checks."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import (
    InstanceOf,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from feeds.protocol import SourceSettings
from feeds.types import get_type
from indexing.spec.sections import NAME_PATTERN, STORED, AppSection


class SourcesSection(AppSection):
    """From where documents come by themselves."""

    stored_in = "index"
    only_in_file = True  # it names folders of the machine and hosts that are asked

    by_name: dict[str, InstanceOf[SourceSettings]]

    @model_validator(mode="wrap")
    @classmethod
    def _read(
        cls, given: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping) or not given:
            raise ValueError("name each source and its type, such as notes: {type: folder}")
        sources = {}
        for name, each in given.items():
            try:
                sources[name] = _read_source(str(name), each)
            except ValidationError:
                # Its type may be gone. The index can be searched all the same, and the source
                # says what is wrong.
                if info.context != STORED:
                    raise
        return handler({"by_name": sources})

    @model_serializer(mode="plain")
    def _dump(self) -> dict[str, Any]:
        return {
            name: each.model_dump(mode="json", exclude_defaults=True)
            for name, each in self.by_name.items()
        }


def read_stored_source(content: Mapping[str, Any]) -> SourceSettings:
    """The settings of one source as they are stored. Raises ``ValueError``: its type is not
    installed, or of a release that allows other values."""
    return get_type(content.get("type", "")).model_validate(content, extra="ignore")


def _read_source(name: str, given: Any) -> SourceSettings:
    if not NAME_PATTERN.fullmatch(name):
        raise _make_error(
            (name,),
            "the name must be a lowercase letter, then lowercase letters, digits and dashes",
        )
    if not isinstance(given, Mapping):
        raise _make_error((name,), "give the settings of the source, such as {type: folder}")
    try:
        source_type = get_type(str(given.get("type", "")))
    except ValueError as error:
        raise _make_error((name, "type"), str(error)) from None
    try:
        return source_type.model_validate(given)
    except ValidationError as error:
        mistakes = error.errors(include_url=False)
        first = min(mistakes, key=lambda each: each["type"] != "extra_forbidden")
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] == "extra_forbidden":
            known = ", ".join(source_type.model_fields)
            message = f"there is no such setting; allowed here: {known}"
        raise _make_error((name, *first["loc"]), message) from None


def _make_error(location: tuple[str | int, ...], message: str) -> ValidationError:
    """An error whose location is completed by that of the section."""
    kind = PydanticCustomError("source", "{message}", {"message": message})
    details = InitErrorDetails(type=kind, loc=location, input=None)
    return ValidationError.from_exception_data("sources", [details])
