"""A Kombu Redis transport that survives a lost connection."""

from typing import Any

from kombu.transport import redis
from redis.exceptions import ConnectionError


class CheckedChannel(redis.Channel):
    """Kombu's Redis channel, but an ``ack`` or ``reject`` on a closed connection raises
    ``ConnectionError``.

    When Redis goes away, Celery 5.7 tears down the connection while its channel still holds
    messages. Returning one of them would then raise ``AttributeError``, which ends the worker;
    Celery handles ``ConnectionError``.
    """

    def _connparams(self, asynchronous: bool = False) -> dict[str, Any]:
        if self.connection is None or self.connection.client is None:
            raise ConnectionError("This channel's connection is closed.")
        parameters: dict[str, Any] = super()._connparams(asynchronous)  # type: ignore[no-untyped-call]
        return parameters


class Transport(redis.Transport):
    Channel = CheckedChannel
