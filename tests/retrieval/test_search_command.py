"""``manage.py search`` for other kinds than chunks."""

import json

import pytest
from django.core.management import CommandError, call_command

from access.models import ApiKey
from core.running_server import RunningServer
from documents.services import TextContent, add_artifact
from indexing.management import api_client
from tests.factories import PARAGRAPHS
from tests.written import ALL_KINDS, make_build, write_all


@pytest.fixture
def notes(db, store, embedder):
    build = make_build("full", **ALL_KINDS)
    pages = (*PARAGRAPHS, "Yeast again.\x1b[2J")
    artifact, _ = add_artifact("full", TextContent(pages), title="Notes")
    write_all(build, artifact)
    return artifact


class TestSearchCommand:
    def search(self, capsys, kind, *given):
        call_command("search", "granite crystals", "--index=full", f"--kind={kind}", *given)
        return capsys.readouterr().out

    def test_prints_summaries_with_their_page_if_they_have_one(self, notes, capsys):
        lines = self.search(capsys, "summaries").splitlines()

        assert any("Notes  page 2  rrf 0.0" in line for line in lines)
        assert any("Notes  rrf 0.0" in line for line in lines)
        assert any(line.startswith("   Summary: Granite cools") for line in lines)

    def test_prints_the_question_above_the_passage(self, notes, capsys):
        lines = self.search(capsys, "questions", "--limit=1").splitlines()

        assert lines[0].startswith("1. Notes  page 2  rrf 0.0")
        assert lines[1].endswith("?")
        assert lines[2].startswith("   Granite cools slowly")

    def test_prints_artifacts_above_pages_above_chunks(self, notes, capsys):
        out = self.search(capsys, "hierarchical")

        lines = out.splitlines()
        assert lines[0].startswith("1. Notes  0.0")
        assert lines[1].startswith("   In short, Notes.")
        assert lines[2].startswith("   page 2  0.0")
        assert lines[3].startswith("      Summary: Granite cools")
        assert lines[4].startswith("      rrf 0.0")
        assert lines[5].startswith("         Granite cools slowly")
        assert "\x1b[2J" not in out

    def test_prints_that_a_hit_is_stale(self, notes, capsys):
        notes.sources.update(text="Basalt.")

        assert "stale: the document has changed since" in self.search(capsys, "hierarchical")

    def test_reports_that_nothing_was_found(self, db, store, embedder, capsys):
        make_build("full", **ALL_KINDS)

        for kind in ("summaries", "questions", "hierarchical"):
            assert self.search(capsys, kind) == "Nothing found.\n"

    def test_prints_the_answer_of_the_api_on_request(self, notes, capsys):
        answer = json.loads(self.search(capsys, "hierarchical", "--json"))

        assert [each["artifact_title"] for each in answer["artifacts"]] == ["Notes"]

    def test_reports_a_kind_that_the_index_does_not_have(self, build):
        with pytest.raises(CommandError, match="plain holds no questions"):
            call_command("search", "granite", "--index=plain", "--kind=questions")

    def test_names_the_kinds_that_the_index_has(self, db, store, embedder):
        make_build("asked", questions={"count": 3}, chunks={"embed": False})

        with pytest.raises(CommandError, match=r"It holds questions: .* --kind questions"):
            call_command("search", "granite", "--index=asked")

    @pytest.mark.django_db(transaction=True)
    def test_asks_a_running_server(self, notes, capsys, live_server, monkeypatch):
        _, secret = ApiKey.issue("commands")
        running = RunningServer(url=live_server.url, key=secret, pid=0)
        monkeypatch.setattr(api_client, "find_server", lambda: running)
        # Beside a server, the command must not answer in its own process.
        monkeypatch.setattr(api_client, "WSGIHandler", None)

        assert "1. Notes  0.0" in self.search(capsys, "hierarchical")
