"""Fetch a file from an address that a caller gives, of a host that ``STRATA_FETCH_HOSTS`` names.

``core.outbound`` refuses private addresses and bounds what is received. Each redirect is checked
as the first address."""

import asyncio
import logging
import threading
from fnmatch import fnmatchcase
from http.client import TOO_MANY_REQUESTS
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

import httpx
from django.conf import settings

from core.connections import PrivateAddressRefused, is_named_private
from core.exceptions import InvalidInput
from core.outbound import AnswerEncoded, AnswerTooLong, make_async_client
from documents.exceptions import AddressUnavailable
from documents.originals import FileContent, IncomingFile, make_too_large
from documents.parsing import add_missing_suffix

TIMEOUT_SECONDS: Final = 30.0  # from the DNS look-up to the last byte
MAX_REDIRECTS: Final = 5
PORTS: Final = {"http": 80, "https": 443}  # of addresses and entries that name none

logger = logging.getLogger(__name__)

_slots = threading.BoundedSemaphore(2)  # each fetch holds a thread of the web server


def fetch_file(url: str) -> FileContent:
    """Fetch the file at an address.

    Raises:
        InvalidInput: the address is not allowed, or there is no file.
        TooLarge, DiskFull: as ``IncomingFile``.
        AddressUnavailable: the host does not answer now, or other files are being fetched.
    """
    if not _slots.acquire(blocking=False):
        raise AddressUnavailable("Other documents are being fetched.")
    try:
        return asyncio.run(_fetch(url))
    except PrivateAddressRefused as error:
        logger.warning("The document at %s was not fetched: %s", url, error)
        raise InvalidInput(
            "The host of the address is in a private network.",
            field="url",
            fix="Send the file, or have the host added to STRATA_PRIVATE_HOSTS.",
        ) from None
    except AnswerEncoded as error:
        raise InvalidInput(f"{error}", field="url", fix="Send the file.") from None
    except AnswerTooLong:
        raise make_too_large("url") from None
    except (TimeoutError, httpx.HTTPError) as error:
        # Not what it is: the caller must not learn which hosts and ports answer.
        logger.warning("The document at %s was not fetched: %r", url, error)
        raise AddressUnavailable("The host did not send the document.") from None
    finally:
        _slots.release()


async def _fetch(url: str) -> FileContent:
    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        make_async_client(
            max_bytes=settings.STRATA_MAX_UPLOAD_BYTES,
            timeout=TIMEOUT_SECONDS,
            headers={"User-Agent": "strata"},
        ) as client,
    ):
        for _ in range(MAX_REDIRECTS + 1):
            async with client.stream("GET", _check(url)) as response:
                if response.is_success:
                    return await _save(response)
                detail = f"The host answered with status {response.status_code}."
                if response.status_code == TOO_MANY_REQUESTS or response.is_server_error:
                    raise AddressUnavailable(detail)
                if response.next_request is None:
                    raise InvalidInput(detail, field="url", fix="Open the address in a browser.")
                url = str(response.next_request.url)
    raise InvalidInput(f"It redirects more than {MAX_REDIRECTS} times.", field="url")


def _check(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise InvalidInput(f"The address is not valid: {error}", field="url") from None
    if parsed.scheme not in PORTS or parsed.userinfo:
        raise InvalidInput("Give an http or https URL without a password.", field="url")
    allowed = settings.STRATA_FETCH_HOSTS
    if not any(_is_meant(parsed, entry) for entry in allowed):
        place = parsed.host if parsed.port is None else f"{parsed.host}:{parsed.port}"
        raise InvalidInput(
            f"Documents are not fetched from {place!r}.",
            field="url",
            allowed=allowed,
            fix="Send the text or the file, or have the host added to STRATA_FETCH_HOSTS.",
        )
    return parsed


def _is_meant(url: httpx.URL, entry: str) -> bool:
    """Whether an entry of ``STRATA_FETCH_HOSTS`` allows the address."""
    named = urlsplit(f"//{entry.lower()}")
    # A host that may have a private address must be named itself: "*" does not mean it.
    is_named = url.host == named.hostname or (
        not is_named_private(url.host) and fnmatchcase(url.host, named.hostname or "")
    )
    default = PORTS[url.scheme]
    return is_named and (url.port or default) == (named.port or default)


async def _save(response: httpx.Response) -> FileContent:
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    name = PurePosixPath(unquote(response.url.path)).name or response.url.host
    incoming = IncomingFile(add_missing_suffix(name, media_type))
    with incoming.discarded_on_error():  # also when the time is over
        async for chunk in response.aiter_bytes():
            incoming.write(chunk)
    return incoming.finish()
