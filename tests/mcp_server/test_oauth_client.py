"""The official client gets access with OAuth, from a real service and a user's browser."""

from collections.abc import Iterator

import pytest
from mcp.client.auth import OAuthFlowError

from tests.faults.armed import ArmedService, armed
from tests.official_client import PASSWORD, USER, Session, list_names

pytestmark = pytest.mark.anyio

NOTE = "The ferry to Ven leaves at noon. It carries no cars."


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[ArmedService]:
    folder = tmp_path_factory.mktemp("oauth")
    with armed(folder, DJANGO_SUPERUSER_PASSWORD=PASSWORD) as service:
        made = service.manage(
            "createsuperuser", "--noinput", "--username", USER, "--email", "alice@example.org"
        )
        assert made.returncode == 0, made.stderr
        yield service


@pytest.fixture
def session(service) -> Iterator[Session]:
    session = Session(service.url)
    with session.browser.http:
        yield session


class TestOfficialClient:
    @pytest.mark.parametrize("mode", ["auto", "legacy"])
    async def test_registers_asks_the_user_and_uses_the_tools(self, session, mode):
        async with session.connect(mode) as client:
            assert "add_document" in await list_names(client)
            added = await client.call_tool(
                "add_document", {"index": "plain", "text": NOTE}, meta={"strata/structured": True}
            )
            found = await client.call_tool(
                "search",
                {
                    "index": "plain",
                    "query": "ferry to Ven",
                    "min_revision": added.structured_content["revision"],
                },
            )

        assert NOTE in found.content[0].text
        assert session.browser.consents == 1
        assert session.storage.tokens.scope == "search write"

    async def test_refreshes_its_token_without_the_user(self, session):
        async with session.connect() as client:
            await list_names(client)
            first = session.storage.tokens
            session.auth.context.token_expiry_time = 1.0

            assert await list_names(client)

        assert session.storage.tokens.refresh_token != first.refresh_token
        assert session.browser.consents == 1

    async def test_asks_again_after_the_user_has_revoked_it(self, session):
        async with session.connect() as client:
            await list_names(client)
            session.browser.revoke()

            assert await list_names(client)

        assert session.browser.consents == 2

    async def test_may_only_search_if_the_user_allows_no_more(self, session):
        session.browser.button = {"allow": "yes"}

        async with session.connect() as client:
            assert "add_document" not in await list_names(client)

        assert session.storage.tokens.scope == "search"

    async def test_gets_nothing_if_the_user_refuses(self, session):
        session.browser.button = {}

        with pytest.raises((OAuthFlowError, ExceptionGroup)):
            async with session.connect():
                pass

        assert session.storage.tokens is None
