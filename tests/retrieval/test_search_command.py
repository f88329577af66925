"""``strata search`` for other kinds than chunks. The documents of ``notes`` are indexed once for
all tests."""

import json

import pytest
from django.core.management import CommandError, call_command

from documents.models import Artifact
from documents.services import TextContent, add_artifact
from retrieval.management.answer_printing import format_title
from tests.factories import PARAGRAPHS, load_index
from tests.written import ALL_KINDS, make_build, write_all

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def notes(shared_store):
    return write_notes()


def write_notes() -> Artifact:
    """Notes of five pages in a new index, with their summaries and questions."""
    build = make_build("full", **ALL_KINDS)
    pages = (*PARAGRAPHS, "Yeast again.\x1b[2J")
    artifact, _ = add_artifact("full", TextContent(pages), title="Notes")
    write_all(build, artifact)
    return artifact


def search(capsys, kind, *given, index="full"):
    call_command("search", "granite crystals", f"--index={index}", f"--kind={kind}", *given)
    return capsys.readouterr().out


class TestSearchCommand:
    def test_prints_summaries_with_their_page_if_they_have_one(self, notes, capsys):
        lines = search(capsys, "summaries").splitlines()

        assert any("Notes  page 2  rrf 0.0" in line for line in lines)
        assert any("Notes  rrf 0.0" in line for line in lines)
        assert any(line.startswith("   Summary: Granite cools") for line in lines)

    def test_prints_the_question_above_the_passage(self, notes, capsys):
        lines = search(capsys, "questions", "--limit=1").splitlines()

        assert lines[0].startswith("1. Notes  page 2  rrf 0.0")
        assert lines[1].endswith("?")
        assert lines[2].startswith("   Granite cools slowly")

    def test_prints_artifacts_above_pages_above_chunks(self, notes, capsys):
        out = search(capsys, "hierarchical")

        lines = out.splitlines()
        assert lines[0].startswith("1. Notes  0.0")
        assert lines[1].startswith("   In short, Notes.")
        assert lines[2].startswith("   page 2  0.0")
        assert lines[3].startswith("      Summary: Granite cools")
        assert lines[4].startswith("      rrf 0.0")
        assert lines[5].startswith("         Granite cools slowly")
        assert "\x1b[2J" not in out

    def test_prints_a_title_on_one_line_in_its_order(self):
        title = "Notes \x1b[2J\n1. Forged \N{RIGHT-TO-LEFT OVERRIDE}fdp"

        assert format_title(title) == "Notes 1. Forged fdp"

    def test_prints_that_a_hit_is_stale(self, notes, capsys):
        notes.sources.update(text="Basalt.")

        assert "stale: the document has changed since" in search(capsys, "hierarchical")

    def test_takes_a_query_that_begins_with_a_minus_sign_after_two(self, notes, capsys):
        call_command("search", "--index=full", "--", "-granite")

        out = capsys.readouterr().out
        assert "Only words to leave out were given" in out
        assert "Granite" not in out

    def test_reports_that_nothing_was_found(self, shared_store, capsys):
        make_build("empty", **ALL_KINDS)

        for kind in ("summaries", "questions", "hierarchical"):
            assert search(capsys, kind, index="empty") == "Nothing found.\n"

    def test_prints_the_answer_of_the_api_on_request(self, notes, capsys):
        answer = json.loads(search(capsys, "hierarchical", "--json"))

        assert [each["artifact_title"] for each in answer["artifacts"]] == ["Notes"]

    def test_reports_a_kind_that_the_index_does_not_have(self, shared_store):
        load_index("plain")

        with pytest.raises(CommandError, match="plain holds no questions"):
            call_command("search", "granite", "--index=plain", "--kind=questions")

    def test_names_the_kinds_that_the_index_has(self, shared_store):
        make_build("asked", questions={"count": 3}, chunks={"embed": False})

        with pytest.raises(CommandError, match=r"It holds questions: .* --kind questions"):
            call_command("search", "granite", "--index=asked")
