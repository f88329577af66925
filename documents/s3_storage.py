"""Originals in a bucket of S3, or of a server with its API; the only module that talks to one.

boto3 finds the keys and the region: in the variables ``AWS_…``, its files, or the machine's role.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files import File
from storages.backends.s3 import S3Storage as Bucket

from documents.exceptions import OriginalsUnavailable

MISSING = {"404", "NoSuchKey"}  # codes of S3


class S3Storage:
    """Has the methods of ``documents.storage.FolderStorage``."""

    def __init__(self, bucket: str, endpoint: str) -> None:
        self._name = bucket
        # Other servers seldom answer to the bucket's name as a host name.
        style = {"addressing_style": "path"} if endpoint else None
        self._bucket = Bucket(
            bucket_name=bucket,
            endpoint_url=endpoint or None,
            client_config=Config(
                # Seconds. Uploads are inside a transaction, which must not be idle for long.
                connect_timeout=5, read_timeout=15, retries={"total_max_attempts": 3}, s3=style,
            ),
        )  # fmt: skip

    def add(self, name: str, file: Path) -> None:
        with self._answering(), file.open("rb") as content:
            self._bucket.save(name, File(content))

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        folder = Path(settings.STRATA_FILES_DIR)
        folder.mkdir(parents=True, exist_ok=True)
        # What a killed process leaves is deleted as other incoming files are.
        with NamedTemporaryFile(dir=folder, prefix="incoming-") as copy:
            with self._answering():
                try:
                    self._client.download_fileobj(self._name, name, copy)
                except ClientError as error:
                    if error.response["Error"]["Code"] not in MISSING:
                        raise
                    self.check()  # the same code if the bucket is missing
                    raise FileNotFoundError(f"There is no {name} in the bucket.") from error
            copy.flush()
            yield Path(copy.name)

    def delete(self, name: str) -> None:
        with self._answering():
            # Not ``Bucket.delete``, for which a missing bucket is as good as a deleted file.
            self._client.delete_object(Bucket=self._name, Key=name)

    def check(self) -> None:
        with self._answering():
            self._client.head_bucket(Bucket=self._name)

    @property
    def _client(self):  # type: ignore[no-untyped-def]  # boto3 makes its class at run time
        return self._bucket.connection.meta.client

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except (Boto3Error, BotoCoreError, ClientError) as error:
            raise OriginalsUnavailable(
                f"The bucket {self._name} of the original files did not answer: {error}",
                fix="Check STRATA_S3_BUCKET, STRATA_S3_ENDPOINT and the keys; `strata doctor` asks "
                "the bucket. What waits for it is then read.",
            ) from error


@cache
def open_bucket(bucket: str, endpoint: str) -> S3Storage:
    return S3Storage(bucket, endpoint)
