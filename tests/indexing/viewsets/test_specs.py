"""Reading and writing the file of a spec over HTTP."""

import errno
import os
from pathlib import Path

import pytest
from rest_framework.test import APIClient

from access.grants import Scope
from core import atomic_files
from indexing.models import Index, IndexBuild
from tests.clients import client_with_key
from tests.factories import give, sync

pytestmark = pytest.mark.django_db

ADDRESS = "/api/v1/indexes/plain/spec/"
ENDPOINT = (
    "embedding: {provider: openai, model: m, dimension: 8, "
    "endpoint: {base_url: 'https://models.example/v1', api_key_variable: SECRET_KEY}}\n"
)


@pytest.fixture(autouse=True)
def folder(settings, tmp_path) -> Path:
    settings.STRATA_EDIT_SPECS = True
    settings.STRATA_SPECS_DIR = tmp_path
    (tmp_path / "plain.yaml").write_text("title: Plain\n")
    return tmp_path


@pytest.fixture
def api(db) -> APIClient:
    return client_with_key()


def write(api, text: str, address: str = ADDRESS, **given):
    return api.put(address, {"text": text, **given}, format="json")


class TestRead:
    def test_returns_the_text_and_what_is_wrong_with_it(self, build, api, folder):
        (folder / "plain.yaml").write_text("titel: Plain\n")

        answer = api.get(ADDRESS).json()

        assert answer["text"] == "titel: Plain\n"
        assert answer["is_editable"] is True
        assert "titel" in answer["problem"]

    @pytest.mark.parametrize("name", ["absent", "..%2Fplain", "..%2F..%2Fetc%2Fpasswd", "a" * 300])
    def test_knows_no_other_file(self, build, api, name):
        answer = api.get(f"/api/v1/indexes/{name}/spec/")

        assert answer.status_code == 404


class TestWrite:
    def test_applies_search_settings_at_once_and_leaves_the_build(self, build, api, folder):
        sync(build, give())
        text = "title: Notes\nsearch: {rrf_k: 20}\nchunks: {strategies: [{name: paragraph}]}\n"

        answer = write(api, text, replaces="title: Plain\n")

        assert answer.status_code == 200
        assert answer.json()["problem"] is None
        assert (folder / "plain.yaml").read_text() == text
        index = Index.objects.get(name="plain")
        assert index.live_build == build
        assert index.search_settings.content["title"] == "Notes"

    def test_refuses_a_collection_of_another_index(self, build, api, folder):
        shared = "collections: {chunk: passages}\n"
        for name in ("one", "two"):  # of which neither is valid
            (folder / f"{name}.yaml").write_text(shared)

        answer = write(api, f"title: One\n{shared}", "/api/v1/indexes/one/spec/", replaces=shared)

        assert answer.status_code == 422
        assert "two.yaml" in answer.json()["detail"]
        assert "two.yaml" in api.get("/api/v1/indexes/one/spec/").json()["problem"]

    def test_makes_a_new_index(self, build, api):
        answer = write(api, "title: Minutes\n", "/api/v1/indexes/minutes/spec/")

        assert answer.status_code == 200
        assert IndexBuild.objects.live().filter(index="minutes").exists()

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("titel: Plain", "titel"),
            ("- a list", "must hold a mapping"),
            ("title: [", "is not YAML"),
            (ENDPOINT, "an endpoint or a source can only be named or changed in the file itself"),
        ],
    )
    def test_refuses_what_is_no_valid_spec(self, build, api, folder, text, said):
        answer = write(api, text, replaces="title: Plain\n")

        assert answer.status_code == 422
        assert answer.json()["code"] == "invalid_spec"
        assert said in answer.json()["detail"]
        assert (folder / "plain.yaml").read_text() == "title: Plain\n"

    def test_keeps_an_endpoint_that_the_file_names(self, build, api, folder):
        (folder / "plain.yaml").write_text(ENDPOINT)

        answer = write(api, f"title: Plain\n{ENDPOINT}", replaces=ENDPOINT)

        assert answer.status_code == 200

    @pytest.mark.parametrize("replaces", [None, "title: Before\n"])
    def test_replaces_only_what_was_read(self, build, api, folder, replaces):
        answer = write(api, "title: Mine\n", replaces=replaces)

        assert answer.status_code == 409
        assert answer.json()["code"] == "spec_not_written"
        assert (folder / "plain.yaml").read_text() == "title: Plain\n"

    @pytest.mark.parametrize("name", ["Minutes", "9", "a_b", "a.b"])
    def test_refuses_a_name_that_no_index_can_have(self, build, api, folder, name):
        answer = write(api, "title: x\n", f"/api/v1/indexes/{name}/spec/")

        assert answer.status_code == 400
        assert answer.json()["field"] == "index"
        assert [path.name for path in folder.glob("*.yaml")] == ["plain.yaml"]

    def test_says_why_the_file_cannot_be_written(self, build, api, monkeypatch):
        def refuse(**given):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        monkeypatch.setattr(atomic_files.tempfile, "mkstemp", refuse)

        answer = write(api, "title: Mine\n", replaces="title: Plain\n")

        assert answer.status_code == 409
        assert answer.json()["detail"] == "The file cannot be written: Read-only file system."

    def test_does_not_replace_a_file_in_another_encoding(self, build, api, folder):
        (folder / "plain.yaml").write_bytes(b"title: \xff\n")

        assert write(api, "title: Mine\n", replaces=None).status_code == 422
        assert api.get(ADDRESS).status_code == 422

    def test_can_be_switched_off(self, build, api, settings):
        settings.STRATA_EDIT_SPECS = False

        answer = write(api, "title: Mine\n", replaces="title: Plain\n")

        assert answer.status_code == 409
        assert answer.json()["detail"] == "The service may not write specs."

    def test_needs_a_key_that_sees_all_indexes(self, build):
        limited = client_with_key(scope=Scope.MANAGE, indexes=["plain"])

        answer = write(limited, "public: true\n", replaces="title: Plain\n")

        assert limited.get(ADDRESS).status_code == 200
        assert answer.status_code == 403
        assert answer.json()["code"] == "needs_all_indexes"
