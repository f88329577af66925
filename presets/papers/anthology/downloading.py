"""Download the Anthology's files from the address in ``STRATA_ANTHOLOGY_URL``."""

import re
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Final

import httpx
from django.conf import settings

from core.connections import PrivateAddressRefused
from core.exceptions import InvalidInput
from core.outbound import make_client
from documents.exceptions import AddressUnavailable

MAX_BYTES: Final = 2 * 2**30  # the whole repository has a few hundred megabytes
MAX_UNPACKED_BYTES: Final = 8 * 2**30
DOWNLOAD_SECONDS: Final = 3_600.0
READ_SECONDS: Final = 30.0  # until the next bytes
_BLOCK_BYTES: Final = 1 << 20
# What is unpacked: the files that are read, in the repository's folder or in a part of it.
_MEMBER: Final = re.compile(
    r"(?:[\w.-]+/)?(?:data/)?"
    r"(xml/[\w-][\w.-]*\.xml(?:\.gz)?|yaml/(?:people|name_variants)\.yaml)"
)


def download_anthology(folder: Path) -> Path:
    """Download an archive and unpack the Anthology's files, or download one of its files.

    Returns:
        What ``open_anthology`` opens.

    Raises:
        InvalidInput: no address is set, it is not allowed, or what is there cannot be used.
        AddressUnavailable: the host does not answer now.
    """
    url = settings.STRATA_ANTHOLOGY_URL
    if not url:
        raise InvalidInput(
            "STRATA_ANTHOLOGY_URL is not set.",
            fix="Set it to the address of a ZIP of the Anthology's repository, or of one of its "
            "files; or name a PATH.",
        )
    try:
        path = _download(url, folder)
    except PrivateAddressRefused as error:
        raise InvalidInput(f"{error}") from None
    except httpx.HTTPError as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise AddressUnavailable(
            f"{url} did not send the Anthology: {reason}.", field=None, fix="Try again later."
        ) from None
    if path.suffix != ".zip":
        return path
    _unpack(path, folder)
    path.unlink()
    return folder


def _download(url: str, folder: Path) -> Path:
    with (
        make_client(
            max_bytes=MAX_BYTES,
            seconds=DOWNLOAD_SECONDS,
            timeout=READ_SECONDS,
            follow_redirects=True,
            headers={"User-Agent": "strata"},
        ) as client,
        client.stream("GET", url) as answer,
    ):
        if not answer.is_success:
            raise InvalidInput(f"{url} answered with status {answer.status_code}.")
        path = folder / (PurePosixPath(answer.url.path).name or "anthology")
        with path.open("wb") as file:
            for part in answer.iter_bytes():
                file.write(part)
    is_zip = path.suffix == ".zip" or zipfile.is_zipfile(path)
    return path.rename(folder / "anthology.zip") if is_zip else path


def _unpack(path: Path, folder: Path) -> None:
    left = MAX_UNPACKED_BYTES
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                meant = _MEMBER.fullmatch(member.filename)
                if meant is None:
                    continue
                target = folder / meant[1]
                target.parent.mkdir(exist_ok=True)
                with archive.open(member) as content, target.open("wb") as file:
                    while block := content.read(_BLOCK_BYTES):
                        left -= len(block)
                        if left < 0:
                            raise InvalidInput(
                                f"The archive unpacks to more than {MAX_UNPACKED_BYTES:,} bytes."
                            )
                        file.write(block)
    # zipfile raises the last two for a method of compression that it lacks and for encryption.
    except (zipfile.BadZipFile, EOFError, zlib.error, NotImplementedError, RuntimeError) as error:
        raise InvalidInput(f"The archive is damaged: {error}.") from None
