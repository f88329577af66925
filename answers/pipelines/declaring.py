"""Read pipeline YAML files and check what can be checked without importing Haystack.

The files use Haystack's own format. Components must be listed in ``COMPONENTS``: a file cannot
import another class or run code.
"""

import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Final, Literal

from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from answers.exceptions import InvalidPipeline, UnknownPipeline
from core.plain_yaml import NotPlainYaml, load_yaml
from indexing.spec import NAME_PATTERN

# Class name of each component -> its module.
COMPONENTS: Final[dict[str, str]] = {
    "AnswerSynthesiser": "answers.pipelines.answer_synthesiser",
    "ContextBuilder": "answers.pipelines.context_builder",
    "Diversity": "answers.pipelines.diversity",
    "FilterParser": "answers.pipelines.filter_parser",
    "Fusion": "answers.pipelines.fusion_component",
    "IdentifierLookup": "answers.pipelines.identifier_lookup",
    "MultiQueryRetriever": "answers.pipelines.multi_query_retriever",
    "QuotedPassageRetriever": "answers.pipelines.quoted_passage_retriever",
    "RelevanceGate": "answers.pipelines.relevance_gate",
    "Reformulator": "answers.pipelines.reformulator",
    "Reranker": "answers.pipelines.reranker",
}
HITS_COMPONENT_TYPE: Final = "ContextBuilder"  # whose passages are the hits

_COMPONENT_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]{0,62}")
_BUILT_IN_FOLDER = Path(__file__).parent
_FORMER_PACKAGE: Final = "retrieval.pipelines"  # in files that Haystack wrote for release 0.2.0


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ComponentDeclaration(_Frozen):
    """``type``: a name in ``COMPONENTS``, with or without its module path."""

    type: str
    init_parameters: dict[str, Any] = Field(default_factory=dict)

    @property
    def type_name(self) -> str:
        return self.type.rpartition(".")[2]


class ConnectionDeclaration(_Frozen):
    """Each end is ``component.socket``."""

    sender: str
    receiver: str

    @property
    def component_names(self) -> tuple[str, str]:
        """Names of the sending and the receiving component."""
        return self.sender.partition(".")[0], self.receiver.partition(".")[0]


class PipelineMetadata(_Frozen):
    title: str = ""
    description: str = ""


class PipelineDeclaration(_Frozen):
    """One pipeline file. ``name`` is the file name without its suffix."""

    name: str
    metadata: PipelineMetadata = PipelineMetadata()
    components: dict[str, ComponentDeclaration]
    connections: tuple[ConnectionDeclaration, ...] = ()
    max_runs_per_component: int = Field(100, ge=1)  # Haystack writes this field and the next
    connection_type_validation: Literal[True] = True

    @property
    def execution_order(self) -> list[str]:
        """Component names in topological order: each after the components it receives from."""
        senders: dict[str, set[str]] = {name: set() for name in self.components}
        for connection in self.connections:
            sender, receiver = connection.component_names
            senders[receiver].add(sender)
        return list(TopologicalSorter(senders).static_order())


def parse_declaration(name: str, text: str) -> PipelineDeclaration:
    """Read one pipeline from YAML text. Raises ``InvalidPipeline``: names the first error and the
    allowed values."""
    try:
        content = load_yaml(text)
    except NotPlainYaml as error:
        raise InvalidPipeline(f"{name}.yaml {error}") from None
    if not isinstance(content, Mapping):
        raise InvalidPipeline(f"{name}.yaml must hold a mapping with components and connections.")
    try:
        declaration = PipelineDeclaration.model_validate({**content, "name": name})
    except ValidationError as error:
        raise InvalidPipeline(f"{name}.yaml: {_format_validation_error(error)}") from None
    _check_components(declaration)
    _check_connections(declaration)
    return declaration


