"""The limits of the web server in the production form."""

import re
from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection

from access.models import ApiKey
from indexing.services import load_specs
from tests.limits.web_server import TestWebServerLimits, WebServer
from tests.servers.conftest import REDIS_URL
from tests.servers.production import Production

pytestmark = pytest.mark.django_db  # creates the test database

SETTINGS = {
    "DJANGO_SETTINGS_MODULE": "tests.limits.production_settings",
    "STRATA_TEST_QUICK": "1",
    "WEB_CONCURRENCY": "1",
}


@pytest.fixture(scope="module")
def server(
    postgresql, django_db_setup, django_db_blocker, broker, qdrant_url, tmp_path_factory
) -> Iterator[WebServer]:
    """One web server for all tests; its rows are removed afterwards."""
    database_url = "postgresql://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}"
    with django_db_blocker.unblock():
        load_specs()
        secret = ApiKey.issue("the tests")[1]
        production = Production(
            tmp_path_factory.mktemp("limits"),
            database_url=database_url.format(**connection.settings_dict),
            redis_url=REDIS_URL,
            qdrant_url=qdrant_url,
            **SETTINGS,
        )
    with production.web() as process:
        [pid] = re.findall(r"Booting worker with pid: (\d+)", production.read_logs())
        yield WebServer(production.port, secret, int(pid), process.pid)
    production.api.close()
    with django_db_blocker.unblock():
        call_command("flush", interactive=False, verbosity=0)
    if left := list(broker.scan_iter(f"{production.key_prefix}*")):
        broker.delete(*left)


class TestProductionWebServer(TestWebServerLimits):
    __test__ = True
