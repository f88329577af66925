"""Read specs from YAML, and describe the first error of an invalid one."""

from collections.abc import Mapping
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import yaml
from django.conf import settings
from pydantic import ValidationError

from core.plain_yaml import NotPlainYaml, load_yaml
from indexing.exceptions import InvalidSpec
from indexing.spec.index import IndexSpec
from indexing.spec.node_parsers import check_is_installed
from indexing.spec.sections import LlmStrategy, NodeParserStrategy, Strategy


def parse_spec(name: str, text: str) -> IndexSpec:
    """Read one spec from YAML text. Raises ``InvalidSpec``: names the first wrong field and the
    allowed values."""
    try:
        content = load_yaml(text)
    except NotPlainYaml as error:
        raise InvalidSpec(f"{name}.yaml {error}") from None
    if content is None:
        content = {}
    if not isinstance(content, Mapping):
        raise InvalidSpec(f"{name}.yaml must hold a mapping of settings.")
    if "name" in content:
        raise InvalidSpec(f"{name}.yaml: remove 'name', because an index is named after its file.")
    try:
        spec = IndexSpec.model_validate({**content, "name": name})
        for strategy in spec.chunks.strategies:
            _check_can_cut(strategy)
    except ValidationError as error:
        line = _find_line(text, _first_mistake(error)["loc"])
        place = f" (line {line})" if line else ""
        raise InvalidSpec(f"{name}.yaml: {describe_first_error(error)}{place}") from None
    except InvalidSpec as error:
        raise InvalidSpec(
            f"{name}.yaml: chunks.strategies: {error}", field="chunks.strategies", fix=error.fix
        ) from None
    return spec


def _check_can_cut(strategy: Strategy) -> None:
    """Refuse a strategy if this service lacks what it needs."""
    if isinstance(strategy, NodeParserStrategy):
        check_is_installed(strategy)
    if isinstance(strategy, LlmStrategy) and not (
        settings.STRATA_LLM_BASE_URL and settings.STRATA_LLM_MODEL
    ):
        raise InvalidSpec(
            "The strategy 'llm' needs a language model, and none is set.",
            fix="Set STRATA_LLM_BASE_URL and STRATA_LLM_MODEL, or name another strategy.",
        )


def describe_first_error(error: ValidationError) -> str:
    """Describe the first mistake in one sentence: its location and what is allowed there."""
    first = _first_mistake(error)
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "there is no such setting"
        if known := _known_settings(first["loc"]):
            message += f"; allowed here: {', '.join(known)}"
    return f"{where}: {message}" if where else str(message)


def _first_mistake(error: ValidationError) -> Any:
    # Unknown settings first: a misspelt name also causes an error for the missing setting.
    mistakes: list[Any] = error.errors(include_url=False)
    return min(mistakes, key=lambda mistake: mistake["type"] != "extra_forbidden")


def _find_line(text: str, location: tuple[str | int, ...]) -> int:
    """The line of a setting, counted from 1, or of the section that lacks it; 0 for the whole."""
    line, node = 0, yaml.compose(text, Loader=yaml.SafeLoader)
    for part in location:  # some name the type of a union, which is not in the text
        if isinstance(node, yaml.MappingNode):
            pairs = [(key, value) for key, value in node.value if key.value == str(part)]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
            pairs = [(value, value) for value in node.value[part : part + 1]]
        else:
            break
        for key, value in pairs:
            line, node = key.start_mark.line + 1, value
    return line


def _known_settings(location: tuple[str | int, ...]) -> list[str]:
    """The settings of the section in which the last part of the location stands."""
    section: Any = IndexSpec
    for part in location[:-1]:
        if get_origin(section) is dict:
            section = get_args(section)[1]
        elif get_origin(section) is tuple:
            section = get_args(section)[0]
        elif get_origin(section) is Annotated:  # the strategies, told apart by their names
            strategies = get_args(get_args(section)[0])
            section = next(each for each in strategies if each.model_fields["name"].default == part)
        else:
            section = section.model_fields[str(part)].annotation
            if NoneType in get_args(section):
                section = get_args(section)[0]
    return [name for name in section.model_fields if name != "name"]
