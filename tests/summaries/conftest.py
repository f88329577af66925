"""A spec with all features enabled, and a writer that counts its calls."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from core.exceptions import StrataError
from indexing.models import IndexBuild, Node
from indexing.services import DocumentPlanner, load_specs, plan_nodes, sync_nodes
from indexing.spec import IndexSpec
from language_models.exceptions import LanguageModelCost
from summaries import services
from summaries.models import Annotation, Summary
from summaries.services import writing
from summaries.writers import (
    AnnotationDraft,
    AnnotationInput,
    DraftOutcome,
    Outcome,
    SummaryDraft,
    SummaryInput,
)

SPEC = """
page_summaries: true
artifact_summaries: true
questions: {count: 2}
metadata:
  habitat: {type: keyword, many: true, values: [river, mountain, town]}
  mood: {type: keyword, closed: false, values: {calm: {synonyms: [still]}}}
"""


class CountingWriter:
    """Writes the first words of each text. It refuses the texts in ``refused``, and writes nothing
    while ``outage`` is set."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.refused: dict[str, StrataError] = {}
        self.outage: StrataError | None = None
        self.outage_after: int | None = None  # inputs

    def summarise(
        self, inputs: Mapping[int, SummaryInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[int]]:
        for key, given in inputs.items():
            error = self._ask(tuple(given.texts))
            draft = SummaryDraft(f"About: {' | '.join(t[:40] for t in given.texts)}", "counting")
            yield Outcome(key, None if error else draft, error, LanguageModelCost(call_count=1))

    def annotate(
        self, inputs: Mapping[int, AnnotationInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[int]]:
        for key, given in inputs.items():
            error = self._ask((f"chunk: {given.text}",))
            start = " ".join(given.text.split()[:4])
            draft = AnnotationDraft(
                questions=[f"What of {start}?", f"Why {start}?"],
                summary=start,
                fields={"habitat": ["river"]} if "heron" in given.text else {},
                model_name="counting",
            )
            yield Outcome(key, None if error else draft, error, LanguageModelCost(call_count=1))

    def _ask(self, texts: tuple[str, ...]) -> StrataError | None:
        if self.outage_after is not None and len(self.asked) >= self.outage_after:
            return self.outage
        if self.outage_after is None and self.outage is not None:
            return self.outage
        self.asked.append(texts)
        return next((self.refused[t] for t in self.refused if any(t in x for x in texts)), None)


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> CountingWriter:
    fake = CountingWriter()
    monkeypatch.setattr(writing, "get_writer", lambda: fake)
    return fake


@pytest.fixture
def wide(db, store, embedder, settings, tmp_path: Path) -> IndexBuild:
    """The empty live build of an index with every kind of node."""
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "wide.yaml").write_text(SPEC)
    settings.STRATA_SPECS_DIR = folder
    load_specs()
    return IndexBuild.objects.live().get(index="wide")


def write_all(build: IndexBuild, *artifacts: Any) -> None:
    """Plan these artifacts, write the due texts, plan their nodes, and sync everything."""
    for artifact in artifacts:
        services.plan_written_texts(artifact.pk, build)
        plan_nodes(artifact.pk, build)
    planner = DocumentPlanner()
    while True:
        written = services.WriteBatchResult()
        services.write_due_texts(build, written)
        while planner.plan_next(build):
            pass
        if not written.row_count:
            break
    while sync_nodes(build):
        pass


def nodes_of(build: IndexBuild, kind: str) -> Any:
    return Node.objects.filter(build=build, kind=kind).exclude(state=Node.State.DELETING)


def due_count(build: IndexBuild) -> int:
    return sum(
        model.objects.filter(build=build, state="due").count() for model in (Summary, Annotation)
    )
