"""What a spec or pipeline says is read and used within bounds."""

import json

import pytest

from answers.exceptions import InvalidPipeline
from answers.pipelines.declaring import parse_declaration
from answers.pipelines.identifier_lookup import IdentifierLookup
from answers.questions.identifiers import find_identifiers
from evaluation.management.commands.measure_thresholds import _read_questions
from indexing.embedding.huggingface_model import load_huggingface
from indexing.exceptions import InvalidSpec
from indexing.spec import (
    EmbeddingSpec,
    IdentifierSpec,
    ToolSpec,
    dump_recipe,
    parse_spec,
    read_stored_spec,
)
from indexing.spec.sections import STORED
from tests.written import make_build

ENDLESS = "(?:(?:aaa?){1,100}){1,100}c"  # doubles with each letter of a text
TEXT = "a" * 2_000 + " c"
LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{after}: &{after} [{','.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefg", "bcdefgh", strict=True)
)


class TestYaml:
    def test_is_refused_with_aliases_before_they_multiply(self):
        with pytest.raises(InvalidSpec, match=r"^x\.yaml must not use aliases: .+ \*a .+\(line 2"):
            parse_spec("x", LAUGHS)
        with pytest.raises(InvalidPipeline, match=r"^x\.yaml must not use aliases"):
            parse_declaration("x", LAUGHS)

    def test_is_refused_in_a_file_of_questions_too(self, tmp_path):
        file = tmp_path / "questions.yaml"
        file.write_text(LAUGHS)

        with pytest.raises(Exception, match=r"questions\.yaml must not use aliases"):
            _read_questions(file)

    @pytest.mark.parametrize(
        "value",
        [
            "9" * 5_000, "2020-99-99", "2020-01-01T00:00:00+99:99", "1" + ":59" * 400 + ".5",
            "!!timestamp x", "!!int x", "!!float x", "!!bool x", "!!int ''", r'"\ud800"', r'"\0"',
        ],
    )  # fmt: skip
    def test_is_refused_with_a_value_that_cannot_be_read(self, value):
        with pytest.raises(InvalidSpec, match=r"^x\.yaml is not YAML: .+ is no valid \w+"):
            parse_spec("x", f"title: {value}")

    @pytest.mark.parametrize("text", ["title: a\ntitle: b", "search: {k: 1, weights: 2, k: 3}"])
    def test_is_refused_with_a_setting_given_twice(self, text):
        with pytest.raises(InvalidSpec, match=r"gives .(title|k). twice \(first on line 1"):
            parse_spec("x", text)

    def test_is_refused_when_it_is_too_long(self):
        with pytest.raises(InvalidSpec, match=r"^x\.yaml is longer than 500,000 characters\.$"):
            parse_spec("x", "title: x\n" + "# a\n" * 125_000)

    def test_is_refused_when_nested_too_deeply(self):
        with pytest.raises(InvalidSpec, match=r"^x\.yaml is nested too deeply\.$"):
            parse_spec("x", "title: " + "[" * 100 + "]" * 100)


class TestIdentifiers:
    @pytest.mark.parametrize("pattern", [ENDLESS, "(?R)?a"])
    def test_are_refused_if_their_pattern_takes_too_long(self, pattern):
        with pytest.raises(InvalidSpec, match=r"identifiers\.doi\.pattern: the expression takes"):
            parse_spec("x", f"identifiers: {{doi: {{pattern: '{pattern}'}}}}")

    @pytest.mark.parametrize(
        ("pattern", "said"),
        [
            ("a" * 1_001, "is longer than 1,000 characters"),
            ("(", "is not a valid regular expression"),
            ("a*", "matches an empty string"),
        ],
    )
    def test_are_refused_with_a_reason(self, pattern, said):
        with pytest.raises(InvalidSpec, match=rf"identifiers\.doi\.pattern: the expression {said}"):
            parse_spec("x", f"identifiers: {{doi: {{pattern: '{pattern}'}}}}")

    def test_of_an_earlier_release_are_given_up_and_others_are_found(self):
        identifiers = {
            "slow": IdentifierSpec.model_validate({"pattern": ENDLESS}, context=STORED),
            "wrong": IdentifierSpec.model_validate({"pattern": "("}, context=STORED),
            "letter": IdentifierSpec(pattern="c"),
        }

        found, unfinished = find_identifiers(identifiers, TEXT)

        assert [each.text for each in found] == ["c"]
        assert unfinished == ["slow", "wrong"]

    def test_that_once_held_the_interpreter_are_found_at_once(self):
        assert find_identifiers({"x": IdentifierSpec(pattern="(a+)+b")}, "a" * 2_000 + " ab") == (
            [("ab", "external_id", 2_001, 2_003)],
            [],
        )

    @pytest.mark.django_db
    def test_that_take_too_long_are_named_in_the_answer(self):
        build = make_build("notes", identifiers={"letter": {"pattern": "c"}})
        settings = build.index.search_settings
        settings.content["identifiers"]["letter"]["pattern"] = ENDLESS
        settings.save()

        notes = IdentifierLookup().run(index="notes", query=TEXT)["notes"]

        assert notes == [
            "The pattern of letter takes too long on this question and was not applied."
        ]


class TestToolQueries:
    @pytest.mark.parametrize(
        "query",
        ["{x:>4000000000}", "{x!r}", "{x.upper}", "{x[0]}", "{y}", "{0}", "{}", "{x", "{x:{x}}"],
    )
    def test_name_parameters_and_no_formats(self, query):
        with pytest.raises(InvalidSpec, match=r"query may name only the tool's parameters: \{x\}"):
            parse_spec(
                "x", f"tools: {{t: {{description: d, query: '{query}', parameters: {{x: {{}}}}}}}}"
            )

    def test_of_an_earlier_release_are_filled_without_formats(self):
        content = {"description": "d", "query": "{{{x:>40}}} {x.upper}", "parameters": {"x": {}}}

        tool = ToolSpec.model_validate(content, context=STORED)

        assert tool.fill_query({"x": "{x}"}) == "{{x}} "


class TestModelNames:
    @pytest.mark.parametrize(
        "name", ["../secrets", "/etc", "a/../b", "a//b", ".hidden", "a/", "", "a b", "a\\b", "~/m"]
    )
    def test_are_no_paths(self, name):
        for section in ("embedding", "images"):
            with pytest.raises(InvalidSpec, match=rf"{section}\.model: give a model's name"):
                parse_spec("x", f"{section}: {{model: '{name}'}}")

    @pytest.mark.parametrize(
        "name",
        ["all-MiniLM-L6-v2", "BAAI/bge-small-en-v1.5", "nomic-embed-text:v1.5", "@cf/baai/bge-m3",
         "accounts/fireworks/models/x", "text-embedding-3-small"],
    )  # fmt: skip
    def test_may_have_an_owner_and_a_tag(self, name):
        assert EmbeddingSpec(model=name).model == name

    def test_of_an_earlier_release_are_read_but_not_loaded(self):
        spec = parse_spec("x", "embedding: {provider: huggingface}")
        recipe = dump_recipe(spec)
        recipe["embedding"]["model"] = "../secrets"

        stored = read_stored_spec(json.dumps(recipe), None)

        with pytest.raises(InvalidSpec, match=r"embedding\.model: give a model's name"):
            load_huggingface(stored.embedding)
