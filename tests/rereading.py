"""Files for tests, and a newer reader that reads some of them otherwise."""

from collections.abc import Callable
from typing import Any

import pytest

from documents import parsing, reading
from documents.models import Artifact
from documents.originals import save_incoming_file
from documents.parsing import ParsedDocument, ParsedPage
from documents.services import add_artifact
from indexing import tasks
from indexing.models import IndexBuild
from indexing.services import DocumentPlanner, read_next, sync_nodes

OLD = "The her0n stands in the shallows at dawn. It waits for fish without moving."
NEW = OLD.replace("her0n", "heron")


def add_file(text: str, name: str, *, index: str = "plain", **given: Any) -> Artifact:
    content = save_incoming_file(name, [text.encode()])
    artifact, _ = add_artifact(index, content, **given)
    reading.parse_artifact(artifact.pk)
    return Artifact.objects.get(pk=artifact.pk)


class NewerReader:
    """Reads ``her0n`` as ``heron``, from now on until the test ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.read: list[str] = []
        self.error: Exception | None = None
        self.before: Callable[[], object] = lambda: None
        monkeypatch.setattr(reading, "parse_file", self.parse_file)
        monkeypatch.setattr(reading, "describe_reader", lambda file_name, media_type: "strata 3")

    def parse_file(self, path: Any, *, file_name: str, **options: Any) -> ParsedDocument:
        self.read.append(file_name)
        self.before()
        if self.error is not None:
            raise self.error
        document = parsing.parse_file(path, file_name=file_name, **options)
        pages = [ParsedPage(page.text.replace("her0n", "heron")) for page in document.pages]
        return ParsedDocument(document.media_type, tuple(pages), "Another title", None)


def finish(build: IndexBuild) -> None:
    """Read its documents anew, plan and sync it."""
    while read_next(build):
        pass
    planner = DocumentPlanner()
    while planner.plan_next(build) or sync_nodes(build):
        pass
    tasks.reconcile_indexes()  # makes those due that were not read anew
    while planner.plan_next(build) or sync_nodes(build):
        pass
