"""Files whose chunks a language model cuts."""

# ruff: noqa: F811 (fixtures that are imported)

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from indexing.models import IndexBuild
from language_models.exceptions import LanguageModelUnavailable
from processing.stages import FileInspection
from summaries.models import Annotation, Segmentation
from tests.summaries.conftest import write_all
from tests.summaries.test_segmentations import (  # noqa: F401
    NUMBERED,
    SPEC,
    TEXT,
    TOPICS,
    add_index,
    build,
    chunks_of,
    find_topics,
    model,
)

pytestmark = pytest.mark.django_db


class TestProcess:
    @pytest.fixture
    def asking(self, build, model, settings) -> IndexBuild:
        model.answer = lambda prompt: (
            find_topics(prompt)
            if NUMBERED.search(prompt)
            else {"questions": ["Which of them is it?"], "summary": "It is about them."}
        )
        return add_index(settings, "asking", f"{SPEC}questions: {{count: 1}}\n")

    def process(self, tmp_path, *flags: str) -> list[dict[str, Any]]:
        file, out = tmp_path / "notes.txt", tmp_path / "out"
        file.write_text(TEXT)
        call_command("process", str(file), "--index", "asking", "--out", str(out), *flags)
        chunks: list[dict[str, Any]] = json.loads((out / "chunks.json").read_text())
        return chunks

    def test_shows_the_chunks_of_the_model(self, asking, model, tmp_path):
        chunks = self.process(tmp_path, "--chunk-only")

        assert [chunk["text"] for chunk in chunks] == TOPICS
        manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
        assert manifest["cost"]["calls"] == len(model.asked) == 1

    def test_warns_of_chunks_by_sentences(self, asking, model, tmp_path):
        model.answer = lambda prompt: {"starts": [99]}

        self.process(tmp_path, "--chunk-only")

        manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
        [warning] = manifest["warnings"]["cut"]
        assert "Cut by sentences instead" in warning

    def test_writes_nothing_while_the_model_is_away(self, asking, model, tmp_path):
        model.outage = LanguageModelUnavailable("It is away.")

        with pytest.raises(CommandError, match="It is away"):
            self.process(tmp_path, "--chunk-only")

        assert not (tmp_path / "out" / "chunks.json").exists()

    def test_is_not_undone_by_later_planning(self, asking, model, tmp_path):
        self.process(tmp_path)
        opened = FileInspection.open(tmp_path / "notes.txt", "asking", tmp_path / "out")
        artifact = opened.add_to_index()
        calls = len(model.asked)

        write_all(asking, artifact)

        assert len(model.asked) == calls
        rows = Annotation.objects.filter(is_by_hand=True)
        assert set(rows.values_list("text", flat=True)) == set(TOPICS)
        assert Segmentation.objects.get().state == "written"
        assert chunks_of(asking) == TOPICS
