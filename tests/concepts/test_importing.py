import json

import networkx
import pytest
from django.core.management import CommandError, call_command

from concepts.models import Concept, Instance, Relationship, RelationshipType
from core.api_client import ApiClient
from documents.models import Artifact
from indexing.management import waiting
from indexing.models import Node
from indexing.services import sync_nodes
from tests.concepts.conftest import INDEX
from tests.factories import give

LINES = [
    {
        "type": "concept",
        "label": "Heron",
        "description": "A wading bird",
        "search_terms": ["Ardea"],
        "evidence": [
            {"quote": "the HERON stands", "document": "doc-1"},
            {"quote": "the heron flies", "document": "doc-1"},
        ],
    },
    {"type": "concept", "label": "Fish"},
    {"type": "relationship_type", "name": "EATS", "category": "structural"},
    {"type": "relationship", "source": "heron", "relationship_type": "eats", "target": "Fish"},
]


@pytest.fixture
def bring(knowledge, tmp_path, capsys, relocations):
    give("The heron stands in the shallows.", index=INDEX, external_id="doc-1")

    def bring(*lines, path=None, wait=False):
        """Run the command; return its exit status and output."""
        if path is None:
            path = tmp_path / "graph.jsonl"
            path.write_text("\n".join(json.dumps(line) for line in lines))
        try:
            call_command("import_concepts", str(path), index=INDEX, wait=wait)
            status = 0
        except SystemExit as stop:
            status = stop.code
        return status, *capsys.readouterr()

    return bring


@pytest.fixture
def work_elsewhere(monkeypatch):
    """Have this done while the command waits."""

    def have_done(work):
        monkeypatch.setattr("core.api_client.has_embedded_store", lambda: False)
        monkeypatch.setattr(ApiClient, "wake_workers", lambda api: None)
        monkeypatch.setattr(waiting.time, "sleep", lambda seconds: work())

    return have_done


class TestImportConcepts:
    def test_imports_valid_lines_and_counts_rejected_ones(self, bring):
        status, out, err = bring(*LINES)

        assert status == 1
        assert out.splitlines() == [
            "concepts: 2 added, 0 already there",
            "quotes: 1 added, 0 already there",
            "relationship types: 1 added, 0 already there",
            "relationships: 1 added, 0 already there",
            "1 refused",
        ]
        assert "graph.jsonl:1, quote 2" in err
        assert "[quote_not_found, field quote]" in err
        assert Instance.objects.get().quote == "The heron stands"
        assert str(Relationship.objects.get()) == "Heron EATS Fish"

    def test_finds_a_document_by_its_file_name(self, bring):
        line = {"type": "concept", "label": "Fish", "evidence": [
            {"quote": "shallows", "document": "heron.md"}]}  # fmt: skip
        Artifact.objects.update(file_name="heron.md")
        assert bring(line)[0] == 0

        give("In the shallows, too.", index=INDEX, external_id="doc-2")
        Artifact.objects.update(file_name="heron.md")

        status, _, err = bring(line)
        assert status == 1
        assert "several documents with the file name 'heron.md'. Name the document by its" in err

    def test_adds_no_duplicates_and_overwrites_nothing(self, bring):
        bring(*LINES)

        status, out, _ = bring(
            {"type": "concept", "label": "HERON", "description": "x", "search_terms": ["Reiher"]},
            *LINES[1:],
        )

        assert status == 0
        assert "concepts: 0 added, 2 already there" in out
        heron = Concept.objects.get(label="Heron")
        assert heron.description == "A wading bird"
        assert heron.search_terms == ["Ardea", "Reiher"]

    @pytest.mark.parametrize(
        ("line", "says"),
        [
            ({"type": "concept", "labl": "x"}, "no field 'labl'"),
            ({"type": "idea"}, "must have a type"),
            ({"label": "x"}, "must have a type"),
            ({"type": ["concept"]}, "must have a type"),
            ([1], "a JSON object"),
            ({"type": "concept", "label": ["x"]}, "Not a valid string. [invalid, field label]"),
            (
                {"type": "concept", "label": "x", "evidence": ["x"]},
                "field evidence.0]",
            ),
            (
                {"type": "relationship", "source": "x", "relationship_type": "y", "target": "z"},
                "no concept 'x'",
            ),
            (
                {"type": "concept", "label": "x", "evidence": [{"quote": "a", "source": "b"}]},
                "Must be a valid UUID. [invalid, field source]",
            ),
        ],
    )
    def test_continues_after_an_invalid_line(self, bring, line, says):
        status, out, err = bring(line, {"type": "concept", "label": "Fish"})

        assert status == 1
        assert says in err
        assert Concept.objects.filter(label="Fish").exists()
        assert "1 refused" in out

    def test_reads_graphml(self, bring, tmp_path):
        graph = networkx.DiGraph()
        graph.add_node("a", label="Heron", description="A bird", search_terms="Ardea; Reiher")
        graph.add_node("b")
        graph.add_edge("a", "b", type="EATS", category="structural")
        graph.add_edge("b", "a")
        networkx.write_graphml(graph, tmp_path / "graph.graphml")

        status, _, err = bring(path=tmp_path / "graph.graphml")

        assert (status, err) == (0, "")
        assert Concept.objects.get(label="Heron").search_terms == ["Ardea", "Reiher"]
        assert RelationshipType.objects.get(name="EATS").category == "structural"
        assert {str(edge) for edge in Relationship.objects.all()} == {
            "Heron EATS b",
            "b RELATED TO Heron",
        }

    def test_waits_until_all_can_be_searched(self, bring, knowledge, work_elsewhere):
        work_elsewhere(lambda: sync_nodes(knowledge))

        status, _, _ = bring(*LINES[1:3], wait=True)

        assert status == 0
        assert list(Node.objects.values_list("state", flat=True)) == ["synced", "synced"]

    def test_says_how_many_failed(self, bring, work_elsewhere):
        work_elsewhere(lambda: Node.objects.update(state=Node.State.FAILED))

        status, out, _ = bring(LINES[1], wait=True)

        assert (status, out.splitlines()[-1]) == (1, "1 failed")

    def test_does_the_work_without_a_server(self, idle, tmp_path):
        graph = tmp_path / "graph.jsonl"
        graph.write_text(json.dumps(LINES[1]))

        imported = idle.manage("import_concepts", str(graph), "--index", INDEX, "--wait")
        found = idle.manage("concepts", "search", "Fish", "--index", INDEX)

        assert imported.returncode == 0, imported.stderr
        assert found.stdout.startswith("1. Fish  ")

    def test_reports_a_file_that_it_cannot_read(self, bring, tmp_path):
        broken = tmp_path / "broken.graphml"
        broken.write_text("<graphml><node")

        with pytest.raises(CommandError, match="is not valid GraphML"):
            bring(path=broken)
        with pytest.raises(CommandError, match="cannot be read"):
            bring(path=tmp_path / "none.jsonl")
        with pytest.raises(CommandError, match="no index named 'none'"):
            call_command("import_concepts", str(broken), index="none")
