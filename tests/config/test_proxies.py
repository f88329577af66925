"""The path below which a proxy serves the service, and whether its client uses TLS."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from ipaddress import ip_network
from typing import Any

import httpx
import pytest
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.urls import get_script_prefix, set_script_prefix

from access.models import ApiKey
from config.proxies import apply_proxy_headers

HOST = "http://localhost"


def forward(
    path: str = "/add/", peer: str = "127.0.0.1", **headers: str
) -> tuple[str, str, bytes, str]:
    """What the application sees of a request: the path of the service, both forms of the whole
    path, and the scheme."""
    scope: dict[str, Any] = {
        "path": path, "raw_path": path.encode(), "scheme": "http", "client": (peer, 1),
        "headers": [
            (name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()
        ],
    }  # fmt: skip
    scope = apply_proxy_headers(scope)
    return scope.get("root_path", ""), scope["path"], scope["raw_path"], scope["scheme"]


class TestPath:
    def test_is_that_of_the_header(self):
        expected = ("/strata", "/strata/add/", b"/strata/add/", "http")

        assert forward(x_forwarded_prefix="/strata") == expected
        assert forward(x_forwarded_prefix="/strata/") == expected
        assert forward(x_forwarded_prefix="/forged, /strata") == expected

    def test_may_be_in_the_request_too(self):
        assert forward("/strata/add/", x_forwarded_prefix="/strata")[1] == "/strata/add/"
        assert forward("/strata", x_forwarded_prefix="/strata")[1] == "/strata"
        assert forward("/stratagem/", x_forwarded_prefix="/strata")[1] == "/strata/stratagem/"

    @pytest.mark.parametrize(
        "prefix",
        ["//evil.example", "/a//b", "/../x", "strata", "/a b", "/%2e", "https://e.x/", "/"],
    )
    def test_is_not_taken_from_a_header_that_is_no_path(self, prefix):
        assert forward(x_forwarded_prefix=prefix)[:2] == ("", "/add/")

    def test_is_the_setting_whoever_asks(self, settings):
        settings.STRATA_BASE_PATH = "/a/b"

        assert forward(peer="192.0.2.1", x_forwarded_prefix="/c")[:2] == ("/a/b", "/a/b/add/")

    def test_keeps_what_is_encoded(self, settings):
        settings.STRATA_BASE_PATH = "/strata"

        assert forward("/strata/a%2Fb")[2] == b"/strata/a%2Fb"


class TestTrust:
    @pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "10.1.2.3"])
    def test_is_for_the_named_networks(self, settings, peer):
        settings.STRATA_TRUSTED_PROXIES = [
            ip_network(each) for each in ("127.0.0.0/8", "::1", "10.0.0.0/8")
        ]
        said = {"x_forwarded_prefix": "/strata", "x_forwarded_proto": "https"}

        assert forward(peer=peer, **said)[0::3] == ("/strata", "https")

    @pytest.mark.parametrize("peer", ["192.0.2.1", "2001:db8::1", "", "unix:"])
    def test_is_for_nobody_else(self, peer):
        said = {"x_forwarded_prefix": "/strata", "x_forwarded_proto": "https"}

        assert forward(peer=peer, **said)[0::3] == ("", "http")


@pytest.fixture
def open_client() -> Iterator[Callable[[str], httpx.Client]]:
    """Opens a client of the service at a path. Requests leave the path behind in their thread."""
    before = get_script_prefix()
    with ExitStack() as stack:

        def open_one(path: str) -> httpx.Client:
            transport = httpx.WSGITransport(WSGIHandler(), script_name=path)
            return stack.enter_context(httpx.Client(transport=transport, base_url=HOST))

        yield open_one
    set_script_prefix(before)


@pytest.fixture
def below(open_client: Callable[[str], httpx.Client]) -> httpx.Client:
    return open_client("/strata")


@pytest.mark.django_db
class TestAddresses:
    def test_of_pages_scripts_and_cookies_are_below_the_path(self, below):
        page = below.get("/sign-in/")

        assert '"/strata/static/style.css"' in page.text
        assert 'href="/strata/documents/"' in page.text
        assert "Path=/strata/;" in page.headers["Set-Cookie"]

    def test_of_redirects_are_below_the_path(self, below):
        assert below.get("/documents").headers["Location"] == "/strata/documents/"
        assert (
            below.get("/account/").headers["Location"].startswith("/strata/sign-in/?next=/strata")
        )

    def test_are_at_the_root_again_in_the_next_request(self, below, open_client):
        below.get("/sign-in/")

        page = open_client("").get("/sign-in/")

        assert '"/static/style.css"' in page.text
        assert "Path=/;" in page.headers["Set-Cookie"]

    def test_of_the_api_are_those_of_its_description(self, below, open_client):
        described = below.get("/api/schema/?format=json").json()

        assert described["servers"] == [{"url": "/strata"}]
        assert "servers" not in open_client("").get("/api/schema/?format=json").json()
        assert "/strata/api/schema/" in below.get("/api/docs/?script=").text

    def test_of_the_next_page_are_below_the_path(self, below):
        below.headers["Authorization"] = f"Bearer {ApiKey.issue('admin')[1]}"
        User.objects.bulk_create([User(username="alice"), User(username="bob")])

        found = below.get("/api/v1/people/?limit=1").json()

        assert found["next"] == f"{HOST}/strata/api/v1/people/?limit=1&offset=1"

    def test_are_those_of_the_setting(self, open_client, settings):
        settings.FORCE_SCRIPT_NAME = "/strata"

        assert open_client("").get("/documents").headers["Location"] == "/strata/documents/"


@pytest.mark.django_db
class TestOAuth:
    @pytest.mark.parametrize("place", ["", "/mcp", "/strata/mcp"])
    def test_names_the_resource_below_the_path(self, below, place):
        found = below.get(f"/.well-known/oauth-protected-resource{place}").json()

        assert found["resource"] == f"{HOST}/strata/mcp"
        assert found["authorization_servers"] == [f"{HOST}/strata"]

    @pytest.mark.parametrize("place", ["", "/strata"])
    def test_names_the_endpoints_below_the_path(self, below, place):
        found = below.get(f"/.well-known/oauth-authorization-server{place}").json()

        assert found["issuer"] == f"{HOST}/strata"
        assert found["token_endpoint"] == f"{HOST}/strata/oauth/token"

    @pytest.mark.parametrize(
        "place", ["oauth-protected-resource/other/mcp", "oauth-authorization-server/other"]
    )
    def test_does_not_speak_for_others_on_the_host(self, below, place):
        assert below.get(f"/.well-known/{place}").status_code == 404

    def test_is_found_from_a_refusal(self, below):
        refusal = below.post("/mcp", headers={"Authorization": "Bearer wrong"})

        assert (
            f'resource_metadata="{HOST}/strata/.well-known/oauth-protected-resource/mcp"'
            in refusal.headers["WWW-Authenticate"]
        )
