"""Names are stored and compared in NFC, however they are written: a Mac decomposes them."""

import io
import json
import zipfile
from unicodedata import normalize

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from access.models import ApiKey
from documents.models import Artifact
from documents.reading import parse_artifact
from tests.clients import client_with_key
from tests.factories import sync
from tests.written import make_build

pytestmark = pytest.mark.django_db

DECOMPOSED, COMPOSED = (normalize(form, "Größe-für-Ängström") for form in ("NFD", "NFC"))
FIELDS = {
    "board": {"type": "keyword", "closed": False, "values": [DECOMPOSED]},
    "note": {"type": "text"},
}


@pytest.fixture
def build(store, embedder):
    return make_build("minutes", metadata=FIELDS)


@pytest.fixture
def api(build, settings, tmp_path):
    settings.STRATA_FILES_DIR = tmp_path / "files"
    return client_with_key()


def give(api, **body):
    answer = api.post(
        "/api/v1/indexes/minutes/artifacts/", {"text": "Herons wait.", **body}, format="json"
    )
    assert answer.status_code == 202, answer.json()
    return answer.json()


def count(api, **parameters):
    answer = api.get("/api/v1/indexes/minutes/artifacts/", parameters)
    assert answer.status_code == 200, answer.json()
    return answer.json()["count"]


class TestNames:
    @pytest.mark.parametrize("given", [DECOMPOSED, COMPOSED])
    def test_are_stored_in_nfc(self, api, given):
        written = give(
            api, title=given, external_id=given, groups=[given], url=f"https://a.org/{given}",
            metadata={given: [given], "board": given},
        )  # fmt: skip

        assert written["title"] == written["external_id"] == COMPOSED
        assert written["groups"] == [COMPOSED]
        assert written["url"] == f"https://a.org/{COMPOSED}"
        assert written["metadata"] == {COMPOSED: [COMPOSED], "board": COMPOSED}

    @pytest.mark.parametrize("asked", [DECOMPOSED, COMPOSED])
    def test_are_found_by_either_form(self, api, build, asked):
        for number, form in enumerate((DECOMPOSED, COMPOSED)):
            give(api, title=f"{number} {form}", external_id=form[:-number or None],
                 metadata={"board": form, "note": form})  # fmt: skip
        sync(build, *Artifact.objects.all())

        assert count(api, title=asked) == 2
        assert count(api, external_id=asked) == 1
        for field, value in {"board": asked, "note": asked, "artifact_title": f"0 {asked}",
                             "external_id": asked}.items():  # fmt: skip
            answer = api.post(
                "/api/v1/search/pages",
                {"index": "minutes", "query": "herons", "filter": {field: value}},
                format="json",
            )
            assert len(answer.json()["hits"]) == 1 + (field in FIELDS), field
        facets = api.get("/api/v1/indexes/minutes/facets", {"filter": json.dumps({"note": asked})})
        values = {facet["field"]: facet["values"] for facet in facets.json()["facets"]}
        assert values["board"] == [{"value": COMPOSED, "count": 2, "documents": 2}]

    @pytest.mark.parametrize("of_key", [DECOMPOSED, COMPOSED])
    @pytest.mark.parametrize("of_document", [DECOMPOSED, COMPOSED])
    def test_of_groups_are_the_same_in_either_form(self, api, build, of_document, of_key):
        give(api, groups=[of_document])
        sync(build, *Artifact.objects.all())
        key, secret = ApiKey.issue("reader", groups=[of_key])
        ApiKey.objects.filter(pk=key.pk).update(groups=[of_key])  # as earlier releases stored it
        reader = APIClient()
        reader.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")

        assert count(reader) == 1
        found = reader.get("/api/v1/search/pages", {"index": "minutes", "q": "herons"})
        assert len(found.json()["hits"]) == 1

    def test_of_files_and_of_files_in_files_are_in_nfc(self, api):
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{DECOMPOSED}.txt", "The lamp is lit.")
        file = SimpleUploadedFile(f"{DECOMPOSED}.zip", packed.getvalue())
        written = api.post(
            "/api/v1/indexes/minutes/artifacts/", {"file": file}, format="multipart"
        ).json()
        parse_artifact(artifact_id=written["id"])

        names = set(Artifact.objects.values_list("file_name", flat=True))
        assert names == {f"{COMPOSED}.zip", f"{COMPOSED}.txt"}
