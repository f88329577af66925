"""The channel of ours is met with faults in ``tests/faults/test_server_broker.py``."""

from types import SimpleNamespace

import pytest

from config.celery import app
from config.redis_transport import HandOverChannel, Transport


class TestChannel:
    @pytest.mark.parametrize("connection", [None, SimpleNamespace(client=None)])
    def test_without_its_connection_says_that_it_is_lost(self, connection):
        channel = HandOverChannel.__new__(HandOverChannel)
        channel.connection = connection

        with pytest.raises(Transport.connection_errors, match="closed"):
            channel._connparams()


class TestTransport:
    @pytest.mark.parametrize("scheme", ["redis", "rediss"])
    def test_is_what_reaches_redis_and_is_called_so(self, scheme):
        with app.connection(f"{scheme}://127.0.0.1:6379/0") as connection:
            assert isinstance(connection.transport, Transport)
            assert connection.transport.Channel is HandOverChannel
            assert connection.as_uri().partition("://")[0] == scheme
