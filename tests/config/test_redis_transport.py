"""``tests/faults/test_servers.py`` tests the channel with faults."""

from types import SimpleNamespace

import pytest

from config.celery import app
from config.redis_transport import CheckedChannel, Transport


class TestChannel:
    @pytest.mark.parametrize("connection", [None, SimpleNamespace(client=None)])
    def test_raises_a_connection_error_once_closed(self, connection):
        channel = CheckedChannel.__new__(CheckedChannel)
        channel.connection = connection

        with pytest.raises(Transport.connection_errors, match="closed"):
            channel._connparams()


class TestTransport:
    @pytest.mark.parametrize("scheme", ["redis", "rediss"])
    def test_is_used_for_redis_urls_and_keeps_their_scheme(self, scheme):
        with app.connection(f"{scheme}://127.0.0.1:6379/0") as connection:
            assert isinstance(connection.transport, Transport)
            assert connection.transport.Channel is CheckedChannel
            assert connection.as_uri().partition("://")[0] == scheme
