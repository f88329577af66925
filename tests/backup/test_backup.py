"""``strata backup`` and ``strata restore``, as people run them."""

import json
import re
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from access.models import ApiKey
from backup import vectors as backup_vectors
from backup.restoring import restore_backup, restore_originals
from backup.rows import dump_rows, read_rows
from backup.taking import list_migrations
from backup.vectors import dump_vectors, load_vectors
from core.exceptions import InvalidInput, StrataError
from documents.models import Artifact
from indexing.drafting import hash_payload
from indexing.models import Node
from indexing.stores import get_store
from tests.factories import give, sync
from tests.faults.armed import ArmedService
from tests.serving import READY_SECONDS, Service

TEXTS = {
    "tides.md": "# Tides\n\nSpring tides follow the new moon by two days.",
    "herons.txt": "The heron waits in the shallows for fish.",
}


def give_documents(service: Service) -> None:
    for name, text in TEXTS.items():
        service.add_file("plain", name, text.encode())
    service.add("biomedical", text="Aspirin lowers the risk of a stroke.", external_id="aspirin")


def ask(service: Service) -> list[Any]:
    found = []
    for index, query in {"plain": "when is a spring tide", "biomedical": "aspirin"}.items():
        answer = service.api.get("search/pages", params={"index": index, "q": query})
        found += [[hit["node_id"], hit["text"], hit["verdict"]] for hit in answer.json()["hits"]]
    return found


@pytest.fixture
def elsewhere(tmp_path) -> Iterator[ArmedService]:
    """A new installation, which dies if it embeds a document."""
    data = tmp_path / "elsewhere"
    data.mkdir()
    service = ArmedService(data)
    service.arm("embed")
    yield service
    service.stop()
    service.api.close()


class TestBackup:
    def test_is_taken_beside_the_server_and_restored_without_embedding(
        self, served, elsewhere, tmp_path
    ):
        give_documents(served)
        answers = ask(served)
        originals = served.api.get("indexes/plain/artifacts/").json()["results"]

        taken = served.manage("backup", str(tmp_path / "backup"))

        assert re.match(r"3 documents, \d+ nodes and \d+ vectors are in ", taken.stdout), taken
        restored = elsewhere.manage("restore", str(tmp_path / "backup"))
        assert restored.stdout.startswith("3 documents and "), restored.stderr
        assert "embedded again" not in restored.stdout
        elsewhere.verify()
        elsewhere.disarm()  # the first start embeds a sample, to compare it
        elsewhere.start()
        assert ask(elsewhere) == answers  # with the key of the first installation
        content = elsewhere.api.get(f"artifacts/{originals[0]['id']}/original/").content
        assert content.decode() in TEXTS.values()
        added = elsewhere.api.post("indexes/plain/artifacts/", json={"text": "Neap tides."}).json()
        assert added["revision"] > max(original["revision"] for original in originals)

    def test_can_be_read_by_its_owner_only(self, idle, tmp_path):
        idle.manage("backup", str(tmp_path / "backup"))

        paths = [tmp_path / "backup", *(tmp_path / "backup").rglob("*")]
        assert len(paths) > 20
        assert {path.stat().st_mode & 0o077 for path in paths} == {0}

    def test_is_of_one_moment_while_documents_are_added_and_a_build_is_promoted(
        self, served, elsewhere, tmp_path
    ):
        give_documents(served)
        stopped = threading.Event()
        added = []

        def add() -> None:
            while not stopped.is_set():
                text = f"Lantern {len(added)} of the pier."
                served.api.post("indexes/plain/artifacts/", json={"text": text})
                added.append(text)

        adding = threading.Thread(target=add)
        adding.start()
        try:
            served.manage("apply", "biomedical", "--promote")
            taken = served.manage("backup", str(tmp_path / "backup"))
        finally:
            stopped.set()
            adding.join()
        served.kill()

        assert taken.returncode == 0, taken.stderr
        elsewhere.disarm()  # what had just been added may have to be embedded
        restored = elsewhere.manage("restore", str(tmp_path / "backup"))
        assert restored.returncode == 0, restored.stderr
        count = int(restored.stdout.split()[0])
        assert 3 <= count <= 3 + len(added)
        elsewhere.start()
        deadline = time.monotonic() + READY_SECONDS
        while elsewhere.api.get("indexes/plain/").json()["nodes"]["pending"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        elsewhere.verify()

    def test_is_restored_after_an_interrupted_attempt(self, idle, elsewhere, tmp_path):
        notes = tmp_path / "notes.md"
        notes.write_text(TEXTS["tides.md"])
        added = idle.manage("add", str(notes), "--index", "plain", "--wait")
        assert added.returncode == 0, added.stderr
        idle.manage("backup", str(tmp_path / "backup"))
        elsewhere.arm("upsert", "after")
        assert elsewhere.manage("restore", str(tmp_path / "backup")).returncode == -9
        elsewhere.arm("embed")

        again = elsewhere.manage("restore", str(tmp_path / "backup"))

        assert again.stdout.startswith("1 documents"), again.stderr
        elsewhere.verify()

    @pytest.mark.parametrize("name", ["", "file"])
    def test_is_not_taken_into_what_is_in_use(self, idle, tmp_path, name):
        (tmp_path / "file").touch()

        refused = idle.manage("backup", str(tmp_path / name))

        assert refused.returncode == 1
        assert "is not an empty folder" in refused.stderr


@pytest.fixture
def backup(db, tmp_path) -> Path:
    """A backup of an empty database."""
    folder = tmp_path / "backup"
    (folder / "rows").mkdir(parents=True)
    (folder / "originals").mkdir()
    (folder / "vectors").mkdir()
    dump_rows(folder / "rows")
    write_manifest(folder)
    return folder


def write_manifest(folder: Path, **changes: Any) -> None:
    manifest = {
        "format": 1, "release": "0.2.0", "migrations": list_migrations(),
        "documents": 0, "nodes": 0, "sha256": {},
    }  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest | changes))


