"""A spec with a mistake keeps its own index out, and no other."""

import io

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from config.management.commands.serve import Command as Serve
from indexing.models import Index
from indexing.services import load_specs
from indexing.spec import loaded
from tests.clients import client_with_key

pytestmark = pytest.mark.django_db

MISTAKE = "chunks: {overlapp: 3}\n"


@pytest.fixture
def specs(settings, tmp_path):
    """A folder with a good spec and one with a mistake."""
    settings.STRATA_SPECS_DIR = tmp_path
    (tmp_path / "good.yaml").write_text("")
    (tmp_path / "wrong.yaml").write_text(MISTAKE)
    loaded._load_folder.cache_clear()
    yield tmp_path
    loaded._load_folder.cache_clear()


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
    loaded._load_folder.cache_clear()

    assert "keeps its last valid spec" in load_specs()[0]
    assert client_with_key().get("/api/v1/indexes/wrong/").status_code == 200


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("wrong", "Its spec is not valid: wrong.yaml: chunks.overlapp"),
        ("new", "new.yaml exists: manage.py status makes the index"),
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
