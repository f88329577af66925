"""Programs that know the address of a service below a path: clients, agents, and nginx's own ways
to pass their requests on."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from strata_client import Strata
from tests.faults.armed import ArmedService, armed
from tests.nginx import STRIPPING, nginx, read_documented_locations
from tests.official_client import PASSWORD, USER, Session, list_names
from tests.serving import KEY, ROOT

MAKE_USER = f"""
from django.contrib.auth.models import User
User.objects.create_user({USER!r}, password={PASSWORD!r})
"""
NOTE = "The ferry to Ven leaves at noon. It carries no cars."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmedService]:
    folder = tmp_path_factory.mktemp("below")
    with armed(folder, DJANGO_SUPERUSER_PASSWORD=PASSWORD) as service:
        made = service.manage(
            "createsuperuser", "--noinput", "--username", USER, "--email", "alice@example.org"
        )
        assert made.returncode == 0, made.stderr
        yield service


@pytest.fixture
def url(service: ArmedService, tmp_path: Path) -> Iterator[str]:
    """The address of the service below a path, as the documentation has nginx."""
    with nginx(tmp_path, service.url, read_documented_locations()) as url:
        yield url


def sign_in(http: httpx.Client, url: str, origin: str) -> httpx.Response:
    page = http.get(f"{url}/sign-in/")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert token is not None
    form = {"username": USER, "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
    return http.post(f"{url}/sign-in/", data=form, headers={"Origin": origin})


class TestClients:
    def test_add_and_search(self, url):
        with Strata(url, KEY) as client:
            added = client.add("plain", text=NOTE, title="Ferries")
            found = client.search("plain", "ferry to Ven", min_revision=added["revision"])

        assert found["hits"][0]["text"] == NOTE

    @pytest.mark.anyio
    async def test_of_agents_are_allowed_by_a_user_and_use_the_tools(self, url):
        session = Session(url)
        with session.browser.http:
            async with session.connect() as client:
                assert "search" in await list_names(client)
                await client.call_tool("list_indexes", {})

        assert session.browser.consents == 1
        assert session.storage.tokens.scope == "search write"

    def test_of_agents_on_this_machine_take_the_address(self, url):
        environment = {**os.environ, "STRATA_URL": url, "STRATA_KEY": KEY}
        done = subprocess.run(
            [sys.executable, "manage.py", "mcp"], cwd=ROOT, env=environment, input="",
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

        assert (done.returncode, done.stderr) == (0, "")


class TestNginx:
    def test_keeps_the_session_to_the_path(self, url):
        with httpx.Client(trust_env=False) as http:
            answer = sign_in(http, url, url.removesuffix("/strata"))

            assert (answer.status_code, answer.headers["Location"]) == (302, "/strata/")
            assert {cookie.path for cookie in http.cookies.jar} == {"/strata/"}
            assert http.get(f"{url}/account/").status_code == 200

    def test_may_terminate_tls(self, service, tmp_path):
        with (
            nginx(tmp_path, service.url, read_documented_locations(), scheme="https") as url,
            httpx.Client(trust_env=False) as http,
        ):
            secure = url.removesuffix("/strata").replace("http:", "https:")

            assert sign_in(http, url, secure).status_code == 302
            metadata = http.get(f"{url}/.well-known/oauth-protected-resource/mcp").json()
            assert metadata["resource"] == f"{secure}/strata/mcp"

    def test_may_remove_the_path(self, service, tmp_path):
        with nginx(tmp_path, service.url, STRIPPING) as url:
            page = httpx.get(f"{url}/documents", follow_redirects=True, trust_env=False)

        assert str(page.url) == f"{url}/documents/"
        assert 'href="/strata/add/"' in page.text

    def test_leads_to_the_metadata_at_the_root_of_the_host(self, url):
        host = url.removesuffix("/strata")
        metadata = f"{host}/.well-known/oauth-authorization-server/strata"

        assert httpx.get(metadata, trust_env=False).json()["issuer"] == url


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmedService]:
    """A service whose path a setting names, without a proxy."""
    with armed(tmp_path_factory.mktemp("placed"), STRATA_BASE_PATH="/strata") as service:
        yield service


class TestSetting:
    @pytest.mark.parametrize("path", ["", "/strata"])
    def test_names_the_path_without_a_header(self, placed, path):
        page = httpx.get(f"{placed.url}{path}/documents", follow_redirects=True, trust_env=False)

        assert page.url.path == "/strata/documents/"
        assert '"/strata/static/style.css"' in page.text

    def test_lets_commands_ask_the_service_at_its_root(self, placed):
        listed = placed.manage("status")

        assert listed.returncode == 0, listed.stderr

    def test_keeps_cookies_apart_from_those_at_the_root_of_the_host(self, placed):
        made = placed.manage("shell", "-c", MAKE_USER)
        assert made.returncode == 0, made.stderr
        with httpx.Client(trust_env=False) as http:
            for name in ("sessionid", "csrftoken"):
                http.cookies.set(name, "of-another-service", domain="127.0.0.1", path="/")

            sign_in(http, f"{placed.url}/strata", placed.url)

            assert http.get(f"{placed.url}/strata/account/").status_code == 200
