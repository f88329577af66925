"""``strata search`` beside a running server, which sees only what is committed."""

import pytest

from access.models import ApiKey
from core import api_client
from core.running_server import RunningServer
from tests.retrieval.test_search_command import search, write_notes


class TestSearchCommand:
    @pytest.mark.django_db(transaction=True)
    def test_asks_a_running_server(self, store, embedder, capsys, live_server, monkeypatch):
        write_notes()
        _, secret = ApiKey.issue("commands")
        running = RunningServer(url=live_server.url, key=secret, pid=0)
        monkeypatch.setattr(api_client, "find_server", lambda: running)
        # Beside a server, the command must not answer in its own process.
        monkeypatch.setattr(api_client, "WSGIHandler", None)

        assert "1. Notes  0.0" in search(capsys, "hierarchical")
