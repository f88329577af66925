"""The demo's library equals what its scripts write, and every reader can read it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.make_library import LIBRARY, WRITERS, write_library
from documents.parsing import Limits, ParsedDocument, close_child_processes, parse_file

# Each file with its pages, and facts that are on one of these pages and nowhere else.
FACTS = {
    "a-light-on-orrin-skerry.pdf": (8, {2: "fourteen months", 5: "fifty-two hours"}),
    "reading-the-tide.pptx": (7, {2: "Assistant Surveyor", 6: "Ines Okafor"}),
    "lens-conservation-report.docx": (7, {4: "5 | 27 | Three prisms cracked", 6: "38,400 crowns"}),
    "garden-and-birds.html": (1, {0: "Eider | 33 | 57"}),
    "keepers-handbook.md": (4, {1: "48.5 volts", 2: "fifty-five minutes"}),
    "gauge-and-weather.xlsx": (3, {0: "Bolt levelled on the 24th", 2: "tin with the swan"}),
}


@pytest.fixture(scope="module")
def library() -> Iterator[dict[str, ParsedDocument]]:
    yield read_folder(LIBRARY)
    close_child_processes()


def read_folder(folder: Path) -> dict[str, ParsedDocument]:
    limits = Limits.from_settings()
    return {
        path.name: parse_file(path, file_name=path.name, limits=limits)
        for path in sorted(folder.iterdir())
    }


class TestLibrary:
    def test_contains_each_format_and_is_small(self) -> None:
        paths = list(LIBRARY.iterdir())

        assert {path.name for path in paths} == set(FACTS)
        assert sum(path.stat().st_size for path in paths) < 300_000  # bytes

    @pytest.mark.parametrize("name", FACTS)
    def test_is_read_page_by_page_without_a_warning(
        self, name: str, library: dict[str, ParsedDocument]
    ) -> None:
        document = library[name]

        assert len(document.pages) == FACTS[name][0]
        assert bool(document.title) == (name != "keepers-handbook.md")  # several top headings
        assert not document.warnings
        assert all(page.text.strip() for page in document.pages)

    @pytest.mark.parametrize("name", FACTS)
    def test_has_facts_that_are_on_one_page_only(
        self, name: str, library: dict[str, ParsedDocument]
    ) -> None:
        for index, fact in FACTS[name][1].items():
            found = [
                (other, at)
                for other, document in library.items()
                for at, page in enumerate(document.pages)
                if fact in " ".join(page.text.split())
            ]

            assert found == [(name, index)], fact

    def test_equals_the_output_of_its_scripts(
        self, library: dict[str, ParsedDocument], tmp_path: Path
    ) -> None:
        pytest.importorskip("reportlab")

        write_library(tmp_path)

        assert read_folder(tmp_path) == {name: library[name] for name in sorted(WRITERS)}

    def test_is_written_identically_each_time(self, tmp_path: Path) -> None:
        pytest.importorskip("reportlab")

        write_library(tmp_path / "first")
        write_library(tmp_path / "second")

        for name in WRITERS:
            first, second = (tmp_path / order / name for order in ("first", "second"))
            assert first.read_bytes() == second.read_bytes(), name
