"""The official client gets access to a web server of several processes."""

import pytest

from tests.official_client import PASSWORD, USER, Session, list_names

pytestmark = [pytest.mark.anyio, pytest.mark.django_db]

SETTINGS = {
    "STRATA_PLAIN_HTTP": "1",
    "WEB_CONCURRENCY": "2",
    "DJANGO_SUPERUSER_PASSWORD": PASSWORD,
}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class TestOfficialClient:
    async def test_gets_access_and_calls_tools(self, production_and_key):
        production, _ = production_and_key
        made = production.manage(
            "createsuperuser", "--noinput", "--username", USER, "--email", "alice@example.org"
        )
        assert made.returncode == 0, made.stderr
        session = Session(production.url)

        with production.web(), session.browser.http:
            async with session.connect() as client:
                assert "add_document" in await list_names(client)
                for _ in range(10):  # any process may answer
                    assert not (await client.call_tool("list_indexes", {})).is_error

        assert session.browser.consents == 1
