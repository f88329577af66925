"""Pipelines as their YAML files declare them: read, and checked as far as that needs no Haystack.

A file is in Haystack's own format. Its components come from a list of ours: no other class is
ever imported for one, and nothing in a file is run.
"""

import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from django.conf import settings
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from indexing.spec import NAME_PATTERN
from retrieval.exceptions import InvalidPipeline, UnknownPipeline

# The components there are -> the modules that hold them.
COMPONENTS: Final[dict[str, str]] = {
    "AnswerSynthesiser": "retrieval.pipelines.answer_synthesiser",
    "ContextBuilder": "retrieval.pipelines.context_builder",
    "Diversity": "retrieval.pipelines.diversity",
    "FilterParser": "retrieval.pipelines.filter_parser",
    "Fusion": "retrieval.pipelines.fusion",
    "IdentifierLookup": "retrieval.pipelines.identifier_lookup",
    "MultiQueryRetriever": "retrieval.pipelines.multi_query_retriever",
    "Reformulator": "retrieval.pipelines.reformulator",
    "Reranker": "retrieval.pipelines.reranker",
}
HITS: Final = "ContextBuilder"  # whose passages are the hits

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_OWN_FOLDER = Path(__file__).parent


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Component(_Frozen):
    """``type``: a name of ``COMPONENTS``, or that with its module in front."""

    type: str
    init_parameters: dict[str, Any] = Field(default_factory=dict)

    @property
    def type_name(self) -> str:
        return self.type.rpartition(".")[2]


class Connection(_Frozen):
    """Each end is ``component.socket``."""

    sender: str
    receiver: str

    @property
    def ends(self) -> tuple[str, str]:
        """The components at either end."""
        return self.sender.partition(".")[0], self.receiver.partition(".")[0]


class About(_Frozen):
    title: str = ""
    description: str = ""


class Declaration(_Frozen):
    """One file. ``name`` is the file's."""

    name: str
    metadata: About = About()
    components: dict[str, Component]
    connections: tuple[Connection, ...] = ()
    max_runs_per_component: int = Field(100, ge=1)  # Haystack writes these two
    connection_type_validation: Literal[True] = True

    @property
    def order(self) -> list[str]:
        """Its components, each after all that it hears from."""
        heard: dict[str, set[str]] = {name: set() for name in self.components}
        for connection in self.connections:
            sender, receiver = connection.ends
            heard[receiver].add(sender)
        return list(TopologicalSorter(heard).static_order())


def parse_declaration(name: str, text: str) -> Declaration:
    """Read one pipeline from YAML text.

    Raises:
        InvalidPipeline: with the first mistake, and what is allowed in its place.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidPipeline(f"{name}.yaml is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, Mapping):
        raise InvalidPipeline(f"{name}.yaml must hold a mapping with components and connections.")
    try:
        declaration = Declaration.model_validate({**content, "name": name})
    except ValidationError as error:
        raise InvalidPipeline(f"{name}.yaml: {_explain(error)}") from None
    _check_components(declaration)
    _check_connections(declaration)
    return declaration


def find_files() -> dict[str, Path]:
    """Name -> file. A file of the users' own takes the place of ours of the same name."""
    folders = [_OWN_FOLDER, Path(settings.STRATA_PIPELINES_DIR)]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}


def read_declaration(name: str) -> Declaration:
    """One pipeline as its file says now.

    Raises:
        UnknownPipeline: with the names there are.
        InvalidPipeline: it is not valid.
    """
    files = find_files()
    if name not in files:
        raise UnknownPipeline(
            f"There is no pipeline {name[:100]!r}.", field="pipeline", allowed=files
        )
    return _read(name, files[name])


def read_declarations() -> Iterator[Declaration | InvalidPipeline]:
    """Every pipeline by name, or in its place what is wrong with it."""
    for name, path in sorted(find_files().items()):
        try:
            yield _read(name, path)
        except InvalidPipeline as error:
            yield error


def _read(name: str, path: Path) -> Declaration:
    if not NAME_PATTERN.fullmatch(name):
        raise InvalidPipeline(
            f"{path.name}: the file's name is the pipeline's: a small letter, then small "
            "letters, digits and dashes, 63 at most."
        )
    try:
        return parse_declaration(name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidPipeline(f"{path.name} cannot be read: {error}") from None


def _check_components(declaration: Declaration) -> None:
    file = f"{declaration.name}.yaml"
    for name, component in declaration.components.items():
        if not _NAME.fullmatch(name):
            raise InvalidPipeline(
                f"{file}: {name!r} is no name for a component: a small letter, then small "
                "letters, digits and underscores."
            )
        known = COMPONENTS.get(component.type_name)
        if known is None or component.type not in {
            component.type_name, f"{known}.{component.type_name}"
        }:  # fmt: skip
            raise InvalidPipeline(
                f"{file}: components.{name}.type: there is no component {component.type[:100]!r}.",
                allowed=COMPONENTS,
            )
        if _names_a_type(component.init_parameters):
            raise InvalidPipeline(
                f"{file}: components.{name}.init_parameters: no parameter may name a type."
            )
    hits = [c for c in declaration.components.values() if c.type_name == HITS]
    if len(hits) != 1:
        raise InvalidPipeline(
            f"{file}: one component is a {HITS}, whose passages are the hits; here are {len(hits)}."
        )


def _check_connections(declaration: Declaration) -> None:
    file = f"{declaration.name}.yaml"
    for connection in declaration.connections:
        for end, component in zip(
            (connection.sender, connection.receiver), connection.ends, strict=True
        ):
            if component not in declaration.components:
                raise InvalidPipeline(
                    f"{file}: connections: {end!r} names no component of this pipeline.",
                    allowed=declaration.components,
                )
    try:
        declaration.order  # noqa: B018 - there is none where they form a cycle
    except CycleError as error:
        cycle = " -> ".join(reversed(error.args[1]))
        raise InvalidPipeline(f"{file}: connections: they form a cycle: {cycle}.") from None


def _names_a_type(value: Any) -> bool:
    """Haystack makes objects of such mappings, of any class it can import."""
    if isinstance(value, Mapping):
        return "type" in value or any(_names_a_type(part) for part in value.values())
    return isinstance(value, list) and any(_names_a_type(part) for part in value)


def _explain(error: ValidationError) -> str:
    # A misspelt key first: the one it was meant for is then missing, and only seems wrong.
    mistakes: list[Any] = error.errors(include_url=False)
    first = min(mistakes, key=lambda mistake: mistake["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"{where}: there is no such setting."
    return f"{where}: {first['msg']}."