def find_pipeline_files() -> dict[str, Path]:
    """Pipeline name -> file. A user's file replaces a built-in file of the same name."""
    folders = [_BUILT_IN_FOLDER, Path(settings.STRATA_PIPELINES_DIR)]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}


def read_declaration(name: str) -> PipelineDeclaration:
    """Read one pipeline from its file.

    Raises:
        UnknownPipeline: lists the known names.
        InvalidPipeline: the file is not valid.
    """
    files = find_pipeline_files()
    if name not in files:
        raise UnknownPipeline(
            f"There is no pipeline {name[:100]!r}.", field="pipeline", allowed=files
        )
    return _read_declaration_file(name, files[name])


def read_declarations() -> Iterator[PipelineDeclaration | InvalidPipeline]:
    """Yield every pipeline, ordered by name; for an invalid one, yield the error instead."""
    for name, path in sorted(find_pipeline_files().items()):
        try:
            yield _read_declaration_file(name, path)
        except InvalidPipeline as error:
            yield error


def _read_declaration_file(name: str, path: Path) -> PipelineDeclaration:
    if not NAME_PATTERN.fullmatch(name):
        raise InvalidPipeline(
            f"{path.name}: the pipeline is named after the file, so the name must be a lowercase "
            "letter, then lowercase letters, digits and dashes, at most 63 characters."
        )
    try:
        return parse_declaration(name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidPipeline(f"{path.name} cannot be read: {error}") from None


def _check_components(declaration: PipelineDeclaration) -> None:
    file = f"{declaration.name}.yaml"
    for name, component in declaration.components.items():
        if not _COMPONENT_NAME_PATTERN.fullmatch(name):
            raise InvalidPipeline(
                f"{file}: {name!r} is not a valid name for a component: it must be a lowercase "
                "letter, then lowercase letters, digits and underscores."
            )
        known = COMPONENTS.get(component.type_name)
        module = component.type.rpartition(".")[0].replace(_FORMER_PACKAGE, __package__)
        if known is None or module not in {"", known}:
            raise InvalidPipeline(
                f"{file}: components.{name}.type: there is no component {component.type[:100]!r}.",
                allowed=COMPONENTS,
            )
        if _contains_type_key(component.init_parameters):
            raise InvalidPipeline(
                f"{file}: components.{name}.init_parameters: the key 'type' is not allowed."
            )
    hits = [c for c in declaration.components.values() if c.type_name == HITS_COMPONENT_TYPE]
    if len(hits) != 1:
        raise InvalidPipeline(
            f"{file}: components: there must be exactly one {HITS_COMPONENT_TYPE}, because its "
            f"passages become the hits; there are {len(hits)}."
        )


def _check_connections(declaration: PipelineDeclaration) -> None:
    file = f"{declaration.name}.yaml"
    for connection in declaration.connections:
        for socket, component in zip(
            (connection.sender, connection.receiver), connection.component_names, strict=True
        ):
            if component not in declaration.components:
                raise InvalidPipeline(
                    f"{file}: connections: {socket!r} does not name a component of this pipeline.",
                    allowed=declaration.components,
                )
    try:
        declaration.execution_order  # noqa: B018 - raises if the components form a cycle
    except CycleError as error:
        cycle = " -> ".join(reversed(error.args[1]))
        raise InvalidPipeline(
            f"{file}: connections: they must not form a cycle: {cycle}."
        ) from None


def _contains_type_key(value: Any) -> bool:
    """Whether a mapping has a ``type`` key: Haystack would import and instantiate that class."""
    if isinstance(value, Mapping):
        return "type" in value or any(_contains_type_key(part) for part in value.values())
    return isinstance(value, list) and any(_contains_type_key(part) for part in value)


def _format_validation_error(error: ValidationError) -> str:
    # Report unknown keys first: a misspelt key also causes an error that the right key is missing.
    errors: list[Any] = error.errors(include_url=False)
    first = min(errors, key=lambda mistake: mistake["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"{where}: there is no such setting."
    return f"{where}: {first['msg']}."
