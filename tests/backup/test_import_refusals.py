"""What an import refuses: rows and files of another index, and rows that are no rows. A refusal
leaves the installation as it was."""

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest

from backup.exporting import export_index
from backup.importing import import_index
from backup.taking import MANIFEST
from concepts.quotes import add_quote
from concepts.services import create_concept
from core.api_client import ApiClient
from core.exceptions import InvalidInput
from documents.models import Artifact, Page
from indexing.exceptions import UnreadableRecipe
from indexing.models import Index, IndexBuild, Node
from tests.backup.test_backup import Answering
from tests.backup.test_export import drop, in_this_transaction, put, rewrite  # noqa: F401
from tests.factories import give, load_index, sync

pytestmark = pytest.mark.usefixtures("in_this_transaction")

Row = dict[str, Any]


@pytest.fixture
def archive(db, store, embedder, settings, tmp_path) -> Path:
    """An archive of the index, which is no longer here; another one is, with a document."""
    settings.STRATA_SPECS_DIR = tmp_path / "specs"
    settings.STRATA_SPECS_DIR.mkdir()
    for name in ("mine", "other"):
        (settings.STRATA_SPECS_DIR / f"{name}.yaml").write_text("concepts: true")
    build = load_index("mine")
    document = give("Spring tides follow the new moon.", index="mine")
    concept = create_concept("mine", "Tide")
    sync(build, document)
    add_quote(concept.pk, "Spring tides", artifact_id=document.pk)
    export_index("mine", tmp_path / "mine.zip", cast(ApiClient, Answering(build)))
    document.delete()
    concept.delete()
    build.nodes.all().delete()
    Index.objects.all().delete()
    (settings.STRATA_SPECS_DIR / "mine.yaml").unlink()
    load_index("other")
    return tmp_path / "mine.zip"


@pytest.fixture
def foreign(archive) -> Artifact:
    return give("Herons wait.", index="other")


def change_rows(archive: Path, table: str, change: Callable[[Row], object]) -> None:
    def edit(contents: dict[str, bytes]) -> None:
        name = f"rows/{table}.jsonl.gz"
        names, *lines = map(json.loads, gzip.decompress(contents[name]).splitlines())
        rows = [dict(zip(names, line, strict=True)) for line in lines]
        assert rows
        for row in rows:
            change(row)
        written = [[*rows[0]], *([*row.values()] for row in rows)]
        contents[name] = gzip.compress("\n".join(map(json.dumps, written)).encode())

    rewrite(archive, edit)
    seal(archive)


def seal(archive: Path, **values: Any) -> None:
    """Give the archive a manifest that fits its files."""

    def edit(contents: dict[str, bytes]) -> None:
        manifest = json.loads(contents.pop(MANIFEST)) | values
        manifest["sha256"] = {
            name: hashlib.sha256(content).hexdigest() for name, content in contents.items()
        }
        contents[MANIFEST] = json.dumps(manifest).encode()

    rewrite(archive, edit)


def read_state(folder: Path) -> Any:
    models = (Index, IndexBuild, Artifact, Page, Node)
    files = sorted(path.name for path in folder.rglob("*") if "models" not in path.parts)
    return [list(model._base_manager.order_by("pk").values()) for model in models], files


@pytest.fixture
def is_refused(archive, tmp_path, settings) -> Any:
    settings.STRATA_FILES_DIR = tmp_path / "files"
    settings.STRATA_FILES_DIR.mkdir()

    def check(match: str, error: type[Exception] = InvalidInput) -> None:
        before = read_state(tmp_path)
        with pytest.raises(error, match=match):
            import_index(archive)
        assert read_state(tmp_path) == before

    return check


def test_the_archive_is_imported_as_it_is(archive):
    imported = import_index(archive)

    assert (imported.documents, imported.nodes_to_embed, imported.notes) == (1, 0, [])
    assert Index.objects.get(pk="mine").live_build is not None


class TestRowsOfAnotherIndex:
    @pytest.mark.parametrize("table", ["documents.artifact", "concepts.concept"])
    def test_are_refused(self, archive, is_refused, table):
        change_rows(archive, table, lambda row: row.update(index="other"))

        is_refused(rf"rows of {table} that are not of the index mine")

    @pytest.mark.parametrize(
        ("table", "column"),
        [
            ("documents.page", "artifact_id"),
            ("documents.source", "artifact_id"),
            ("documents.artifact", "part_of_id"),
            ("concepts.instance", "artifact_id"),
            ("indexing.node", "artifact_id"),
            ("indexing.indexeddocument", "artifact_id"),
        ],
    )
    def test_are_not_referred_to(self, archive, foreign, is_refused, table, column):
        # The places of another document's pages and sources are taken.
        places = {"documents.page": {"index": 9}, "documents.source": {"ordinal": 9}}
        values = {column: str(foreign.pk), **places.get(table, {})}
        change_rows(archive, table, lambda row: row.update(values))

        is_refused("that are not of the index mine")

    def test_are_not_referred_to_by_a_page_of_theirs(self, archive, foreign, is_refused):
        page = foreign.pages.get()
        change_rows(archive, "documents.source", lambda row: row.update(page_id=str(page.pk)))

        is_refused("rows of documents.source that are not of the index mine")

    def test_are_not_replaced_by_rows_of_the_same_id(self, archive, foreign, is_refused):
        change_rows(archive, "documents.artifact", lambda row: row.update(id=str(foreign.pk)))

        is_refused("does not hold an index that can be stored here")

    def test_are_not_taken_by_a_recipe_of_the_other_name(self, archive, is_refused):
        change_rows(archive, "indexing.indexbuild", lambda row: row["recipe"].update(name="other"))

        is_refused("its rows are not those of the index mine")


