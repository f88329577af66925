"""Send requests, retry them where that is safe, and raise errors for failed ones."""

import json
import os
from asyncio import sleep
from typing import Any

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

    async def read(self, path: str, **params: str | int | float | None) -> Any:
        """Return the JSON at a path; parameters that are None are left out."""
        return await self.fetch("GET", path, is_idempotent=True, params=omit_none(params))

    async def post(self, path: str, content: object, *, is_idempotent: bool) -> Any:
        """Post JSON and return the JSON of the answer."""
        return await self.fetch("POST", path, is_idempotent=is_idempotent, json=content)

    async def fetch(self, method: str, path: str, *, is_idempotent: bool, **content: Any) -> Any:
        """Send any request and return the JSON of the answer."""
        return read_json(await self.send(method, path, is_idempotent=is_idempotent, **content))

    async def send(
        self,
        method: str,
        path: str,
        *,
        is_idempotent: bool,
        is_streamed: bool = False,
        **content: Any,
    ) -> httpx.Response:
        """Send a request, with retries where allowed, and return the successful response.

        The caller closes a streamed response; any other is read already.

        Raises:
            StrataError: the server returned an error, or the last attempt got no response.
        """
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
    """
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
