"""The client by which commands ask the API."""

import httpx
import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError

from core import api_client
from core.api_client import open_api
from core.running_server import RunningServer

NOWHERE = RunningServer(url="http://127.0.0.1:1", key="k", pid=0)


class TestOpenApi:
    @pytest.mark.parametrize("host", ["strata.example", ".example", "*"])
    def test_works_in_this_process_under_the_production_settings(self, build, settings, host):
        settings.ALLOWED_HOSTS = [host]
        settings.SECURE_SSL_REDIRECT = True

        with open_api() as api:
            assert api.get("indexes/plain/")["name"] == "plain"

    def test_reports_that_the_server_stopped(self, monkeypatch):
        monkeypatch.setattr(api_client, "find_server", lambda: NOWHERE)

        said = pytest.raises(CommandError, match=r"did not answer.*\[server_unreachable\]")
        with said, open_api() as api:
            api.get("indexes/")

    def test_reports_errors_of_the_database(self, db, monkeypatch):
        def fail():
            raise DatabaseError("it is locked")

        monkeypatch.setattr(api_client, "prepare_database", fail)

        said = pytest.raises(CommandError, match=r"it is locked.*\[database_unavailable\]")
        with said, open_api():
            pass


class RefusingServer(RunningServer):
    def open_client(self, timeout: float, path: str = "") -> httpx.Client:
        problem = {"code": "too_many_requests", "detail": "A verification runs already."}
        answer = httpx.Response(429, json=problem)
        transport = httpx.MockTransport(lambda request: answer)
        return httpx.Client(base_url=f"{self.url}{path}", transport=transport)


def test_verify_reports_why_the_server_refuses_it(build, monkeypatch):
    server = RefusingServer(url="http://server.example", key="k", pid=0)
    monkeypatch.setattr(api_client, "find_server", lambda: server)

    with pytest.raises(CommandError, match=r"runs already\. \[too_many_requests\]"):
        call_command("verify")
