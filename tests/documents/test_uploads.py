"""Files of forms are written to the data folder once, while they arrive."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from rest_framework.test import APIClient

from access.models import ApiKey
from documents import originals
from documents.models import Artifact
from tests.factories import original_path

ARTIFACTS = "/api/v1/indexes/plain/artifacts/"
CONTENT = b"The heron waits for fish. " * 200_000  # more than Django keeps in memory


@pytest.fixture
def client(build):
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue('tests')[1]}")
    return client


@pytest.fixture
def folder(settings, tmp_path):
    settings.STRATA_FILES_DIR = tmp_path / "files"
    return tmp_path / "files"


def upload(client, content=CONTENT, **fields):
    file = SimpleUploadedFile("heron.txt", content, "text/plain")
    return client.post(ARTIFACTS, {"file": file, **fields}, format="multipart")


def test_a_file_is_written_once(client, folder, monkeypatch):
    written = []
    opened = originals.IncomingFile

    class Counted(opened):
        def write(self, chunk):
            written.append(len(chunk))
            super().write(chunk)

    monkeypatch.setattr(originals, "IncomingFile", Counted)

    answer = upload(client)

    assert answer.status_code == 202
    assert sum(written) == len(CONTENT)
    [artifact] = Artifact.objects.all()
    assert original_path(artifact).read_bytes() == CONTENT
    assert not list(folder.glob("incoming-*"))


@pytest.mark.parametrize(
    ("fields", "status"), [({"titel": "Heron"}, 400), ({"metadata": "{"}, 400), ({"url": "x"}, 400)]
)
def test_a_refused_form_leaves_no_file(client, folder, fields, status):
    answer = upload(client, **fields)

    assert answer.status_code == status
    assert not Artifact.objects.exists()
    assert not list(folder.glob("incoming-*"))


def test_a_file_that_is_too_large_is_refused_while_it_arrives(client, folder, settings):
    settings.STRATA_MAX_UPLOAD_BYTES = 2**20

    answer = upload(client)

    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert not list(folder.glob("incoming-*"))


def test_a_full_disk_leaves_no_file(client, folder, settings):
    settings.STRATA_MIN_FREE_BYTES = 2**60

    answer = upload(client)

    assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")
    assert not list(folder.glob("incoming-*"))
