import pickle

import pytest
from django.core.cache.backends.redis import RedisCache
from redis.exceptions import ConnectionError as RedisUnreachable

from config.caches import FaultTolerantRedisCache, JSONSerializer


class TestJSONSerializer:
    @pytest.mark.parametrize("value", [True, 7, "grüße", {"node_ids": ["a"], "done_data": None}])
    def test_returns_what_was_stored(self, value):
        serializer = JSONSerializer()

        assert serializer.loads(serializer.dumps(value)) == value

    def test_executes_no_pickled_code(self):
        with pytest.raises(ValueError):  # noqa: PT011 - of the decoder
            JSONSerializer().loads(pickle.dumps({"a": 1}))


class TestCounting:
    def test_works_without_redis_and_does_not_retry_it_each_time(self, monkeypatch):
        asked: list[str] = []

        def fail(self, key, delta=1, version=None):
            asked.append(key)
            raise RedisUnreachable("refused")

        monkeypatch.setattr(RedisCache, "incr", fail)
        monkeypatch.setattr(FaultTolerantRedisCache, "_paused_until", 0.0)
        cache = FaultTolerantRedisCache("redis://127.0.0.1:1", {})

        assert [cache.incr("requests") for _ in range(3)] == [0, 0, 0]
        assert asked == ["requests"]
