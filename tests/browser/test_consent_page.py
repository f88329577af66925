"""A user allows an application access, in a real browser, and revokes it."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from tests.browser.test_accessibility import find_violations
from tests.browser.test_sign_in_page import PASSWORD, sign_in
from tests.serving import Service
from tests.sign_in.oauth.asking import CHALLENGE, VERIFIER

if TYPE_CHECKING:
    from playwright.sync_api import Page

MAKE_USER = f"""
from access.models import GroupRights
from django.contrib.auth.models import Group, User
group = Group.objects.create(name="keepers")
GroupRights.objects.create(group=group, scope="write")
User.objects.create_user("carol", password={PASSWORD!r}).groups.add(group)
"""


class _Return(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"Connected.")

    def log_message(self, *given: object) -> None:
        """The output of the tests stays short."""


@pytest.fixture(scope="module")
def application() -> Iterator[str]:
    """The address at which an application on this machine waits for the browser."""
    with HTTPServer(("127.0.0.1", 0), _Return) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/return"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def request_path(service: Service, application: str) -> str:
    made = service.manage("shell", "-c", MAKE_USER)
    assert made.returncode == 0, made.stderr
    metadata = {"client_name": "Desk agent", "redirect_uris": ["http://127.0.0.1/return"]}
    registered = httpx.post(f"{service.url}/oauth/register", json=metadata, trust_env=False)
    query = {
        "response_type": "code",
        "client_id": registered.json()["client_id"],
        "redirect_uri": application,
        "scope": "search write",
        "state": "s1",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        "resource": f"{service.url}/mcp",
    }
    return f"/oauth/authorize?{urlencode(query)}"


def read_query(url: str) -> dict[str, str]:
    return {name: value for name, [value] in parse_qs(urlsplit(url).query).items()}


class TestConsentPage:
    def test_brings_the_application_a_code(self, page: "Page", request_path: str) -> None:
        page.goto(request_path)
        sign_in(page, "carol")
        page.wait_for_selector("text=Allow Desk agent access?")

        page.click("button[name=allow]")

        page.wait_for_selector("text=Connected.")
        assert set(read_query(page.url)) == {"code", "state", "iss"}

    def test_brings_the_application_a_refusal(self, page: "Page", request_path: str) -> None:
        page.goto(request_path)
        sign_in(page, "carol")

        page.click("text=Refuse")

        page.wait_for_selector("text=Connected.")
        assert "error=access_denied" in page.url

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_is_accessible(self, page: "Page", request_path: str, scheme: str) -> None:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(request_path)
        sign_in(page, "carol")
        page.wait_for_selector("text=Allow Desk agent access?")

        assert find_violations(page) == []

    def test_is_a_refusal_if_the_request_is_wrong(self, page: "Page", request_path: str) -> None:
        page.goto(request_path.replace("S256", "plain"))
        sign_in(page, "carol")

        assert "A code_challenge with the method S256" in page.inner_text("[role=alert]")
        assert find_violations(page) == []


class TestAccountPage:
    def test_lists_the_application_and_revokes_it(
        self, page: "Page", service: Service, request_path: str
    ) -> None:
        page.goto(request_path)
        sign_in(page, "carol")
        page.click("button[name=allow]")
        page.wait_for_selector("text=Connected.")
        asked = read_query(request_path)
        sent = {
            "grant_type": "authorization_code",
            "code": read_query(page.url)["code"],
            "client_id": asked["client_id"],
            "redirect_uri": asked["redirect_uri"],
            "code_verifier": VERIFIER,
        }
        tokens = httpx.post(f"{service.url}/oauth/token", data=sent, trust_env=False)
        assert tokens.status_code == 200, tokens.text

        page.goto(f"{service.url}/account/")
        assert "Desk agent: may search, until" in page.inner_text("main")
        assert find_violations(page) == []
        page.click("text=Revoke")

        page.wait_for_selector("text=Sign out")
        assert "Desk agent" not in page.inner_text("main")
