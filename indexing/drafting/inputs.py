"""Register functions that plan the texts to write about a document before its nodes are drafted."""

from collections.abc import Callable
from uuid import UUID

from indexing.models import IndexBuild

InputPlanner = Callable[[UUID, IndexBuild], None]
_input_planners: list[InputPlanner] = []


def register_input_planner(planner: InputPlanner) -> None:
    """Call ``planner`` for each artifact before its nodes are drafted, in builds with generated
    texts. The planner marks the texts that must be written about the artifact as due."""
    _input_planners.append(planner)


def plan_inputs(artifact_id: UUID, build: IndexBuild) -> None:
    for planner in _input_planners:
        planner(artifact_id, build)
