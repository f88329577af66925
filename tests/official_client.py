"""An agent with the official client, and the browser of its user."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

USER = "alice"
PASSWORD = "seven herons in the harbour"
RETURN = "http://127.0.0.1:33418/return"


class Browser:
    """The user's browser: it signs in, when it is asked to, and clicks *Allow*."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, follow_redirects=True, timeout=60, trust_env=False)
        self.button = {"allow": "yes", "may_write": "on"}
        self.consents = 0
        self._returned = ""

    async def open(self, url: str) -> None:
        page = self.http.get(url)
        if page.url.path.endswith("/sign-in/"):
            form = {"username": USER, "password": PASSWORD, "next": _read_next(page)}
            page = self._send(page, form)
        assert page.url.path.endswith("/oauth/authorize"), page.text
        answer = self._send(page, self.button, follow_redirects=False)
        self.consents += 1
        self._returned = answer.headers["Location"]
        assert self._returned.startswith(f"{RETURN}?")

    async def read_return(self) -> AuthorizationCodeResult:
        found = {name: value for name, [value] in parse_qs(urlsplit(self._returned).query).items()}
        return AuthorizationCodeResult(
            code=found.get("code", ""), state=found["state"], iss=found["iss"]
        )

    def revoke(self) -> None:
        page = self.http.get("/account/")
        path = re.search(r'action="(/account/applications/\d+/revoke/)"', page.text)
        assert path is not None
        self._send(page, {}, path=path[1])

    def _send(
        self, page: httpx.Response, form: dict[str, str], path: str = "", **options: Any
    ) -> httpx.Response:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token is not None, page.text
        url = page.url.join(path) if path else page.url
        return self.http.post(url, data={**form, "csrfmiddlewaretoken": token[1]}, **options)


def _read_next(page: httpx.Response) -> str:
    return str(page.url.params["next"])


class Storage:
    """Keeps what the client learns, as a file on the user's disk would."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Session:
    """An agent with the official client."""

    def __init__(self, address: str) -> None:
        self.url = f"{address}/mcp"
        self.browser = Browser(address)
        self.storage = Storage()
        self.auth = OAuthClientProvider(
            self.url,
            OAuthClientMetadata(client_name="Official", redirect_uris=[RETURN]),
            self.storage,
            redirect_handler=self.browser.open,
            callback_handler=self.browser.read_return,
        )

    @asynccontextmanager
    async def connect(self, mode: str = "auto") -> AsyncIterator[Client]:
        async with (
            httpx2.AsyncClient(auth=self.auth, timeout=60, trust_env=False) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield client


async def list_names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}
