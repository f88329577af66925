"""Build Haystack pipelines from declarations, check them, and cache one of each per process."""

import importlib
import inspect
import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_type_hints

from pydantic import TypeAdapter, ValidationError

from answers.exceptions import InvalidPipeline
from answers.pipelines.declaring import (
    COMPONENTS,
    HITS_COMPONENT_TYPE,
    PipelineDeclaration,
    read_declaration,
)
from core.exceptions import StrataError
from core.import_lock import import_lock
from indexing.spec.loaded import get_specs

if TYPE_CHECKING:
    from haystack import Pipeline

logger = logging.getLogger(__name__)

# Values a run passes to every unconnected input of that name.
RUN_INPUTS: Final = (
    "index", "grant", "query", "queries", "filter", "limit", "versions", "wants_answer",
    "on_piece", "read",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LoadedPipeline:
    """A pipeline that is ready to run, also concurrently: components hold no state of a run.

    ``execution_order``: component names in topological order. ``senders``: component -> those it
    receives from. ``run_inputs``: component -> its inputs that a run sets. ``hits_component``:
    the component whose passages are the hits.
    """

    name: str
    haystack: "Pipeline"
    execution_order: tuple[str, ...]
    senders: Mapping[str, frozenset[str]]
    run_inputs: Mapping[str, tuple[str, ...]]
    hits_component: str


_pipelines: dict[str, LoadedPipeline] = {}
_pipelines_lock = threading.Lock()  # held while Haystack is imported, never while a model loads
_warm_names: set[str] = set()


def get_pipeline(name: str) -> LoadedPipeline:
    """Return the cached pipeline of this name; the first call imports Haystack (seconds).

    Raises:
        UnknownPipeline: lists the known names.
        InvalidPipeline: its file is not valid.
        ModelLoading: one of its models is not loaded yet; retry helps.
        ModelUnavailable: one of its models cannot be loaded.
    """
    with _pipelines_lock:
        if name not in _pipelines:
            _pipelines[name] = load_pipeline(read_declaration(name))
        loaded = _pipelines[name]
    if name not in _warm_names:
        loaded.haystack.warm_up()
        _warm_names.add(name)
    return loaded


def preload_pipelines() -> None:
    """Load the query pipelines that the specs name. The first one imports Haystack and LlamaIndex,
    which takes seconds."""
    for name in {spec.search.pipeline for spec in get_specs().values()}:
        try:
            get_pipeline(name)
        except StrataError as error:
            logger.warning("A query pipeline was not loaded: %s", error)


def load_pipeline(declaration: PipelineDeclaration) -> LoadedPipeline:
    """Make a Haystack pipeline of its declaration. Raises ``InvalidPipeline``: names the first
    error and the allowed values."""
    with import_lock:
        from haystack import Pipeline

        for component in declaration.components.values():
            importlib.import_module(COMPONENTS[component.type_name])
    pipeline = Pipeline(metadata=declaration.metadata.model_dump())
    for name, component in declaration.components.items():
        place = f"{declaration.name}.yaml: components.{name}"
        instance = _make_component(place, component.type_name, component.init_parameters)
        pipeline.add_component(name, instance)
    for connection in declaration.connections:
        _connect(declaration.name, pipeline, connection.sender, connection.receiver)
    components = declaration.components
    [hits] = [name for name, each in components.items() if each.type_name == HITS_COMPONENT_TYPE]
    return LoadedPipeline(
        name=declaration.name,
        haystack=pipeline,
        execution_order=tuple(declaration.execution_order),
        senders={name: frozenset(pipeline.graph.predecessors(name)) for name in components},
        run_inputs=_find_run_inputs(declaration.name, pipeline),
        hits_component=hits,
    )


def _make_component(place: str, type_name: str, parameters: Mapping[str, Any]) -> Any:
    component = getattr(importlib.import_module(COMPONENTS[type_name]), type_name)
    signature = inspect.signature(component.__init__)
    known = [name for name in signature.parameters if name != "self"]
    hints = get_type_hints(component.__init__)
    for name, value in parameters.items():
        if name not in known:
            raise InvalidPipeline(
                f"{place}.init_parameters: {type_name} has no parameter {name[:100]!r}.",
                allowed=known,
            )
        try:
            TypeAdapter(hints[name]).validate_python(value, strict=True)
        except ValidationError as error:
            [first, *_] = error.errors(include_url=False)
            raise InvalidPipeline(f"{place}.init_parameters.{name}: {first['msg']}.") from None
    try:
        return component(**parameters)
    except (StrataError, ValueError) as error:
        raise InvalidPipeline(
            f"{place}.init_parameters: {error}", allowed=getattr(error, "allowed", None)
        ) from None


def _connect(pipeline_name: str, pipeline: "Pipeline", sender: str, receiver: str) -> None:
    from haystack.core.errors import PipelineConnectError

    for end, direction in ((sender, "output"), (receiver, "input")):
        component, _, socket = end.partition(".")
        sockets = pipeline.graph.nodes[component][f"{direction}_sockets"]
        if socket not in sockets:
            raise InvalidPipeline(
                f"{pipeline_name}.yaml: connections: {end!r} is not an {direction} of this "
                "pipeline.",
                allowed=[f"{component}.{each}" for each in sockets],
            )
    try:
        pipeline.connect(sender, receiver)
    except PipelineConnectError as error:
        raise InvalidPipeline(
            f"{pipeline_name}.yaml: connections: {str(error).splitlines()[0]}"
        ) from None


def _find_run_inputs(pipeline_name: str, pipeline: "Pipeline") -> dict[str, tuple[str, ...]]:
    """Find the inputs of each component that a run sets. Raises ``InvalidPipeline``: a required
    input is neither connected nor set by a run."""
    run_inputs: dict[str, tuple[str, ...]] = {}
    for component, sockets in pipeline.graph.nodes(data="input_sockets"):
        open_sockets = [socket for socket in sockets.values() if not socket.senders]
        for socket in open_sockets:
            if socket.is_mandatory and socket.name not in RUN_INPUTS:
                raise InvalidPipeline(
                    f"{pipeline_name}.yaml: nothing is connected to {component}.{socket.name}."
                )
        run_inputs[component] = tuple(
            socket.name for socket in open_sockets if socket.name in RUN_INPUTS
        )
    return run_inputs
