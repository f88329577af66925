"""Read specs from YAML, and describe the first error of an invalid one."""

from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from indexing.exceptions import InvalidSpec
from indexing.spec.endpoint import EndpointSpec
from indexing.spec.index import IndexSpec
from indexing.spec.node_parsers import check_is_installed
from indexing.spec.sections import (
    ArtifactSummarySpec,
    ChunkSpec,
    CompoundSpec,
    ConceptSpec,
    EmbeddingSpec,
    EvidenceSpec,
    FieldSpec,
    HnswSpec,
    IdentifierSpec,
    ImageSpec,
    NodeParserStrategy,
    PageSummarySpec,
    QuestionSpec,
    SearchSpec,
    SparseSpec,
    StoreSpec,
    ToolSpec,
)


def parse_spec(name: str, text: str) -> IndexSpec:
    """Read one spec from YAML text.

    Raises:
        InvalidSpec: names the first wrong field and the allowed values.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidSpec(f"{name}.yaml is not YAML: {_join_lines(error)}") from None
    except RecursionError:
        raise InvalidSpec(f"{name}.yaml is nested too deeply.") from None
    if content is None:
        content = {}
    if not isinstance(content, Mapping):
        raise InvalidSpec(f"{name}.yaml must hold a mapping of settings.")
    if "name" in content:
        raise InvalidSpec(f"{name}.yaml: remove 'name', because an index is named after its file.")
    try:
        spec = IndexSpec.model_validate({**content, "name": name})
        for strategy in spec.chunks.strategies:
            if isinstance(strategy, NodeParserStrategy):
                check_is_installed(strategy)
    except ValidationError as error:
        raise InvalidSpec(f"{name}.yaml: {describe_first_error(error)}") from None
    except InvalidSpec as error:
        raise InvalidSpec(f"{name}.yaml: chunks.strategies: {error}") from None
    return spec


def describe_first_error(error: ValidationError) -> str:
    """Describe the first mistake in one sentence: its location and what is allowed there."""
    # Unknown settings first: a misspelt name also causes an error for the missing setting.
    mistakes: list[Any] = error.errors(include_url=False)
    first = min(mistakes, key=lambda mistake: mistake["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "there is no such setting"
        known = _known_settings(first["loc"])
        if known:
            message += f"; allowed here: {', '.join(known)}"
    return f"{where}: {message}" if where else str(message)


def _known_settings(location: tuple[str | int, ...]) -> list[str]:
    owners: dict[tuple[str, ...], type[BaseModel]] = {
        (): IndexSpec,
        ("page_summaries",): PageSummarySpec,
        ("artifact_summaries",): ArtifactSummarySpec,
        ("questions",): QuestionSpec,
        ("concepts",): ConceptSpec,
        ("compounds",): CompoundSpec,
        ("images",): ImageSpec,
        ("evidence",): EvidenceSpec,
        ("embedding",): EmbeddingSpec,
        ("embedding", "endpoint"): EndpointSpec,
        ("sparse",): SparseSpec,
        ("chunks",): ChunkSpec,
        ("search",): SearchSpec,
        ("store",): StoreSpec,
        ("store", "hnsw"): HnswSpec,
    }
    owner = owners.get(tuple(str(part) for part in location[:-1]))
    if location[:1] == ("metadata",):
        owner = FieldSpec
    if location[:1] == ("tools",):
        owner = ToolSpec
    if location[:1] == ("identifiers",):
        owner = IdentifierSpec
    return [] if owner is None else [name for name in owner.model_fields if name != "name"]


def _join_lines(error: Exception) -> str:
    return " ".join(str(error).split())
