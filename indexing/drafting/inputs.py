"""What is written about a document before its nodes are drafted."""

from collections.abc import Callable
from uuid import UUID

from indexing.models import IndexBuild

InputPlanner = Callable[[UUID, IndexBuild], None]
_input_planners: list[InputPlanner] = []


def register_input_planner(planner: InputPlanner) -> None:
    """Have ``planner`` called with each artifact before its nodes are drafted, in builds with
    generated texts; it makes due what must be written about the artifact."""
    _input_planners.append(planner)


def plan_inputs(artifact_id: UUID, build: IndexBuild) -> None:
    for planner in _input_planners:
        planner(artifact_id, build)
