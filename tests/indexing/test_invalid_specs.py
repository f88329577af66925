"""A spec with a mistake keeps its own index out, and no other."""

import io

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from config import preloading
from config.management.commands.serve import Command as Serve
from indexing.exceptions import InvalidSpec
from indexing.models import Index
from indexing.services import load_new_specs, load_specs
from indexing.spec import parse_spec
from tests.clients import client_with_key

pytestmark = pytest.mark.django_db

MISTAKE = "chunks: {overlapp: 3}\n"


@pytest.fixture
def specs(settings, tmp_path):
    """A folder with a good spec and one with a mistake."""
    settings.STRATA_SPECS_DIR = tmp_path
    (tmp_path / "good.yaml").write_text("")
    (tmp_path / "wrong.yaml").write_text(MISTAKE)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("metadata: {level: {type: keyword, values: {low: {grup: x}}}}", "value, group, synonyms"),
        ("tools: {find: {query: x, description: x, parameters: {of: {feld: x}}}}", "field, desc"),
        ("chunks: {strategies: [{name: sentence, size: 300}]}", "max_chars"),
    ],
)
def test_a_misspelt_setting_is_answered_with_those_of_its_section(text, allowed):
    with pytest.raises(InvalidSpec, match=f"there is no such setting; allowed here: {allowed}"):
        parse_spec("wrong", text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("title: A\nchunks:\n  overlapp: 3\n", 3),
        ("chunks:\n  strategies:\n  - name: sentence\n  - name: sentence\n    size: 300\n", 5),
        ("title: A\nmetadata:\n  year:\n    many: true\n", 3),  # it lacks the type
        ("search:\n  rrf_k: 2\n  sparse_weight: many\n", 3),
    ],
)
def test_the_line_of_a_mistake_is_named(text, line):
    with pytest.raises(InvalidSpec, match=rf" \(line {line}\)$"):
        parse_spec("wrong", text)


def test_a_file_that_cannot_be_read_leaves_only_its_index_out(specs):
    (specs / "wrong.yaml").unlink()
    (specs / "wrong.yaml").mkdir()

    assert "wrong.yaml cannot be read: Is a directory." in load_specs()[0]
    assert list(Index.objects.values_list("name", flat=True)) == ["good"]


def test_the_other_indexes_are_loaded(specs, capsys):
    call_command("status", skip_checks=False)

    assert list(Index.objects.values_list("name", flat=True)) == ["good"]
    said = capsys.readouterr().err
    assert "wrong.yaml: chunks.overlapp: there is no such setting" in said
    assert "the index wrong is left out." in said


def test_the_service_starts(specs):
    Serve(stdout=io.StringIO(), stderr=io.StringIO()).check(tags=Serve.requires_system_checks)


def test_the_command_check_fails(specs):
    with pytest.raises(SystemCheckError, match=r"wrong\.yaml: chunks\.overlapp"):
        call_command("check")


def test_an_index_with_documents_keeps_its_last_valid_spec(specs):
    (specs / "wrong.yaml").write_text("")
    load_specs()
    (specs / "wrong.yaml").write_text(MISTAKE)

    assert "keeps its last valid spec" in load_specs()[0]
    assert client_with_key().get("/api/v1/indexes/wrong/").status_code == 200


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("wrong", "Its spec is not valid: wrong.yaml: chunks.overlapp"),
        ("new", "new.yaml exists: the index is made within a minute"),
        ("missing", None),
    ],
)
@pytest.mark.parametrize(
    "path", ["indexes/{}/", "indexes/{}/artifacts/", "search/pages?index={}&q=tides"]
)
def test_requests_say_why_an_index_is_missing(specs, path, name, fix):
    load_specs()
    (specs / "new.yaml").write_text("")

    answer = client_with_key().get(f"/api/v1/{path.format(name)}")

    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_index")
    said = answer.json().get("fix")
    assert said is None if fix is None else said.startswith(fix)


def test_a_key_of_other_indexes_does_not_learn_of_a_spec(specs):
    load_specs()

    answer = client_with_key(indexes=["good"]).get("/api/v1/search/pages?index=wrong&q=tides")

    assert answer.status_code == 404
    assert "fix" not in answer.json()


def test_a_new_spec_is_loaded_by_the_running_service(specs):
    load_specs()
    (specs / "new.yaml").write_text("title: New\n")

    load_new_specs()

    answer = client_with_key().get("/api/v1/indexes/new/")
    assert answer.json()["title"] == "New"


def test_the_running_service_leaves_known_specs_alone(specs, django_assert_num_queries):
    load_specs()
    (specs / "good.yaml").write_text("title: Edited\n")

    with django_assert_num_queries(1):
        load_new_specs()

    assert client_with_key().get("/api/v1/indexes/good/").json()["title"] == "good"


def test_the_list_of_indexes_says_what_is_wrong_with_a_spec(specs):
    (specs / "wrong.yaml").write_text("")
    load_specs()
    (specs / "wrong.yaml").write_text(MISTAKE)

    problems = {
        index["name"]: index["problem"]
        for index in client_with_key().get("/api/v1/indexes/").json()["results"]
    }

    assert problems["good"] is None
    assert problems["wrong"].startswith(
        "It keeps its last valid spec: wrong.yaml: chunks.overlapp: there is no such setting"
    )


def test_two_specs_that_name_one_collection_are_left_out(specs):
    (specs / "wrong.yaml").unlink()
    for name in ("one", "two"):
        (specs / f"{name}.yaml").write_text("collections: {chunk: shared}\n")

    notes = load_specs()

    assert list(Index.objects.values_list("name", flat=True)) == ["good"]
    assert notes[0].startswith("one.yaml: collections: two.yaml name 'shared', too")
    assert "the index two is left out" in notes[1]


def test_web_processes_log_what_is_wrong_with_a_spec(specs, caplog, monkeypatch):
    for step in ("preload_models_and_store", "preload_apps", "freeze_loaded_objects"):
        monkeypatch.setattr(preloading, step, lambda: None)

    preloading.preload_all()

    assert "wrong.yaml: chunks.overlapp: there is no such setting" in caplog.text
