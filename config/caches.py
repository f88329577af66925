"""The cache that processes share in the production form."""

import json
import logging
import time
from typing import Any

from django.core.cache.backends.redis import RedisCache
from redis.exceptions import RedisError

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
        try:
            return super().get(key, default, version)
        except RedisError as error:
            logger.warning("The cache did not answer: %s", error)
            return default

    def set(self, key: str, value: Any, timeout: Any = ..., version: int | None = None) -> None:
        options = {} if timeout is ... else {"timeout": timeout}
        try:
            super().set(key, value, version=version, **options)
        except RedisError as error:
            logger.warning("The cache did not answer: %s", error)

    def add(self, key: str, value: Any, timeout: Any = ..., version: int | None = None) -> bool:
        """Return True if Redis does not answer, as if the caller were the first."""
        options = {} if timeout is ... else {"timeout": timeout}
        try:
            return bool(super().add(key, value, version=version, **options))
        except RedisError as error:
            logger.warning("The cache did not answer: %s", error)
            return True

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
        try:
            return bool(super().delete(key, version))
        except RedisError as error:
            logger.warning("The cache did not answer: %s", error)
            return False
