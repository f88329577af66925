"""The section ``sources`` of a spec."""

import json
from datetime import timedelta

import pytest

from feeds.spec import SourcesSection, read_stored_source
from feeds.types.folder import FolderSource
from indexing.exceptions import InvalidSpec
from indexing.spec import dump_recipe, dump_search_settings, parse_spec, read_stored_spec
from indexing.spec.loaded import write_spec_text

NOTES = "sources: {notes: {type: folder, path: /srv/notes, every: 5m}}"


def read(text: str) -> SourcesSection:
    section = SourcesSection.of(parse_spec("plain", text))
    assert section is not None
    return section


class TestSection:
    def test_names_each_source_with_its_settings(self):
        source = read(NOTES).by_name["notes"]

        assert isinstance(source, FolderSource)
        assert (source.path, source.every) == ("/srv/notes", timedelta(minutes=5))
        assert source.includes("a/b.md")

    def test_belongs_to_the_index_and_not_to_the_recipe(self):
        with_sources, without = parse_spec("plain", NOTES), parse_spec("plain", "")

        assert with_sources.fingerprint == without.fingerprint
        stored = dump_search_settings(with_sources)["sources"]
        assert stored == {"notes": {"type": "folder", "path": "/srv/notes", "every": "5m"}}
        assert read_stored_source(stored["notes"]) == read(NOTES).by_name["notes"]

    def test_of_a_newer_release_is_read_without_what_is_not_known(self):
        stored = {"type": "folder", "path": "/srv", "colour": "blue"}

        assert read_stored_source(stored).place == "/srv"

    def test_stored_with_a_type_that_is_gone_leaves_the_index_readable(self):
        spec = parse_spec("plain", NOTES)
        settings = dump_search_settings(spec)
        settings["sources"]["wiki"] = {"type": "vanished"}

        stored = read_stored_spec(json.dumps(dump_recipe(spec)), json.dumps(settings))

        assert list(SourcesSection.of(stored).by_name) == ["notes"]

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("sources: {}", "sources: name each source and its type"),
            ("sources: true", "sources: name each source and its type"),
            ("sources: {Notes: {type: folder}}", "sources.Notes: the name must be a lowercase"),
            ("sources: {notes: /srv}", "sources.notes: give the settings of the source"),
            ("sources: {notes: {path: /srv}}", "sources.notes.type: there is no type ''; allowed"),
            ("sources: {notes: {type: ftp}}", "sources.notes.type: there is no type 'ftp'"),
            ("sources: {notes: {type: folder}}", "sources.notes.path: Field required"),
            (
                "sources: {notes: {type: folder, path: notes}}",
                "sources.notes.path: 'notes' is no whole path",
            ),
            (
                "sources: {notes: {type: folder, path: /srv, evry: 5m}}",
                "sources.notes.evry: there is no such setting; allowed here: type, every, include",
            ),
            (
                "sources: {notes: {type: folder, path: /srv, every: 5 minutes}}",
                "sources.notes.every: '5 minutes' is no period from 10s to 366d",
            ),
            (
                "sources: {notes: {type: folder, path: /srv, include: [/a]}}",
                "sources.notes.include: '/a' is no pattern of paths below the source",
            ),
            (
                "sources: {notes: {type: folder, path: /srv, path_fields: '{Client}/**'}}",
                "sources.notes.path_fields: '{Client}' names no field",
            ),
            (
                "sources: {notes: {type: folder, path: /srv, path_fields: 'a/**'}}",
                "sources.notes.path_fields: name each field of a path once",
            ),
        ],
    )
    def test_that_is_wrong_is_refused_with_the_place(self, text, problem):
        with pytest.raises(InvalidSpec) as caught:
            parse_spec("plain", text)

        assert str(caught.value).startswith(f"plain.yaml: {problem}")

    def test_says_the_line_of_a_mistake(self):
        text = "title: Plain\nsources:\n  notes:\n    type: folder\n    path: notes\n"

        with pytest.raises(InvalidSpec, match=r"\(line 5\)"):
            parse_spec("plain", text)


class TestWriting:
    def test_over_the_service_cannot_name_what_is_read(self, settings, tmp_path):
        settings.STRATA_SPECS_DIR, settings.STRATA_EDIT_SPECS = tmp_path, True

        with pytest.raises(InvalidSpec, match="only be named or changed in the file itself"):
            write_spec_text("notes", NOTES, replaces=None)

    def test_over_the_service_keeps_what_the_file_names(self, settings, tmp_path):
        settings.STRATA_SPECS_DIR, settings.STRATA_EDIT_SPECS = tmp_path, True
        (tmp_path / "notes.yaml").write_text(NOTES)

        write_spec_text("notes", f"title: Notes\n{NOTES}", replaces=NOTES)

        assert "title" in (tmp_path / "notes.yaml").read_text()
