import pytest
from rest_framework.test import APIClient

from documents.models import Artifact
from indexing import lifecycle
from indexing.models import Index
from indexing.services import load_specs
from indexing.spec import parse_spec
from tests.factories import give, sync

SPEC = "title: Notes\n"
SEARCH = "/api/v1/search/pages?index=notes&q=heron"


@pytest.fixture
def specs(db, store, embedder, settings, tmp_path):
    settings.STRATA_SPECS_DIR = tmp_path / "specs"
    settings.STRATA_SPECS_DIR.mkdir()
    return settings.STRATA_SPECS_DIR


def write(specs, text: str) -> None:
    (specs / "notes.yaml").write_text(text)


class TestPublicIndexes:
    def test_are_searchable_without_a_key_from_the_next_start(self, specs):
        write(specs, SPEC)
        load_specs()
        sync(Index.objects.get(name="notes").live_build, give(index="notes"))
        assert APIClient().get(SEARCH).status_code == 401

        write(specs, f"{SPEC}public: true\n")
        assert load_specs() == []

        found = APIClient().get(SEARCH)
        assert found.status_code == 200
        assert found.json()["hits"]

        write(specs, SPEC)
        lifecycle.apply_spec("notes")

        assert APIClient().get(SEARCH).status_code == 401
        assert Index.objects.get(name="notes").builds.count() == 1

    def test_show_only_documents_without_groups_without_a_key(self, specs):
        write(specs, f"{SPEC}public: true\n")
        load_specs()
        secret = give("The heron is secret.", index="notes", groups=["red"])
        open_ = give("The heron is known.", index="notes")
        sync(Index.objects.get(name="notes").live_build, secret, open_)

        hits = APIClient().get(SEARCH).json()["hits"]

        assert {hit["text"] for hit in hits} == {"The heron is known."}
        assert Artifact.objects.count() == 2

    def test_do_not_open_other_indexes(self, specs):
        write(specs, f"{SPEC}public: true\n")
        (specs / "closed.yaml").write_text(SPEC)
        load_specs()

        closed, missing = (
            APIClient().get(f"/api/v1/search/pages?index={name}&q=heron")
            for name in ("closed", "nothing")
        )

        assert (closed.status_code, closed.json()["allowed"]) == (404, ["notes"])
        assert closed.json()["detail"] == missing.json()["detail"].replace("nothing", "closed")

    def test_are_built_like_other_indexes(self):
        public, closed = parse_spec("notes", f"{SPEC}public: true\n"), parse_spec("notes", SPEC)

        assert public.fingerprint == closed.fingerprint
        assert public.search_settings == closed.search_settings
