"""An application and a user's browser, as the tests of access over MCP need them."""

import base64
import hashlib
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from rest_framework.test import APIClient, APIRequestFactory

from mcp_server.endpoint import McpView
from tests.clients import session_with_rights

ISSUER = "http://localhost"
RESOURCE = f"{ISSUER}/mcp"
REDIRECT = "https://agent.example/return"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().strip("=")


def make_client(token: str = "") -> APIClient:
    client = APIClient(HTTP_HOST="localhost")
    if token:
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {token}")
    return client


def enter(token: str = "", path: str = "/mcp", **environ: str) -> Any:
    """The answer of the MCP endpoint to the token alone, before it reads a message; ``scope`` is
    what the caller may do."""
    if token:
        environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    environ = {"HTTP_HOST": "localhost", **environ}
    return McpView.as_view()(APIRequestFactory().post(path, {}, format="json", **environ))


def is_refused(token: str, **environ: str) -> bool:
    return bool(enter(token, **environ).status_code == 401)


def make_browser(*rights: dict[str, Any]) -> APIClient:
    """A browser in which a user with these rights is signed in, and who may write without any."""
    browser = session_with_rights(*(rights or ({"scope": "write"},)))
    browser.defaults["HTTP_HOST"] = "localhost"
    return browser


class Agent:
    """An application that registers, sends the user to the consent page, and gets tokens.

    Each method takes parameters that replace those of a correct request; None leaves one out.
    """

    def __init__(self, *redirect_uris: str, defaults: dict[str, str] | None = None) -> None:
        self.http = make_client()
        self.http.defaults |= defaults or {}
        self.uris = list(redirect_uris) or [REDIRECT]
        answer = self.register()
        assert answer.status_code == 201, answer.content
        self.client_id = answer.json()["client_id"]

    def register(self, **changed: Any) -> Any:
        metadata = {"client_name": "Agent", "redirect_uris": self.uris, **changed}
        return self.http.post("/oauth/register", metadata, format="json")

    def query(self, **changed: str | None) -> dict[str, str]:
        return _without_none(
            {
                "response_type": "code",
                "client_id": self.client_id,
                "redirect_uri": self.uris[0],
                "scope": "search write",
                "state": "s1",
                "code_challenge": CHALLENGE,
                "code_challenge_method": "S256",
                "resource": RESOURCE,
                **changed,
            }
        )

    def open_consent(self, browser: APIClient, **changed: str | None) -> Any:
        return browser.get("/oauth/authorize", self.query(**changed))

    def ask(
        self, browser: APIClient, form: dict[str, str] | None = None, **changed: str | None
    ) -> Any:
        """The answer after the user has clicked."""
        form = {"allow": "yes", "may_write": "on"} if form is None else form
        return browser.post(
            "/oauth/authorize", form, query_params=self.query(**changed), format="multipart"
        )

    def get_code(self, browser: APIClient, **given: Any) -> str:
        return read_return(self.ask(browser, **given))["code"]

    def exchange(self, **changed: str | None) -> Any:
        return self._post("/oauth/token", {"client_id": self.client_id, **changed})

    def redeem(self, code: str, /, **changed: str | None) -> Any:
        sent = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.uris[0],
            "code_verifier": VERIFIER,
            "resource": RESOURCE,
        }
        return self.exchange(**{**sent, **changed})

    def refresh(self, token: str, **changed: str | None) -> Any:
        sent = {"grant_type": "refresh_token", "refresh_token": token}
        return self.exchange(**{**sent, **changed})

    def revoke(self, token: str, **changed: str | None) -> Any:
        return self._post("/oauth/revoke", {"client_id": self.client_id, "token": token, **changed})

    def connect(self, browser: APIClient, **given: Any) -> dict[str, Any]:
        """The tokens."""
        answer = self.redeem(self.get_code(browser, **given))
        assert answer.status_code == 200, answer.content
        tokens: dict[str, Any] = answer.json()
        return tokens

    def _post(self, path: str, sent: dict[str, str | None]) -> Any:
        return self.http.post(path, _without_none(sent), format="multipart")


def read_return(answer: Any) -> dict[str, str]:
    """The parameters that the browser brings the application."""
    assert answer.status_code == 302, answer.content
    return dict(parse_qsl(urlsplit(answer["Location"]).query))


def _without_none(sent: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in sent.items() if value is not None}
