"""The cache that processes share in the production form."""

import json
import logging
import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.core.cache.backends.base import DEFAULT_TIMEOUT
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

T = TypeVar("T")

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 5.0  # Redis that hangs would delay each request by its time-out


class JSONSerializer:
    """Keeps values as JSON, because reading a pickle runs the code in it: anyone who can write to
    Redis could run code in every process."""

    def dumps(self, value: Any) -> bytes:
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)


class FaultTolerantRedisCache(RedisCache):
    """A Redis cache that behaves as empty while Redis does not answer.

    Its contents may be lost at any time; searches and answers work without them.
    """

    _paused_until = 0.0

    def ping(self) -> bool:
        """Whether Redis answers."""
        try:
            super().get("ping")
        except RedisError:
            return False
        return True

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        return _try(default, super().get, key, default, version)

    def set(
        self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> None:
        _try(None, super().set, key, value, timeout, version)

    def add(
        self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        """Return True if Redis does not answer, as if the caller were the first."""
        return _try(True, super().add, key, value, timeout, version)

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        """Return 0 if Redis does not answer, as if nothing had been counted.

        Every request counts, so Redis is then not asked for ``PAUSE_SECONDS``.

        Raises:
            ValueError: there is no such key.
        """
        if time.monotonic() < FaultTolerantRedisCache._paused_until:
            return 0
        try:
            return int(super().incr(key, delta, version))
        except RedisError as error:
            logger.warning("The cache did not answer: %s", error)
            FaultTolerantRedisCache._paused_until = time.monotonic() + PAUSE_SECONDS
            return 0

    def delete(self, key: str, version: int | None = None) -> bool:
        return _try(False, super().delete, key, version)


def _try(default: T, operation: Callable[..., T], *args: Any) -> T:
    """Carry out an operation; return ``default`` if Redis does not answer."""
    try:
        return operation(*args)
    except RedisError as error:
        logger.warning("The cache did not answer: %s", error)
        return default