class TestRestore:
    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"format": 2}, "written by release 0.2.0, whose database has other tables"),
            ({"migrations": ["documents.9999_later"]}, "whose database has other tables"),
            ({"format": "index 1", "index": "plain"}, "This is an archive and no backup."),
            ({}, "damaged: its file rows/access.apikey.jsonl.gz is missing, new or changed"),
        ],
    )
    def test_refuses_what_it_cannot_read(self, backup, changes, said):
        write_manifest(backup, **changes)

        with pytest.raises(InvalidInput, match=re.escape(said)):
            restore_backup(backup)

    def test_refuses_a_backup_that_was_not_finished(self, backup):
        (backup / "manifest.json").unlink()

        with pytest.raises(InvalidInput, match="no complete backup"):
            restore_backup(backup)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ("no JSON", "complete backup: "),
            ("{}", "it lacks 'format'"),
            ("[]", "complete backup: "),
        ],
    )
    def test_refuses_a_manifest_that_it_cannot_read(self, backup, content, said):
        (backup / "manifest.json").write_text(content)

        with pytest.raises(InvalidInput, match=said):
            restore_backup(backup)

    def test_refuses_a_file(self, backup):
        with pytest.raises(InvalidInput, match="no complete backup"):
            restore_backup(backup / "manifest.json")

    def test_replaces_nothing(self, backup):
        ApiKey.issue("mine")

        with pytest.raises(InvalidInput, match="documents, keys or users already"):
            restore_backup(backup)


class Answering:
    """Answers with the vectors of the store, except for the nodes that it lacks."""

    def __init__(self, build, lacking=(), error: StrataError | None = None) -> None:
        self.build, self.lacking, self.error = build, lacking, error

    def post(self, path: str, body: Any) -> Any:
        if self.error:
            raise self.error
        ids = [uuid.UUID(each) for each in body["ids"] if each not in self.lacking]
        points = get_store().retrieve(self.build.collection(body["kind"]), ids, with_vectors=True)
        return {
            "vectors": [
                {
                    "id": str(point.id),
                    "payload_hash": hash_payload(point.payload),
                    "vector": backup_vectors.base64.b64encode(point.dense.tobytes()).decode(),
                }
                for point in points.values()
            ]
        }


class TestVectors:
    @pytest.fixture
    def dumped(self, build, tmp_path) -> Path:
        sync(build, give(text="First."), give(text="Second."))
        (tmp_path / "rows").mkdir()
        dump_rows(tmp_path / "rows")
        return tmp_path

    def test_that_are_gone_are_embedded_again(self, build, dumped):
        lacking = str(Node.objects.first().point_id)

        count = dump_vectors(dumped / "rows", dumped, Answering(build, [lacking]))

        assert count == Node.objects.count() - 1
        assert load_vectors(dumped, {build.pk: build}) == 1
        [pending] = Node.objects.filter(state=Node.State.PENDING)
        assert str(pending.point_id) == lacking
        assert pending.synced_input_hash == ""

    def test_of_a_build_that_is_gone_are_embedded_again(self, build, dumped):
        gone = StrataError("There is no index named 'plain'.")
        gone.code = "unknown_index"

        assert dump_vectors(dumped / "rows", dumped, Answering(build, error=gone)) == 0
        assert load_vectors(dumped, {build.pk: build}) == Node.objects.count()

    def test_are_not_left_out_because_the_store_is_down(self, build, dumped):
        down = StrataError("The vector store does not answer.")
        down.code = "store_unavailable"

        with pytest.raises(StrataError, match="does not answer"):
            dump_vectors(dumped / "rows", dumped, Answering(build, error=down))

    def test_are_written_as_they_were(self, build, dumped):
        collection = build.collection("chunk")
        before = {
            point.id: point
            for points in get_store().scroll(collection)
            for point in get_store()
            .retrieve(collection, [each.id for each in points], with_vectors=True)
            .values()
        }
        dump_vectors(dumped / "rows", dumped, Answering(build))
        get_store().drop_collection(collection)

        assert load_vectors(dumped, {build.pk: build}) == 0

        after = get_store().retrieve(collection, list(before), with_vectors=True)
        assert after.keys() == before.keys()
        for point_id, point in before.items():
            assert after[point_id].payload == point.payload
            assert after[point_id].dense.tolist() == point.dense.tolist()
            assert after[point_id].sparse == point.sparse


def test_rows_are_read_as_they_were_written(build, tmp_path):
    sync(build, give(text="First.", metadata={"year": 2024}))

    dump_rows(tmp_path)

    [row] = read_rows(tmp_path, "documents.artifact")
    assert row["metadata"] == {"year": 2024}
    assert row["state"] == "parsed"


def test_no_original_is_written_outside_its_folder(build, tmp_path):
    artifact = give("Herons wait.")
    Artifact.objects.update(has_file=True, sha256="../../../out")

    with pytest.raises(InvalidInput, match=f"the document {artifact.pk} holds no SHA-256"):
        restore_originals(tmp_path, Artifact.objects.all())
