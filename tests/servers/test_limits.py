"""The limits of the web server in the production form."""

import re
from collections.abc import Iterator

import pytest

from tests.limits.web_server import TestWebServerLimits, WebServer

pytestmark = pytest.mark.django_db  # creates the test database

SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "tests.limits.production_settings",
    "STRATA_TEST_QUICK": "1",
    "WEB_CONCURRENCY": "1",
}


@pytest.fixture(scope="module")
def server(production_and_key) -> Iterator[WebServer]:
    """One web server for all tests."""
    production, secret = production_and_key
    with production.web() as process:
        [pid] = re.findall(r"Booting worker with pid: (\d+)", production.read_logs())
        yield WebServer(production.port, secret, int(pid), process.pid)


class TestProductionWebServer(TestWebServerLimits):
    __test__ = True