class TestRowsThatAreNone:
    @pytest.mark.parametrize(
        ("table", "change", "said"),
        [
            ("documents.page", lambda row: row.update(colour="red"), "they differ by 'colour'"),
            ("documents.page", lambda row: row.pop("label"), "they differ by 'label'"),
            ("documents.page", lambda row: row.update(index="first"), "must be an integer"),
            ("documents.page", lambda row: row.update(text=None), "text"),
            ("documents.page", lambda row: row.update(id="7"), "is not a valid UUID"),
            ("documents.page", lambda row: row.update(artifact_id=str(uuid4())), "of the index"),
            ("indexing.indexbuild", lambda row: row.pop("recipe"), "it lacks 'recipe'"),
            ("indexing.indexbuild", lambda row: row.update(recipe=[]), "can be stored here"),
            ("indexing.index", lambda row: row.update(name="third"), "not those of the index mine"),
        ],
    )  # fmt: skip
    def test_are_refused_with_a_sentence(self, archive, is_refused, table, change, said):
        change_rows(archive, table, change)

        is_refused(said)

    def test_are_refused_where_the_recipe_is_of_no_release(self, archive, is_refused):
        change_rows(archive, "indexing.indexbuild", lambda row: row["recipe"].update(chunks=7))

        is_refused("cannot read it", UnreadableRecipe)

    def test_are_refused_where_a_table_is_missing(self, archive, is_refused):
        rewrite(archive, drop("rows/documents.page.jsonl.gz"))
        seal(archive)

        is_refused("can be stored here")

    @pytest.mark.parametrize("name", ["../other", "", 7])
    def test_are_refused_of_an_index_whose_name_is_none(self, archive, is_refused, name):
        seal(archive, index=name)

        is_refused("can be stored here")


class TestVectors:
    @pytest.mark.parametrize("vector", ["AAAA", "AACAfw==" * 96, "é", 7])
    def test_of_no_model_are_refused(self, archive, is_refused, vector):
        def edit(contents: dict[str, bytes]) -> None:
            [name] = [name for name in contents if name.startswith("vectors/")]
            lines = map(json.loads, contents[name].splitlines())
            contents[name] = b"\n".join(json.dumps([pk, vector]).encode() for pk, _ in lines)

        rewrite(archive, edit)
        seal(archive)

        is_refused("can be stored here")


class TestFiles:
    @pytest.mark.parametrize(
        "name",
        [
            "specs/third.yaml",
            "specs/../third.yaml",
            "golden/third/queries.tsv",
            "golden/mine/../third/queries.tsv",
            "prompts/answer.txt",
        ],
    )
    def test_of_another_index_are_refused(self, archive, is_refused, name):
        rewrite(archive, put(name, b"title: Third"))
        seal(archive)

        is_refused(f"{name}, which is no file of the index mine")

    def test_that_cannot_be_written_leave_none(self, archive, is_refused, settings, tmp_path):
        rewrite(archive, put("golden/mine/queries.tsv", b"query-id"))
        seal(archive)
        settings.STRATA_GOLDEN_DIR = tmp_path / "mine.zip"  # no folder

        is_refused("cannot be written")

    def test_say_whether_searches_need_a_key_and_the_rows_do_not(self, archive):
        change_rows(archive, "indexing.index", lambda row: row.update(is_public=True))

        assert import_index(archive).notes == []
        assert not Index.objects.get(pk="mine").is_public

    def test_of_a_public_spec_are_named(self, archive):
        rewrite(archive, put("specs/mine.yaml", b"public: true\nconcepts: true"))
        seal(archive)

        assert import_index(archive).notes == [
            "Searches of mine need no key, because its spec is public."
        ]

    def test_that_read_folders_are_named(self, archive):
        text = b"concepts: true\nsources: {notes: {type: folder, path: /srv/notes}}"
        rewrite(archive, put("specs/mine.yaml", text))
        seal(archive)

        assert import_index(archive).notes == [
            "The spec of mine names what is read on this machine or by its network: "
            '{"notes":{"type":"folder","path":"/srv/notes"}}.'
        ]


def test_a_refusal_leaves_an_index_that_was_here_as_it_was(archive, is_refused, settings):
    (settings.STRATA_SPECS_DIR / "mine.yaml").write_text("concepts: true")
    load_index("mine")
    change_rows(archive, "documents.page", lambda row: row.update(index="first"))

    is_refused("must be an integer")


def test_the_archive_of_a_missing_hash_writes_no_original(archive, is_refused):
    change_rows(archive, "documents.artifact", lambda row: row.update(has_file=True, sha256="x"))

    is_refused("holds no SHA-256 of its file")
