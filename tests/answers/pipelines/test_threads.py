import asyncio
import threading
from typing import Any

import pytest
from django.db import close_old_connections, connection
from haystack import component

from answers.pipelines.run_async import add_run_async
from indexing.models import Index
from retrieval import event_loop


@component
@add_run_async
class Counter:
    """Counts the indexes and returns its thread."""

    @component.output_types(count=int, thread=str)
    def run(self, least: int = 0) -> dict[str, Any]:
        count = max(least, Index.objects.count())
        return {"count": count, "thread": threading.current_thread().name}


@pytest.mark.django_db(transaction=True)
class TestInThreads:
    def test_does_not_block_the_event_loop(self):
        answer = asyncio.run(Counter().run_async(least=3))

        assert answer["count"] == 3
        assert answer["thread"] != threading.current_thread().name

    def test_closes_old_connections_before_and_after(self, monkeypatch):
        put_away = []

        def close_and_note():
            put_away.append(threading.current_thread().name)
            close_old_connections()

        monkeypatch.setattr(event_loop, "close_old_connections", close_and_note)

        answer = asyncio.run(Counter().run_async())

        assert put_away == [answer["thread"]] * 2

    def test_runs_a_synchronous_call_in_its_own_thread(self):
        answer = Counter().run()

        assert answer["thread"] == threading.current_thread().name
        assert connection.connection is not None

    def test_keeps_the_inputs_and_outputs_of_the_component(self):
        made: Any = Counter()

        assert made.__haystack_supports_async__
        assert list(made.__haystack_input__._sockets_dict) == ["least"]
        assert list(made.__haystack_output__._sockets_dict) == ["count", "thread"]
