"""``strata export`` and ``strata import``, as people run them."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps

from config.backup.exporting import ADDED_TABLES, INDEX_TABLES
from config.backup.importing import import_index
from core.exceptions import InvalidInput
from tests.config.test_backup import TEXTS
from tests.factories import give
from tests.faults.armed import ArmedService

QUERIES = ["when is a spring tide", "heron", "shallows"]

# Tables that belong to an installation, or that an index is served without.
LEFT_OUT = {
    "documents.pendingrevision", "indexing.throughput", "indexing.unconfirmedwrite",
    "indexing.pointaudit", "indexing.regeneration", "summaries.storedcompletion",
    "summaries.buildlanguagemodelcost", "evaluation.evaluationrun",
}  # fmt: skip
APPS_OF_INDEXES = {"documents", "indexing", "summaries", "concepts", "evaluation", "evidence"}


@pytest.fixture
def elsewhere(tmp_path) -> Iterator[ArmedService]:
    """A new installation with specs of its own, none yet, which dies if it embeds a document."""
    data = tmp_path / "elsewhere"
    data.mkdir()
    (data / "specs").mkdir()
    service = ArmedService(
        data, STRATA_SPECS_DIR=str(data / "specs"), STRATA_GOLDEN_DIR=str(data / "golden")
    )
    service.arm("embed")
    yield service
    service.stop()
    service.api.close()


def give_documents(service: ArmedService) -> list[str]:
    return [service.add_file("plain", name, text.encode()) for name, text in TEXTS.items()]


def search(service: ArmedService) -> list[Any]:
    hits = []
    for query in QUERIES:
        answer = service.api.post("indexes/plain/search/", json={"query": query})
        assert answer.status_code == 200, answer.text
        hits += [[hit["node_id"], hit["score"], hit["text"]] for hit in answer.json()["hits"]]
    return hits


def export(service: ArmedService, file: Path) -> Path:
    exported = service.manage("export", "plain", str(file))
    assert exported.returncode == 0, exported.stderr
    return file


class TestExport:
    def test_is_imported_beside_other_indexes_with_the_same_hits_and_scores(
        self, served, elsewhere, tmp_path
    ):
        documents = give_documents(served)
        hits = search(served)
        assert hits
        archive = export(served, tmp_path / "plain.zip")
        assert archive.stat().st_mode & 0o777 == 0o600
        assert [path.name for path in tmp_path.glob("*plain.zip*")] == ["plain.zip"]
        elsewhere.disarm()
        specs = elsewhere.data_dir / "specs"
        (specs / "biomedical.yaml").write_text(Path("specs/biomedical.yaml").read_text())
        elsewhere.start()
        elsewhere.add("biomedical", text="Aspirin lowers the risk of a stroke.")
        elsewhere.stop()
        elsewhere.arm("embed")

        imported = elsewhere.manage("import", str(archive))

        assert imported.stdout.startswith("2 documents and "), imported.stderr
        assert "embedded again" not in imported.stdout
        elsewhere.verify()
        assert (specs / "plain.yaml").read_text() == Path("specs/plain.yaml").read_text()
        elsewhere.disarm()
        elsewhere.start()
        assert search(elsewhere) == hits
        elsewhere.verify()
        original = elsewhere.api.get(f"artifacts/{documents[0]}/original/").content
        assert original.decode() == TEXTS["tides.md"]
        assert elsewhere.api.get("indexes/biomedical/").json()["documents"]["total"] == 1

    def test_an_interrupted_import_serves_nothing_and_is_repeated(
        self, served, elsewhere, tmp_path
    ):
        give_documents(served)
        hits = search(served)
        archive = export(served, tmp_path / "plain.zip")
        elsewhere.arm("upsert", "after")
        assert elsewhere.manage("import", str(archive)).returncode == -9
        elsewhere.disarm()
        elsewhere.start()
        assert search(elsewhere) == []
        elsewhere.stop()
        elsewhere.arm("embed")

        again = elsewhere.manage("import", str(archive))

        assert again.stdout.startswith("2 documents"), again.stderr
        elsewhere.verify()
        elsewhere.disarm()
        elsewhere.start()
        assert search(elsewhere) == hits
