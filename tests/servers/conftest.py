import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import psycopg
import pytest
import redis
from django.core.management import call_command
from django.db import connection, connections

from access.models import ApiKey
from indexing import tasks
from indexing.services import load_specs
from tests.servers.production import Production, missing

REDIS_URL = os.environ.get("STRATA_TEST_REDIS_URL", "redis://127.0.0.1:6379/9")

AtOnce = Callable[..., list[Any]]


@pytest.fixture(scope="session", autouse=True)
def postgresql() -> None:
    """Runs before the test database is created, and reports what is missing."""
    if connection.vendor != "postgresql":
        pytest.skip("Needs DJANGO_SETTINGS_MODULE=config.settings.test_servers")
    server = connection.settings_dict
    try:
        psycopg.connect(
            host=server["HOST"], port=server["PORT"] or None, user=server["USER"],
            password=server["PASSWORD"] or None, dbname="postgres", connect_timeout=5,
        ).close()  # fmt: skip
    except psycopg.OperationalError as error:
        missing(f"PostgreSQL does not answer: {error}")


@pytest.fixture(scope="session")
def broker() -> redis.Redis:
    client = redis.Redis.from_url(REDIS_URL, socket_connect_timeout=5)
    try:
        client.ping()
    except redis.ConnectionError as error:
        missing(f"Redis does not answer: {error}")
    return client


@pytest.fixture(scope="module")
def production_and_key(
    request, postgresql, django_db_setup, django_db_blocker, broker, qdrant_url, tmp_path_factory
) -> Iterator[tuple[Production, str]]:
    """The production form with the SETTINGS of the module, and a key; its rows go later."""
    with django_db_blocker.unblock():
        load_specs()
        secret = ApiKey.issue("the tests")[1]
        production = Production(
            tmp_path_factory.mktemp("production"),
            database_url="postgresql://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}".format(
                **connection.settings_dict
            ),
            redis_url=REDIS_URL,
            qdrant_url=qdrant_url,
            **request.module.SETTINGS,
        )
    yield production, secret
    with django_db_blocker.unblock():
        production.forget()
        call_command("flush", interactive=False, verbosity=0)


@pytest.fixture
def no_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """No message is sent, so the test alone decides what runs."""
    for task in (tasks.plan_build, tasks.sync_nodes):
        monkeypatch.setattr(task, "delay", lambda **ids: None)


@pytest.fixture
def at_once() -> AtOnce:
    """Call a function with each of several arguments at the same time; return the results.

    Each call has its own thread and database connection. An exception of a call is raised.
    """

    def run(function: Callable[[Any], Any], arguments: list[Any]) -> list[Any]:
        start = Barrier(len(arguments))

        def call(argument: Any) -> Any:
            try:
                connection.ensure_connection()
                start.wait(timeout=30)
                return function(argument)
            finally:
                connections.close_all()

        with ThreadPoolExecutor(len(arguments)) as threads:
            return list(threads.map(call, arguments))

    return run
