"""A backup and an index of the embedded form, restored and imported on PostgreSQL and Qdrant."""

import pytest

from access.models import ApiKey
from backup.rows import dump_rows, read_rows, reading_one_state
from indexing.models import IndexBuild, Node
from tests.faults.armed import ArmedService
from tests.servers.test_workers import QUICK, production  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db(transaction=True)

TABLES = ["documents.artifact", "documents.source", "indexing.node", "indexing.index"]
NOTES = "# Tides\n\nSpring tides follow the new moon by two days."


@pytest.fixture
def idle_with_notes(idle, tmp_path) -> ArmedService:
    note = tmp_path / "tides.md"
    note.write_text(NOTES)
    assert idle.manage("add", str(note), "--index", "plain", "--wait").returncode == 0
    return idle


@pytest.mark.parametrize("production", [QUICK], indirect=True, ids=["quick"])
def test_has_the_same_rows_and_points(idle_with_notes, production, tmp_path):  # noqa: F811
    taken = idle_with_notes.manage("backup", str(tmp_path / "backup"))
    assert taken.returncode == 0, taken.stderr
    ApiKey.objects.all().delete()

    restored = production.manage("restore", str(tmp_path / "backup"))

    assert restored.stdout.startswith("1 documents"), restored.stderr
    verified = production.manage("verify", "--index", "plain")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    compared = production.manage("check_release")
    assert compared.returncode == 0, compared.stderr
    assert (production.data_dir / "release").exists()
    (tmp_path / "again").mkdir()
    with reading_one_state():
        dump_rows(tmp_path / "again")
    for table in TABLES:
        written, read = (
            list(read_rows(folder, table))
            for folder in (tmp_path / "backup" / "rows", tmp_path / "again")
        )
        assert read == written
    # The sequences go on behind the restored rows.
    build = IndexBuild.objects.get(index="plain")
    build.pk, build.number = None, 2
    build.save(force_insert=True)
    assert build.pk > 1


@pytest.mark.parametrize("production", [QUICK], indirect=True, ids=["quick"])
def test_adds_an_index_with_new_keys(idle_with_notes, production, tmp_path):  # noqa: F811
    exported = idle_with_notes.manage("export", "plain", str(tmp_path / "plain.zip"))
    assert exported.returncode == 0, exported.stderr
    empty = IndexBuild.objects.get(index="plain")

    imported = production.manage("import", str(tmp_path / "plain.zip"))

    assert imported.stdout.startswith("1 documents"), imported.stderr
    assert "embedded" not in imported.stdout
    verified = production.manage("verify", "--index", "plain")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert IndexBuild.objects.live().get(index="plain").number == empty.number + 1
    assert Node.objects.exclude(state=Node.State.SYNCED).count() == 0 < Node.objects.count()
