"""What each type of source must do, whatever it reads. A new type adds a ``World``."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.text import is_storable
from feeds.exceptions import EntryGone, EntryRefused, ListingRefused, SourceUnavailable
from feeds.protocol import SourceSettings
from feeds.types import BUILT_IN, get_type, list_types


@dataclass
class World:
    """A source that a test can change. ``write`` and ``delete`` take a path below it;
    ``break_it`` makes it unreadable as a whole."""

    source: SourceSettings
    write: Callable[[str, bytes], None]
    delete: Callable[[str], None]
    break_it: Callable[[], object]


def make_folder(path: Path, **settings) -> World:
    root = path / "root"
    root.mkdir()

    def write(name: str, content: bytes) -> None:
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    source = get_type("folder").model_validate({"type": "folder", "path": str(root), **settings})
    return World(
        source, write, lambda name: (root / name).unlink(), lambda: root.rename(path / "away")
    )


WORLDS = {"folder": make_folder}
assert WORLDS.keys() == BUILT_IN.keys(), "A type without a line here is not tested."


@pytest.fixture(params=WORLDS)
def make(request, tmp_path):
    return lambda **settings: WORLDS[request.param](tmp_path, **settings)


def read(source: SourceSettings) -> dict[str, bytes]:
    with source.open() as reader:
        return {each.path: b"".join(reader.fetch(each.id, "").chunks) for each in reader.list()}


def versions(source: SourceSettings) -> dict[str, str]:
    with source.open() as reader:
        return {each.id: each.version for each in reader.list()}


class TestEachType:
    def test_lists_and_fetches_everything(self, make):
        world = make()
        contents = {f"folder {n % 3}/note {n}.txt": f"Text {n}".encode() for n in range(40)}
        for path, content in contents.items():
            world.write(path, content)

        assert read(world.source) == contents

    def test_gives_the_same_ids_and_versions_again(self, make):
        world = make()
        world.write("a.txt", b"A")

        assert versions(world.source) == versions(world.source)

    def test_gives_another_version_to_what_changed_and_no_other(self, make):
        world = make()
        world.write("a.txt", b"A")
        world.write("b.txt", b"B")
        before = versions(world.source)
        world.write("b.txt", b"Changed.")

        after = versions(world.source)

        assert [id for id in before if before[id] != after[id]] == ["b.txt"]

    def test_does_not_fetch_what_has_the_known_version(self, make):
        world = make()
        world.write("a.txt", b"A")
        with world.source.open() as reader:
            [listed] = reader.list()
            version = reader.fetch(listed.id, "").version

            assert reader.fetch(listed.id, version) is None

    def test_follows_its_patterns(self, make):
        world = make(include=["docs/**", "*.md"], exclude=["**/draft*"])
        for path in ("docs/a.txt", "docs/b/draft.txt", "top.md", "top.txt", "other/x.md"):
            world.write(path, b"A")

        assert set(read(world.source)) == {"docs/a.txt", "top.md"}

    def test_says_that_one_is_gone(self, make):
        world = make()
        world.write("a.txt", b"A")
        world.write("b.txt", b"B")
        with world.source.open() as reader:
            listed = {each.path: each for each in reader.list()}
            world.delete("a.txt")

            with pytest.raises(EntryGone):
                list(reader.fetch(listed["a.txt"].id, "").chunks)

    def test_raises_an_error_if_it_cannot_be_read(self, make):
        world = make()
        world.write("a.txt", b"A")
        world.break_it()

        with pytest.raises(SourceUnavailable), world.source.open() as reader:
            list(reader.list())

    def test_can_be_stored(self, make):
        source = make(every="90s", groups={"hr/**": ["hr"]}).source

        stored = source.model_dump(mode="json", exclude_defaults=True)

        assert type(source).model_validate(stored) == source
        assert stored["every"] == "90s"


class TestFolder:
    def test_follows_no_link_out_of_it(self, tmp_path):
        world = make_folder(tmp_path)
        world.write("a.txt", b"A")
        (tmp_path / "secret.txt").write_bytes(b"Secret.")
        root = Path(world.source.path)
        (root / "link.txt").symlink_to(tmp_path / "secret.txt")
        (root / "inside.txt").symlink_to(root / "a.txt")
        (root / "folder").symlink_to(tmp_path)
        (root / "nothing").symlink_to(root / "missing")

        assert read(world.source) == {"a.txt": b"A", "inside.txt": b"A"}

    def test_fetches_nothing_that_has_become_a_link_out_of_it(self, tmp_path):
        world = make_folder(tmp_path)
        world.write("a.txt", b"A")
        (tmp_path / "secret.txt").write_bytes(b"Secret.")
        with world.source.open() as reader:
            [listed] = reader.list()
            world.delete("a.txt")
            (Path(world.source.path) / "a.txt").symlink_to(tmp_path / "secret.txt")

            with pytest.raises(Exception, match="symbolic link out of the folder"):
                reader.fetch(listed.id, "")

    def test_leaves_hidden_files_out(self, tmp_path):
        world = make_folder(tmp_path)
        for path in (".git/config", "a/.hidden", "b.txt"):
            world.write(path, b"A")

        assert set(read(world.source)) == {"b.txt"}

    def test_reads_files_whose_names_are_no_text(self, tmp_path):
        world = make_folder(tmp_path)
        world.write(os.fsdecode(b"caf\xe9.txt"), b"A")

        assert list(read(world.source).values()) == [b"A"]

    def test_does_not_take_a_file_that_changes_while_it_is_read(self, tmp_path):
        world = make_folder(tmp_path)
        world.write("a.txt", b"x" * 3_000_000)
        with world.source.open() as reader:
            [listed] = reader.list()
            chunks = reader.fetch(listed.id, "").chunks
            next(chunks)
            world.write("a.txt", b"Other.")

            with pytest.raises(EntryRefused, match="changed while it was read"):
                list(chunks)

    def test_lists_the_others_if_one_is_deleted_meanwhile(self, tmp_path):
        world = make_folder(tmp_path)
        for number in range(4):
            world.write(f"notes/{number}.txt", b"A")
        with world.source.open() as reader:
            listing = reader.list()
            next(listing)
            names = [each.name for each in os.scandir(Path(world.source.path) / "notes")]
            world.delete(f"notes/{names[1]}")

            assert {each.id for each in listing} == {f"notes/{name}" for name in names[2:]}

    def test_raises_an_error_if_it_goes_away_while_it_is_listed(self, tmp_path):
        """Such as a disk that is unmounted."""
        world = make_folder(tmp_path)
        world.write("a/1.txt", b"A")
        world.write("b/2.txt", b"B")
        with world.source.open() as reader:
            listing = reader.list()
            next(listing)
            world.break_it()
            Path(world.source.path).mkdir()

            with pytest.raises(SourceUnavailable, match="went away"):
                list(listing)

    def test_never_reads_the_data_folder_of_strata(self, tmp_path, settings):
        world = make_folder(tmp_path)
        world.write("var/secret-key", b"Secret.")
        world.write("a.txt", b"A")
        root = Path(world.source.path)
        (root / "link.txt").symlink_to(root / "var" / "secret-key")
        settings.STRATA_DATA_DIR = root / "var"

        assert read(world.source) == {"a.txt": b"A"}

        settings.STRATA_DATA_DIR = tmp_path
        with pytest.raises(ListingRefused, match="data folder"), world.source.open():
            pass

    def test_tells_a_name_from_the_id_of_one_that_is_no_text(self, tmp_path):
        world = make_folder(tmp_path, exclude=["b.txt"])
        world.write("bytes:b.txt", b"A")
        world.write("b.txt", b"Excluded.")

        assert list(read(world.source).values()) == [b"A"]

    def test_does_not_wait_for_the_writer_of_a_pipe(self, tmp_path):
        world = make_folder(tmp_path)
        world.write("a.txt", b"A")
        with world.source.open() as reader:
            [listed] = reader.list()
            world.delete("a.txt")
            os.mkfifo(Path(world.source.path) / "a.txt")

            with pytest.raises(EntryGone):
                reader.fetch(listed.id, "")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
    @pytest.mark.parametrize("name", ["closed", os.fsdecode(b"\xe9closed")])
    def test_raises_an_error_if_a_folder_in_it_cannot_be_read(self, tmp_path, name):
        world = make_folder(tmp_path)
        world.write(f"{name}/a.txt", b"A")
        (Path(world.source.path) / name).chmod(0)

        with pytest.raises(SourceUnavailable, match="closed/ cannot be read") as refused:
            versions(world.source)
        assert is_storable(str(refused.value))


def test_a_type_that_cannot_be_imported_is_refused(monkeypatch):
    monkeypatch.setitem(BUILT_IN, "broken", "no_such_package.BrokenSource")
    list_types.cache_clear()
    try:
        with pytest.raises(ValueError, match="'broken' cannot be loaded: No module"):
            get_type("broken")
    finally:
        list_types.cache_clear()
