"""``strata export`` and ``strata import``, as people run them."""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest
from django.apps import apps

from backup.exporting import INDEX_TABLES, export_index, list_rows
from backup.importing import import_index
from backup.taking import MANIFEST
from concepts.models import Instance, Relationship
from concepts.quotes import add_quote
from concepts.services import create_concept, create_relationship_type
from core.api_client import ApiClient
from core.apps import list_exported_models
from core.exceptions import InvalidInput, StrataError, UnknownIndex
from documents.models import Artifact
from evaluation.models import Judgement
from evaluation.services import save_judgement
from indexing import lifecycle
from indexing.exceptions import InvalidSpec
from indexing.models import Index, IndexBuild, IndexedDocument, Node
from indexing.services import plan_unannounced_standalone_nodes
from indexing.verification import verify_build
from tests.backup.test_backup import TEXTS, Answering
from tests.factories import give, load_index, sync
from tests.faults.armed import ArmedService
from tests.rereading import NEW, OLD, NewerReader, add_file, finish

QUERIES = {"biomedical": ["spring tide", "heron"], "plain": ["aspirin"]}

# Tables that belong to an installation, or that an index is served without.
LEFT_OUT = {
    "documents.pendingrevision", "documents.removedoriginal", "indexing.throughput",
    "indexing.unconfirmedwrite",
    "indexing.pointaudit", "summaries.storedcompletion",
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
    return [service.add_file("biomedical", name, text.encode()) for name, text in TEXTS.items()]


def search(service: ArmedService, index: str = "biomedical") -> list[Any]:
    hits = []
    for query in QUERIES[index]:
        answer = service.api.get("search/pages", params={"index": index, "q": query})
        assert answer.status_code == 200, answer.text
        hits += answer.json()["hits"]
    return hits


def export(service: ArmedService, file: Path) -> Path:
    exported = service.manage("export", "biomedical", str(file))
    assert exported.returncode == 0, exported.stderr
    return file


class TestExport:
    def test_is_imported_beside_other_indexes_with_the_same_hits_and_scores(
        self, served, elsewhere, tmp_path
    ):
        documents = give_documents(served)
        hits = search(served)
        assert hits
        archive = export(served, tmp_path / "tides.zip")
        assert archive.stat().st_mode & 0o777 == 0o600
        assert [path.name for path in tmp_path.glob("*tides.zip*")] == ["tides.zip"]
        elsewhere.disarm()
        specs = elsewhere.data_dir / "specs"
        (specs / "plain.yaml").write_text(Path("specs/plain.yaml").read_text())
        elsewhere.start()
        elsewhere.add("plain", text="Aspirin lowers the risk of a stroke.")
        hits_of_other = search(elsewhere, "plain")
        elsewhere.stop()
        elsewhere.arm("embed")

        imported = elsewhere.manage("import", str(archive))

        assert imported.stdout.startswith("2 documents and "), imported.stderr
        assert "embedded again" not in imported.stdout
        elsewhere.verify()
        spec = Path("specs/biomedical.yaml").read_text()
        assert (specs / "biomedical.yaml").read_text() == spec
        elsewhere.disarm()
        elsewhere.start()
        assert search(elsewhere) == hits
        elsewhere.verify()
        original = elsewhere.api.get(f"artifacts/{documents[0]}/original/").content
        assert original.decode() == TEXTS["tides.md"]
        assert search(elsewhere, "plain") == hits_of_other

    def test_an_interrupted_import_serves_nothing_and_is_repeated(
        self, served, elsewhere, tmp_path
    ):
        give_documents(served)
        hits = search(served)
        archive = export(served, tmp_path / "tides.zip")
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


@pytest.fixture
def in_this_transaction(settings, tmp_path, monkeypatch) -> None:
    """An export reads one state in the test's transaction."""
    monkeypatch.setattr("backup.taking.reading_one_state", nullcontext)
    settings.STRATA_GOLDEN_DIR = tmp_path / "golden"


@pytest.fixture
def archive(build, in_this_transaction, tmp_path) -> Path:
    """An archive of the index, with a document, which is also here."""
    (tmp_path / "golden" / "plain" / "qrels").mkdir(parents=True)
    (tmp_path / "golden" / "plain" / "qrels" / "test.tsv").write_text("query-id")
    sync(build, give(text="Spring tides follow the new moon.", groups=["harbour"]))
    export_index("plain", tmp_path / "archive.zip", cast(ApiClient, Answering(build)))
    return tmp_path / "archive.zip"


@pytest.fixture
def emptied(archive, build) -> Path:
    """The archive; its document is no longer here."""
    Artifact.objects.all().delete()
    build.nodes.all().delete()
    build.documents.all().delete()
    return archive


def rewrite(archive: Path, change: Any) -> None:
    """Write the archive again with ``change`` of its files."""
    with zipfile.ZipFile(archive) as file:
        contents = {name: file.read(name) for name in file.namelist() if name[-1] != "/"}
    change(contents)
    with zipfile.ZipFile(archive, "w") as file:
        for name, content in contents.items():
            file.writestr(name, content)


def describe(archive: Path, **values: Any) -> None:
    """Change values of the manifest."""

    def change(contents: dict[str, bytes]) -> None:
        contents[MANIFEST] = json.dumps(json.loads(contents[MANIFEST]) | values).encode()

    rewrite(archive, change)


def drop(name: str) -> Any:
    return lambda contents: contents.pop(name)


def put(name: str, content: bytes) -> Any:
    return lambda contents: contents.update({name: content})


def test_an_import_has_the_concepts_and_judgements_and_embeds_nothing(
    db, store, embedder, in_this_transaction, tmp_path
):
    build = load_index("knowledge")
    document = give(text="The heron stands in the shallows.", index="knowledge")
    heron, bird = (create_concept("knowledge", label) for label in ("Heron", "Bird"))
    kind = create_relationship_type("knowledge", "IS_A")
    Relationship.objects.create(source=heron, type=kind, target=bird)
    sync(build, document)
    add_quote(heron.pk, "The heron", artifact_id=document.pk)
    plan_unannounced_standalone_nodes(build)
    sync(build)
    save_judgement("knowledge", "birds", is_good=True, judged_by="me", artifact_id=document.pk)
    before = {model: list_rows(model, "knowledge").count() for model in list_exported_models()}
    export_index("knowledge", tmp_path / "archive.zip", cast(ApiClient, Answering(build)))
    for model in reversed(list_exported_models()):
        list_rows(model, "knowledge").delete()
    embedder.embedded.clear()

    import_index(tmp_path / "archive.zip")

    live = IndexBuild.objects.live().get(index="knowledge")
    assert verify_build(live).findings == {}
    after = {model: list_rows(model, "knowledge").count() for model in list_exported_models()}
    assert after == before
    [judgement] = Judgement.objects.all()
    assert (judgement.index_id, judgement.artifact_id) == ("knowledge", document.pk)
    [instance] = Instance.objects.all()
    assert (instance.concept_id, instance.quote) == (heron.pk, "The heron")
    sync(live)
    assert embedder.embedded == []


class TestImport:
    def test_keeps_ids_groups_and_golden_queries(self, emptied, settings, tmp_path):
        settings.STRATA_GOLDEN_DIR = tmp_path / "elsewhere"

        imported = import_index(emptied)

        assert (imported.documents, imported.nodes_to_embed, imported.notes) == (1, 0, [])
        [artifact] = Artifact.objects.all()
        assert artifact.groups == ["harbour"]
        live = Index.objects.get(pk="plain").live_build
        assert [node.artifact_id for node in live.nodes.all()] == [artifact.pk]
        assert (tmp_path / "elsewhere/plain/qrels/test.tsv").read_text() == "query-id"
        retired = IndexBuild.objects.filter(index="plain").exclude(pk=live.pk)
        assert {build.state for build in retired} == {"retired"}

    def test_keeps_what_people_have_written_here(self, emptied, settings):
        path = settings.STRATA_GOLDEN_DIR / "plain" / "qrels" / "test.tsv"
        path.write_text("mine")

        [note] = import_index(emptied).notes

        assert note == f"{path} differs from the file in the archive, and stays as it is."
        assert path.read_text() == "mine"

    def test_names_a_model_that_is_not_here(self, emptied, monkeypatch):
        def refuse(model: Any) -> str:
            raise StrataError("Its weights are missing.")

        monkeypatch.setattr("backup.importing.describe_model_availability", refuse)

        [note] = import_index(emptied).notes

        assert note.endswith(": Its weights are missing.")

    def test_refuses_an_index_with_documents(self, archive):
        with pytest.raises(InvalidInput, match="plain is not empty here"):
            import_index(archive)

        assert IndexBuild.objects.count() == 1

    def test_refuses_another_spec_and_changes_nothing(self, emptied, settings, tmp_path):
        shutil.copytree(settings.STRATA_SPECS_DIR, tmp_path / "specs")
        settings.STRATA_SPECS_DIR = tmp_path / "specs"
        (tmp_path / "specs" / "plain.yaml").write_text("title: Mine")

        with pytest.raises(InvalidInput, match="differs from the spec in the archive"):
            import_index(emptied)

        assert IndexBuild.objects.count() == 1
        assert (tmp_path / "specs" / "plain.yaml").read_text() == "title: Mine"

    def test_refuses_a_collection_of_another_index(self, emptied, settings, tmp_path):
        (tmp_path / "specs").mkdir()
        settings.STRATA_SPECS_DIR = tmp_path / "specs"
        (tmp_path / "specs" / "other.yaml").write_text(
            "collections: {chunk: plain.page_embeddings}"
        )

        with pytest.raises(InvalidSpec, match="give each index its own"):
            import_index(emptied)

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ({"release": "99.0.0"}, "written by a newer release, 99.0.0"),
            ({"migrations": ["documents.9999_later"]}, "whose database has other tables"),
            ({"format": 2}, "whose database has other tables"),
        ],
    )
    def test_refuses_what_another_release_wrote(self, emptied, values, said):
        describe(emptied, **values)

        with pytest.raises(InvalidInput, match=said):
            import_index(emptied)

    @pytest.mark.parametrize(
        "change",
        [
            drop("rows/indexing.node.jsonl.gz"),
            put("rows/indexing.node.jsonl.gz", b"other"),
            put("originals/more", b"another"),
        ],
    )
    def test_refuses_an_altered_archive(self, emptied, change):
        rewrite(emptied, change)

        with pytest.raises(InvalidInput, match="The archive is damaged: "):
            import_index(emptied)

        assert not Artifact.objects.exists()

    def test_writes_no_file_outside_its_folders(self, emptied, tmp_path):
        name = "golden/../../outside"
        rewrite(emptied, put(name, b"mine"))
        with zipfile.ZipFile(emptied) as file:
            hashes = json.loads(file.read(MANIFEST))["sha256"]
        describe(emptied, sha256=hashes | {name: hashlib.sha256(b"mine").hexdigest()})

        with pytest.raises(InvalidInput, match="which is no file of the index plain"):
            import_index(emptied)

        assert not list(tmp_path.parent.rglob("outside"))

    def test_refuses_an_archive_with_a_changed_or_missing_byte(self, emptied):
        content = emptied.read_bytes()
        damaged = [content[: len(content) * part // 10] for part in range(10)]
        with zipfile.ZipFile(emptied) as file:
            members = [member for member in file.infolist() if member.compress_size]
        for member in members:
            start = member.header_offset + zipfile.sizeFileHeader + len(member.filename)
            place = start + member.compress_size // 2
            damaged.append(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        assert len(damaged) > 30
        for each in damaged:
            emptied.write_bytes(each)
            with pytest.raises(InvalidInput):
                import_index(emptied)

    def test_refuses_what_is_no_file(self, db, tmp_path):
        said = "is not a complete archive of an index: No such file or directory."
        with pytest.raises(InvalidInput, match=said):
            import_index(tmp_path / "none.zip")

    def test_refuses_a_zip_of_something_else(self, db, tmp_path):
        with zipfile.ZipFile(tmp_path / "notes.zip", "w") as file:
            file.writestr("notes.md", "# Herons")

        with pytest.raises(InvalidInput, match=r"There is no item named 'manifest.json'.*archive."):
            import_index(tmp_path / "notes.zip")

    def test_refuses_a_backup(self, emptied):
        def remove_index(contents):
            manifest = json.loads(contents[MANIFEST])
            del manifest["index"]
            contents[MANIFEST] = json.dumps(manifest).encode()

        rewrite(emptied, remove_index)

        with pytest.raises(InvalidInput, match="This is a backup and no archive") as said:
            import_index(emptied)

        assert said.value.fix == "Load it with strata restore."


class TestRefusedExport:
    def test_of_an_unknown_index(self, build, tmp_path):
        with pytest.raises(UnknownIndex):
            export_index("nothing", tmp_path / "file.zip", Answering(build))

    def test_into_a_file_that_exists(self, build, tmp_path):
        (tmp_path / "file.zip").touch()

        with pytest.raises(InvalidInput, match="exists already"):
            export_index("plain", tmp_path / "file.zip", Answering(build))


def test_each_table_of_an_index_is_exported_or_left_out():
    tables = {
        model._meta.label_lower
        for model in apps.get_models()
        if model._meta.app_label in APPS_OF_INDEXES
    }

    exported = {*INDEX_TABLES, *list_exported_models()}

    assert tables == {model._meta.label_lower for model in exported} | LEFT_OUT


def test_an_import_has_what_was_read_anew(build, in_this_transaction, tmp_path, monkeypatch):
    document = add_file(OLD, "heron.txt")
    sync(build, document)
    NewerReader(monkeypatch)
    begun = lifecycle.apply_spec("plain", rereads=True)
    finish(begun)
    lifecycle.promote_build(begun)
    export_index("plain", tmp_path / "archive.zip", cast(ApiClient, Answering(begun)))
    Artifact.objects.all().delete()
    Node.objects.all().delete()
    IndexedDocument.objects.all().delete()

    import_index(tmp_path / "archive.zip")

    live = IndexBuild.objects.live().get(index="plain")
    assert verify_build(live).findings == {}
    assert [source.text for source in document.sources.all()] == [NEW]
