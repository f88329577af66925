import json
import logging
from pathlib import Path

import pytest
from django.conf import settings

from indexing.exceptions import UnreadableRecipe
from indexing.spec import (
    IndexSpec,
    dump_recipe,
    dump_search_settings,
    parse_spec,
    read_stored_spec,
)

EVERY_SPEC = {
    path.stem: parse_spec(path.stem, path.read_text(encoding="utf-8"))
    for path in (Path(settings.BASE_DIR) / "specs").glob("*.yaml")
}
SPOKEN_OF = """
questions: true
concepts: {extract: true}
metadata: {year: {type: integer, said_as: year, description: Of publication}}
"""


def store(spec: IndexSpec, **changes) -> str:
    return json.dumps(dump_recipe(spec) | changes)


def read(built_by: str, searched_by: str) -> IndexSpec:
    """Read a build of one spec in an index with the search settings of another."""
    settings = dump_search_settings(parse_spec("some", searched_by))
    return read_stored_spec(store(parse_spec("some", built_by)), json.dumps(settings))


class TestFingerprint:
    @pytest.mark.parametrize(
        ("text", "fingerprint"),
        [
            ("", "43b4d33170c414b7f205a823ea5aa0537b60ddaa0dcdde1c6476d5d996c40b82"),
            (SPOKEN_OF, "4bb06813e34156be14d6202dbd27d5fbd4fb88121d90e4cf8cad264557e0f2ce"),
        ],
    )
    def test_is_that_of_the_release(self, text, fingerprint):
        assert parse_spec("plain", text).fingerprint == fingerprint

    def test_of_release_0_2_0_is_that_of_a_spec_with_its_defaults(self):
        recipe = dump_recipe(parse_spec("plain", "")) | {"version": 1}
        recipe["chunks"] = {"strategies": recipe["chunks"]["strategies"], "context": ["title"]}
        recipe["sparse"].pop("word_rules")
        same = parse_spec(
            "plain",
            "chunks: {context: [title], context_weight: null}\nsparse: {word_rules: 1}",
        )

        assert read_stored_spec(json.dumps(recipe), None).fingerprint == same.fingerprint

    def test_keeps_rules_of_words_that_are_not_the_default(self):
        spec = parse_spec("plain", "sparse: {word_rules: 1}")

        stored = read_stored_spec(json.dumps(dump_recipe(spec)), None)

        assert stored.sparse.word_rules == 1

    def test_does_not_depend_on_how_duplicates_of_findings_are_found(self):
        by_words, by_similarity = "evidence: true", "evidence: {duplicates: similarity}"

        changed = read(by_words, by_similarity)

        assert changed.evidence.duplicates == "similarity"
        assert changed.fingerprint == parse_spec("some", by_words).fingerprint

    def test_is_the_same_after_storing(self):
        spec = parse_spec("some", SPOKEN_OF)

        assert read_stored_spec(store(spec), None).fingerprint == spec.fingerprint


SYNONYMS = """
metadata:
  muscles: {type: keyword, values: {neck: {group: spine, synonyms: [%s]}, core: {}}}
"""


class TestSynonyms:
    def test_belong_to_the_search_settings(self):
        built_by, searched_by = SYNONYMS % "nape", SYNONYMS % "cervical, nape"

        spec = read(built_by, searched_by)

        assert (
            spec.metadata["muscles"].values
            == parse_spec("some", searched_by).metadata["muscles"].values
        )
        assert spec.fingerprint == parse_spec("some", built_by).fingerprint


class TestReadStoredSpec:
    @pytest.mark.parametrize("name", EVERY_SPEC)
    def test_returns_the_stored_spec(self, name):
        spec = EVERY_SPEC[name]

        assert read_stored_spec(store(spec), json.dumps(dump_search_settings(spec))) == spec

    def test_ignores_settings_of_a_newer_release_with_one_warning(self, caplog):
        spec = parse_spec("some", "title: Some\ntools: {ask: {description: a, parameters: {}, "
                          "query: q}}\n")  # fmt: skip
        recipe = dump_recipe(spec) | {"version": 99, "audio": {"model": "whisper"}}
        recipe["chunks"]["strategies"][0]["overlap"] = 20
        search_settings = dump_search_settings(spec) | {"version": 99, "colour": "red"}
        search_settings["search"]["decay"] = 0.5
        search_settings["tools"]["ask"]["examples"] = []

        with caplog.at_level(logging.WARNING):
            read = [
                read_stored_spec(json.dumps(recipe), json.dumps(search_settings)) for _ in range(2)
            ]

        assert read == [spec, spec]
        [message] = caplog.messages
        assert "some" in message
        for key in ("audio", "chunks.strategies.0.sentence.overlap", "search.decay"):
            assert key in message

    @pytest.mark.parametrize(
        ("changes", "where"),
        [
            ({"embedding": {"provider": "telepathy"}}, "embedding.provider"),
            ({"chunks": {"strategies": [{"name": "propositions"}]}}, "chunks.strategies"),
            ({"metadata": {"place": {"type": "point"}}}, "metadata.place.type"),
        ],
    )
    def test_refuses_an_unknown_value(self, changes, where):
        with pytest.raises(UnreadableRecipe, match=f"some.*{where}"):
            read_stored_spec(store(parse_spec("some", ""), version=99, **changes), None)


class TestSettingsForALaterRecipe:
    def test_keep_a_tool_that_cannot_be_called_yet(self):
        tool = "tools: {ask: {description: a, parameters: {%s}, query: q, search: questions}}\n"

        without_kind = read("", "questions: true\n" + tool % "")
        without_field = read(
            "questions: true",
            "questions: true\nmetadata: {year: {type: integer}}\n" + tool % "y: {field: year}",
        )

        assert "holds no questions" in without_kind.find_tool_problem("ask")
        assert "'year' is not declared" in without_field.find_tool_problem("ask")

    def test_leave_out_identifiers_of_an_undeclared_field(self):
        spec = read(
            "",
            "metadata: {doi: {type: keyword}}\n"
            "identifiers: {doi: {pattern: x+, field: doi}, name: {pattern: y+}}\n",
        )

        assert set(spec.identifiers) == {"name"}

    def test_disable_evidence_if_no_chunks_are_embedded(self):
        assert read("chunks: {embed: false}\nquestions: true", "evidence: true").evidence is None

    def test_ignore_missing_fields_and_fields_of_another_type(self):
        spec = read(
            "metadata: {year: {type: keyword}, place: {type: keyword}}",
            "metadata: {year: {type: integer, said_as: year, description: When}, "
            "author: {type: keyword, said_as: person}}",
        )

        assert set(spec.metadata) == {"year", "place"}
        assert spec.metadata["year"].said_as is None
        assert spec.metadata["year"].description == "When"

    def test_configure_concepts_only_if_the_recipe_has_them(self):
        searched_by = "concepts: {extract: true, per_source: 9}"

        assert read("", searched_by).concepts is None
        assert read("concepts: true", searched_by).concepts.per_source == 9
        assert read("concepts: true", "").concepts is not None
