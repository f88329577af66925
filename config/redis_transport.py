"""A Kombu Redis transport that survives a lost connection."""

from typing import Any

from kombu.transport import redis
from redis.exceptions import ConnectionError


class HandOverChannel(redis.Channel):
    """Kombu's Redis channel, which also accepts a late ``ack`` or ``reject`` on a closed
    connection.

    Where Redis goes away, Celery 5.7 takes the broken connection apart while messages are still
    held by its channel. Whatever brings one back then would meet an ``AttributeError``, which
    ends the worker; a connection that is lost is what Celery expects there.
    """

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if self.connection is None or self.connection.client is None:
            raise ConnectionError("This channel's connection is closed.")
        parameters: dict[str, Any] = super()._connparams(asynchronous)  # type: ignore[no-untyped-call]
        return parameters


class Transport(redis.Transport):
    Channel = HandOverChannel
