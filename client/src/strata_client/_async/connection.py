"""Send requests, retry them where that is safe, and raise errors for failed ones."""

import json
import os
from asyncio import sleep
from typing import Any
from urllib.parse import quote

import httpx

from strata_client.bodies import omit_none
from strata_client.exceptions import InvalidRequest, StrataError, error_from_response
from strata_client.retrying import compute_retry_wait, error_from_transport, read_retry_after

DEFAULT_URL = "http://127.0.0.1:8000"


class AsyncConnection:
    """An HTTP client of one server with one key."""

    def __init__(
        self,
        base_url: str | None,
        key: str | None,
        *,
        timeout: float,
        retries: int,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self.url = (base_url or os.environ.get("STRATA_URL") or DEFAULT_URL).rstrip("/")
        self.timeout = timeout
        self.retries = retries
        key = key or os.environ.get("STRATA_KEY")
        if not _is_http_url(self.url):
            raise InvalidRequest(
                f"base_url {self.url!r} is not an HTTP URL.",
                code="invalid",
                field="base_url",
                fix=f"Use one such as {DEFAULT_URL}.",
            )
        if key is not None and not (key.isascii() and key.isprintable()):
            raise InvalidRequest(
                "The key has characters that are not allowed.", code="invalid", field="key"
            )
        self._http = httpx.AsyncClient(
            base_url=f"{self.url}/api/v1/",
            headers={} if key is None else {"Authorization": f"Bearer {key}"},
            timeout=timeout,
            transport=transport,
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def read(self, path: str, /, *names: str | int, **params: object) -> Any:
        """Return the JSON at a path; parameters that are None are left out."""
        return await self.fetch("GET", path, *names, params=omit_none(params))

    async def post(
        self, path: str, /, *names: str | int, is_idempotent: bool = False, **content: object
    ) -> Any:
        """Post JSON without what is None, and return the JSON of the answer."""
        body = omit_none(content)
        return await self.fetch("POST", path, *names, is_idempotent=is_idempotent, json=body)

    async def patch(self, path: str, /, *names: str | int, **changes: object) -> Any:
        """Change what is not None, and return the JSON of the answer."""
        return await self.fetch("PATCH", path, *names, json=omit_none(changes))

    async def fetch(self, method: str, path: str, *names: str | int, **options: Any) -> Any:
        """Send any request and return the JSON of the answer."""
        return read_json(await self.send(method, path, *names, **options))

    async def send(
        self,
        method: str,
        path: str,
        *names: str | int,
        is_idempotent: bool | None = None,
        is_streamed: bool = False,
        **content: Any,
    ) -> httpx.Response:
        """Send a request, with retries where allowed, and return the successful response.

        The caller closes a streamed response; any other is read already.

        Args:
            names: put into the path, each in the place of a ``{}``.
            is_idempotent: by default for GET, PUT and PATCH.

        Raises:
            StrataError: the server returned an error, or the last attempt got no response.
        """
        if names:
            path = path.format(*(quote(str(name), safe="") for name in names))
        if is_idempotent is None:
            is_idempotent = method in {"GET", "PUT", "PATCH"}
        tries = 0
        while True:
            tries += 1
            request = self._http.build_request(method, path, **content)
            try:
                response = await self._http.send(request, stream=is_streamed)
                if response.is_success:
                    return response
                error = await _read_error(response)
            except httpx.RequestError as cause:
                error = error_from_transport(cause, self.url)
                error.__cause__ = cause
            wait = compute_retry_wait(error, tries, is_idempotent=is_idempotent)
            if wait is None or tries > self.retries:
                raise error
            await sleep(wait)


class AsyncMethods:
    """The base of what sends requests."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection


def _is_http_url(url: str) -> bool:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parsed.scheme in {"http", "https"} and bool(parsed.host)


async def _read_error(response: httpx.Response) -> StrataError:
    try:
        content = await response.aread()
    finally:
        await response.aclose()
    return error_from_response(response.status_code, content, read_retry_after(response.headers))


def read_json(response: httpx.Response) -> Any:
    """Read the JSON of an answer.

    Raises:
        StrataError: the body is not JSON.
    """
    try:
        return json.loads(response.content)
    except ValueError:
        raise StrataError(
            f"The server at {response.url.host} is not Strata: it did not return JSON.",
            code="unexpected_answer",
            fix="Check base_url.",
            status=response.status_code,
        ) from None
