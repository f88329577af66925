"""Originals in S3, on a server on loopback; web servers and workers share no folder."""

import os

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from moto.server import ThreadedMotoServer
from rest_framework.test import APIClient
from storages.backends.s3 import S3Storage as Bucket

from access.models import ApiKey
from backup.restoring import restore_originals
from backup.taking import ORIGINALS, write_folder
from config.diagnostics import check_installation
from documents import tasks
from documents.exceptions import OriginalsUnavailable
from documents.models import Artifact, RemovedOriginal
from documents.originals import save_incoming_file
from documents.reading import parse_artifact
from documents.services import add_artifact, remove_artifact, replace_content
from documents.storage import get_storage
from spaces.clip_model import ClipModel
from tests.documents.clamd import VIRUS, running_scanner
from tests.documents.parsing.makers import make_pdf
from tests.pictures import draw

pytestmark = pytest.mark.django_db(transaction=True)

CONTENT = b"Herons wait."
ARTIFACTS = "/api/v1/indexes/plain/artifacts/"


@pytest.fixture(scope="module")
def server():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(autouse=True)
def bucket(server, settings, monkeypatch, request, tmp_path):
    """A new bucket, in which originals are stored; used without Strata's code."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    name = f"originals-{os.urandom(6).hex()}"
    settings.STRATA_S3_BUCKET, settings.STRATA_S3_ENDPOINT = name, server
    settings.STRATA_FILES_DIR = tmp_path / "web"
    bucket = Bucket(bucket_name=name, endpoint_url=server)
    bucket.bucket.create()
    return bucket


@pytest.fixture(autouse=True)
def no_parsing(monkeypatch) -> None:
    """Only tests parse; the task would run at once."""
    monkeypatch.setattr("documents.signals.enqueue_on_commit", lambda *task, **ids: None)


@pytest.fixture
def api(build) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue('test')[1]}")
    return client


def add(content: bytes = CONTENT, name: str = "herons.txt", **given) -> Artifact:
    return add_artifact("plain", save_incoming_file(name, [content]), **given)[0]


def keys(bucket: Bucket) -> set[str]:
    return {each.key for each in bucket.bucket.objects.all()}


def files(settings) -> list:
    return [path for path in settings.STRATA_FILES_DIR.rglob("*") if path.is_file()]


class TestOriginals:
    def test_are_in_the_bucket_and_not_on_the_disk(self, bucket, settings):
        artifact = add()

        assert keys(bucket) == {artifact.original_name}
        with bucket.open(artifact.original_name) as stored:
            assert stored.read() == CONTENT
        assert files(settings) == []

    def test_are_read_by_a_worker_with_another_folder(self, api, settings, tmp_path):
        content = make_pdf("Herons wait.")
        given = {"file": SimpleUploadedFile("herons.pdf", content)}
        added = api.post(ARTIFACTS, given, format="multipart").json()
        settings.STRATA_FILES_DIR = tmp_path / "worker"

        parsed = parse_artifact(Artifact.objects.get().pk)

        assert (parsed.state, parsed.pages.get().text.strip()) == ("parsed", "Herons wait.")
        assert files(settings) == []
        settings.STRATA_FILES_DIR = tmp_path / "another web server"
        path = f"/api/v1/artifacts/{added['id']}/"
        original = api.get(f"{path}original")
        assert b"".join(original.streaming_content) == content
        assert int(original["Content-Length"]) == len(content)
        assert api.get(f"{path}pages/0/picture").status_code == 200
        assert api.get(f"{path}pages/0/boxes?start=0&end=6").json()["boxes"]
        assert files(settings) == []

    def test_larger_than_a_part_are_stored_whole(self, bucket):
        content = os.urandom(9 * 2**20)

        artifact = add(content, "noise.bin")

        with get_storage().local(artifact.original_name) as path:
            assert path.read_bytes() == content

    def test_are_scanned(self, settings):
        with running_scanner() as scanner:
            settings.STRATA_CLAMD = scanner.setting
            parse_artifact(add().pk)
            infected = parse_artifact(add(CONTENT + VIRUS).pk)

        assert scanner.scanned == [CONTENT, CONTENT + VIRUS]
        assert infected.error_code == "infected_file"

    def test_of_images_are_embedded(self):
        class MeanColours:
            def embed(self, pictures, batch_size):
                yield from (np.asarray(picture).mean(axis=(0, 1)) for picture in pictures)

        names = [add(draw(colour), f"{colour}.png").original_name for colour in ("red", "blue")]

        vectors = ClipModel(MeanColours(), None).embed_batch(names)

        assert list(vectors.argmax(axis=1)) == [0, 2]

    def test_that_are_gone_fail_their_document(self, api, bucket):
        artifact = add()
        bucket.delete(artifact.original_name)

        answer = api.get(f"/api/v1/artifacts/{artifact.pk}/original")

        assert (answer.status_code, answer.json()["code"]) == (404, "missing_file")
        assert parse_artifact(artifact.pk).error_code == "missing_file"


class TestDeletion:
    def test_follows_that_of_the_document(self, bucket):
        artifact, other = add(), add(b"Another.")

        remove_artifact(artifact.pk)

        assert keys(bucket) == {other.original_name}
        assert not RemovedOriginal.objects.exists()

    def test_follows_new_content(self, bucket):
        artifact = add(external_id="herons")

        revised = add(b"Herons fly.", external_id="herons")

        assert keys(bucket) == {revised.original_name} != {artifact.original_name}

    def test_is_made_up_for_once_the_bucket_answers(self, bucket, settings):
        artifact = add()
        remaining, settings.STRATA_S3_BUCKET = settings.STRATA_S3_BUCKET, "no-such-bucket"

        remove_artifact(artifact.pk)

        tasks.reconcile_documents()
        assert RemovedOriginal.objects.get().name == artifact.original_name
        settings.STRATA_S3_BUCKET = remaining
        assert keys(bucket)
        tasks.reconcile_documents()
        assert not keys(bucket)
        assert not RemovedOriginal.objects.exists()

    def test_that_is_late_keeps_a_file_that_was_given_again(self, bucket):
        artifact = add(external_id="herons")
        first = artifact.original_name
        add(b"Herons fly.", external_id="herons")
        RemovedOriginal.objects.create(name=first, artifact_id=artifact.pk)
        add(external_id="herons")

        tasks.reconcile_documents()

        assert keys(bucket) == {first}
        assert not RemovedOriginal.objects.exists()


class TestOutage:
    """The bucket is missing, or no server answers."""

    @pytest.fixture(params=["no bucket", "no server"])
    def outage(self, request, settings):
        def begin():
            if request.param == "no bucket":
                settings.STRATA_S3_BUCKET = "no-such-bucket"
            else:
                settings.STRATA_S3_ENDPOINT = "http://127.0.0.1:9"

        return begin

    def test_stores_no_document_and_answers_503(self, api, outage, settings):
        outage()

        given = {"file": SimpleUploadedFile("herons.txt", CONTENT)}
        answer = api.post(ARTIFACTS, given, format="multipart")

        assert (answer.status_code, answer.json()["code"]) == (503, "originals_unavailable")
        assert "STRATA_S3_BUCKET" in answer.json()["fix"]
        assert not Artifact.objects.exists()
        assert files(settings) == []

    def test_costs_no_attempt_of_a_document(self, outage):
        artifact = add()
        outage()

        with pytest.raises(OriginalsUnavailable):
            parse_artifact(artifact.pk)

        artifact.refresh_from_db()
        assert (artifact.state, artifact.attempts) == ("parsing", 0)
        assert "did not answer" in artifact.last_error
        tasks.parse_artifact(artifact_id=str(artifact.pk))  # logs it

    def test_answers_503_to_a_download(self, api, outage):
        artifact = add()
        outage()

        answer = api.get(f"/api/v1/artifacts/{artifact.pk}/original")

        assert (answer.status_code, answer.json()["code"]) == (503, "originals_unavailable")

    def test_keeps_the_earlier_content(self, outage, bucket):
        artifact = add()
        outage()

        with pytest.raises(OriginalsUnavailable):
            replace_content(artifact.pk, save_incoming_file("herons.txt", [b"Herons fly."]))

        artifact.refresh_from_db()
        assert keys(bucket) == {artifact.original_name}

    def test_is_shown_by_doctor(self, outage):
        def check():
            [result] = [each for each in check_installation() if each.subject == "originals"]
            return result.is_ok

        assert check()
        outage()
        assert not check()


def test_a_backup_has_the_originals_and_a_restore_stores_them(bucket, tmp_path):
    artifact = add()
    write_folder(tmp_path / "backup", None, Artifact.objects.all())
    bucket.delete(artifact.original_name)

    lost = restore_originals(tmp_path / "backup" / ORIGINALS, Artifact.objects.all())

    assert lost == 0
    with bucket.open(artifact.original_name) as stored:
        assert stored.read() == CONTENT
