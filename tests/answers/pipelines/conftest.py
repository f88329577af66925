from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from answers.pipelines import declaring, loading
from core import enqueueing
from documents.models import Artifact
from tests.answers.pipelines.components import STAND_INS
from tests.factories import PARAGRAPHS, give, sync
from tests.written import make_build

ASKING = """
components:
  filters: {type: FilterParser}
  queries: {type: Reformulator}
  retriever: {type: MultiQueryRetriever, init_parameters: {multiplier: 2}}
  fusion: {type: Fusion, init_parameters: {unique: artifact, multiplier: 2}}
  context: {type: ContextBuilder}
  answer: {type: AnswerSynthesiser}
connections:
  - {sender: filters.query, receiver: queries.query}
  - {sender: filters.filter, receiver: retriever.filter}
  - {sender: queries.queries, receiver: retriever.queries}
  - {sender: retriever.rankings, receiver: fusion.rankings}
  - {sender: fusion.passages, receiver: context.passages}
  - {sender: filters.query, receiver: context.query}
  - {sender: filters.query, receiver: answer.query}
  - {sender: context.contexts, receiver: answer.contexts}
"""


def index_notes(index: str = "notes") -> list[Artifact]:
    """One document per paragraph, each with another year, for the pipeline ``mine``."""
    build = make_build(index, metadata={"year": {"type": "integer"}}, search={"pipeline": "mine"})
    with mock.patch.object(enqueueing, "enqueue_once"):  # ``sync`` does what tasks would do
        notes = [
            give(text, title=f"Note {n}", index=index, metadata={"year": 2018 + n})
            for n, text in enumerate(PARAGRAPHS)
        ]
        sync(build, *notes)
    return notes


@pytest.fixture
def stand_ins(monkeypatch):
    """Replace Strata's components by those of the tests, and empty the pipeline cache."""
    monkeypatch.setattr(declaring, "COMPONENTS", declaring.COMPONENTS | STAND_INS)
    monkeypatch.setattr(loading, "COMPONENTS", declaring.COMPONENTS | STAND_INS)
    monkeypatch.setattr(loading, "_pipelines", {})
    monkeypatch.setattr(loading, "_warm_names", set())


@pytest.fixture
def declare(stand_ins, settings, tmp_path) -> Callable[[str, str], Path]:
    """Write a user's pipeline file."""
    settings.STRATA_PIPELINES_DIR = str(tmp_path / "pipelines")
    (tmp_path / "pipelines").mkdir()

    def write(name: str, text: str) -> Path:
        path = tmp_path / "pipelines" / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write
