"""Fetch a file from an address that a caller gives, of a host that ``STRATA_FETCH_HOSTS`` names.

``core.outbound`` refuses private addresses. Each redirect is checked as the first address."""

import asyncio
import threading
from fnmatch import fnmatchcase
from http.client import TOO_MANY_REQUESTS
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote

import httpx
from django.conf import settings

from core.exceptions import InvalidInput, TooLarge
from core.outbound import PrivateAddressRefused, make_async_client
from documents.exceptions import AddressUnavailable
from documents.originals import FileContent, IncomingFile
from documents.parsing import add_missing_suffix

TIMEOUT_SECONDS: Final = 30.0  # from the DNS look-up to the last byte
MAX_REDIRECTS: Final = 5

_slots = threading.BoundedSemaphore(2)  # each fetch holds a thread of the web server


def fetch_file(url: str) -> FileContent:
    """
    Raises:
        InvalidInput: the address is not allowed, or there is no file.
        TooLarge, DiskFull: as ``IncomingFile``.
        AddressUnavailable: the host does not answer now, or other files are being fetched.
    """
    if not _slots.acquire(blocking=False):
        raise AddressUnavailable("Other documents are being fetched.")
    try:
        return asyncio.run(_fetch(url))
    except (PrivateAddressRefused, httpx.InvalidURL, UnicodeError) as error:
        raise InvalidInput(f"The address cannot be fetched: {error}", field="url") from None
    except TooLarge as error:
        error.field = "url"
        raise
    except (TimeoutError, httpx.TimeoutException):
        detail = f"The document was not received within {TIMEOUT_SECONDS:g} seconds."
        raise AddressUnavailable(detail) from None
    except httpx.HTTPError as error:
        raise AddressUnavailable(f"The host did not answer: {error}") from error
    finally:
        _slots.release()


async def _fetch(url: str) -> FileContent:
    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        make_async_client(timeout=TIMEOUT_SECONDS, headers={"User-Agent": "strata"}) as client,
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
    parsed = httpx.URL(url)
    if parsed.scheme not in {"http", "https"} or parsed.userinfo:
        raise InvalidInput("Give an http or https URL without a password.", field="url")
    # A host that may have a private address must be named itself: "*" does not mean it.
    is_private = parsed.host in settings.STRATA_PRIVATE_HOSTS
    allowed = settings.STRATA_FETCH_HOSTS
    patterns = [] if is_private else [pattern.lower() for pattern in allowed]
    if parsed.host not in allowed and not any(fnmatchcase(parsed.host, each) for each in patterns):
        raise InvalidInput(
            f"Documents are not fetched from {parsed.host!r}.",
            field="url",
            allowed=allowed,
            fix="Send the text or the file, or have the host added to STRATA_FETCH_HOSTS.",
        )
    return parsed


async def _save(response: httpx.Response) -> FileContent:
    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    name = PurePosixPath(unquote(response.url.path)).name or response.url.host
    incoming = IncomingFile(add_missing_suffix(name, media_type))
    with incoming.discarded_on_error():  # also when the time is over
        async for chunk in response.aiter_bytes():
            incoming.write(chunk)
    return incoming.finish()
