from datetime import UTC, datetime

import pytest
from django.core.cache import cache
from django.test import RequestFactory
from rest_framework.request import Request
from rest_framework.test import APIClient

from access import authentication, request_throttle, usage_limits
from access.authentication import ApiKeyUser
from access.exceptions import (
    ModelUseSpent,
    TooManyJobs,
    TooManyRequests,
    TooManyStreamsOfKey,
)
from access.grants import Scope
from access.models import ApiKey
from config.middleware import BODY_IS_PENDING
from tests.clients import client_with_key

pytestmark = pytest.mark.django_db

PLACE = "/api/v1/keys/"
NOON = datetime(2026, 11, 24, 12, tzinfo=UTC).timestamp()


@pytest.fixture(autouse=True)
def noon(monkeypatch):
    """Counters that start at 0 and stay in their period."""
    monkeypatch.setattr(usage_limits.time, "time", lambda: NOON + 10)
    monkeypatch.setattr(usage_limits, "_permits", usage_limits._Permits())
    monkeypatch.setattr(authentication, "_accepted", set())
    cache.clear()
    yield
    cache.clear()


class TestRequests:
    def test_over_the_limit_are_refused_and_other_keys_are_not(self, settings):
        settings.STRATA_KEY_REQUESTS_PER_MINUTE = limit = 3
        greedy, other = client_with_key(), client_with_key()

        answers = [greedy.get(PLACE) for _ in range(100 * limit)]

        assert [each.status_code for each in answers] == [200] * limit + [429] * 99 * limit
        assert answers[-1].json() == {
            "code": "too_many_requests",
            "detail": "The key has sent more than 3 requests in this minute.",
            "fix": "Try again after the number of seconds in Retry-After.",
        }
        assert answers[-1]["Retry-After"] == "50"
        assert other.get(PLACE).status_code == 200
        assert greedy.get("/health/live").status_code == 200
        assert greedy.get("/health/ready").status_code != 429

    def test_are_allowed_again_in_the_next_minute(self, settings, monkeypatch):
        settings.STRATA_KEY_REQUESTS_PER_MINUTE = 1
        client = client_with_key()
        assert [client.get(PLACE).status_code for _ in range(2)] == [200, 429]

        monkeypatch.setattr(usage_limits.time, "time", lambda: NOON + 60)

        assert client.get(PLACE).status_code == 200

    def test_are_not_counted_without_a_limit(self, settings):
        settings.STRATA_KEY_REQUESTS_PER_MINUTE = 0
        client = client_with_key()

        assert {client.get(PLACE).status_code for _ in range(20)} == {200}

    def test_without_a_key_are_counted_by_address(self, settings, client):
        settings.STRATA_KEY_REQUESTS_PER_MINUTE = 1

        statuses = [
            client.get("/api/schema/", REMOTE_ADDR=address).status_code
            for address in ("10.0.0.1", "10.0.0.1", "10.0.0.2")
        ]

        assert statuses == [200, 429, 200]

    def test_behind_a_proxy_are_counted_by_the_address_that_it_added(self, settings, client):
        settings.STRATA_CLIENT_ADDRESS_HEADER = "HTTP_X_FORWARDED_FOR"
        settings.STRATA_KEY_REQUESTS_PER_MINUTE = 1

        statuses = [
            client.get("/api/schema/", HTTP_X_FORWARDED_FOR=address).status_code
            for address in ("192.0.2.1", "192.0.2.3, 192.0.2.1", "192.0.2.2")
        ]

        assert statuses == [200, 429, 200]

    def test_of_a_user_are_counted(self, settings, admin_client):
        settings.STRATA_KEY_REQUESTS_PER_MINUTE = 1

        assert [admin_client.get(PLACE).status_code for _ in range(2)] == [200, 429]

    def test_with_the_servers_own_key_are_not_counted(self, settings):
        settings.STRATA_KEY_REQUESTS_PER_MINUTE = 1
        request = Request(RequestFactory().get(PLACE))
        request.user = ApiKeyUser("this server", None, Scope.MANAGE)

        for _ in range(3):
            assert request_throttle.RequestLimit().allow_request(request, None)

    def test_with_a_large_body_are_refused_before_it_is_read(self, settings):
        settings.STRATA_KEY_REQUESTS_PER_MINUTE = 1
        secret = ApiKey.issue("greedy")[1]
        client = client_with_key()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        batch = "/api/v1/indexes/plain/artifacts/batch"
        pending = {BODY_IS_PENDING: True, "content_type": "application/x-ndjson"}
        wanted = client.post(batch, b"", **pending)
        assert [client.get(PLACE).status_code for _ in range(2)] == [200, 429]

        refused = client.post(batch, b"", **pending)

        assert wanted.max_bytes == settings.STRATA_MAX_BATCH_BYTES
        assert refused.status_code == 429


class TestProcesses:
    """Each process asks the shared counter for a hundredth of the limit at a time."""

    @pytest.mark.parametrize(("limit", "asked"), [(3, 4), (1_000, 101)])
    def test_share_one_limit(self, settings, monkeypatch, limit, asked):
        settings.STRATA_KEY_REQUESTS_PER_MINUTE = limit
        counts: list[int] = []
        count = usage_limits._count
        monkeypatch.setattr(
            usage_limits, "_count", lambda *given: counts.append(1) or count(*given)
        )
        processes = [usage_limits._Permits(), usage_limits._Permits()]

        taken = [processes[number % 2].take("reader", limit) for number in range(10 * limit)]

        assert sum(taken) == limit
        assert len(counts) <= asked + 1  # the second process asks once more

    def test_share_what_is_left_of_the_limit(self):
        first, second = usage_limits._Permits(), usage_limits._Permits()
        usage_limits._count("requests", "reader", usage_limits.MINUTE, 197)
        assert first.take("reader", 200)  # and has taken a second permit of the three

        assert [second.take("reader", 200) for _ in range(2)] == [True, False]
        assert [first.take("reader", 200) for _ in range(2)] == [True, False]


class TestStreams:
    def test_are_refused_over_the_limit_until_one_ends(self, settings):
        settings.STRATA_KEY_STREAMS = 2
        slots = [usage_limits.take_stream("reader") for _ in range(2)]

        with pytest.raises(TooManyStreamsOfKey, match="2 answers at once"):
            usage_limits.take_stream("reader")
        assert usage_limits.take_stream("another")

        slots[0].free()
        assert usage_limits.take_stream("reader")

    def test_no_longer_count_once_nothing_refers_to_them(self, settings):
        settings.STRATA_KEY_STREAMS = 1

        for _ in range(3):
            usage_limits.take_stream("reader")

    def test_are_not_counted_without_a_limit(self, settings):
        settings.STRATA_KEY_STREAMS = 0

        assert len([usage_limits.take_stream("reader") for _ in range(3)]) == 3


class TestJobs:
    def test_allow_one_of_a_kind_of_a_key_at_a_time(self, settings):
        settings.STRATA_KEY_WAITING_JOBS = 5
        with usage_limits.one_at_a_time("reader", "verification"):
            with pytest.raises(TooManyJobs), usage_limits.one_at_a_time("reader", "verification"):
                pass
            with (
                usage_limits.one_at_a_time("another", "verification"),
                usage_limits.one_at_a_time("reader", "regeneration"),
            ):
                pass

        with usage_limits.one_at_a_time("reader", "verification"):
            pass

    def test_of_commands_are_not_limited(self):
        rows = ApiKey.objects.all()
        ApiKey.issue("one")

        usage_limits.require_room("manage.py", rows, 1, "keys")
        with pytest.raises(TooManyJobs, match="1 waiting keys"):
            usage_limits.require_room("reader", rows, 1, "keys")


class TestModelUse:
    @pytest.mark.parametrize(
        ("name", "use"),
        [("CALLS", {"calls": 2, "tokens": 0}), ("TOKENS", {"calls": 1, "tokens": 2})],
    )
    def test_is_refused_over_the_limit_until_the_next_day(self, settings, monkeypatch, name, use):
        setattr(settings, f"STRATA_KEY_MODEL_{name}_PER_DAY", 4)
        usage_limits.add_model_use("reader", **use)
        usage_limits.require_model_use("reader")
        usage_limits.add_model_use("reader", **use)

        with pytest.raises(ModelUseSpent, match=f"4 {name.lower()} of the language model") as error:
            usage_limits.require_model_use("reader")
        assert error.value.retry_after == 12 * 3600 - 10
        usage_limits.require_model_use("another")

        monkeypatch.setattr(usage_limits.time, "time", lambda: NOON + 12 * 3600)
        usage_limits.require_model_use("reader")

    def test_is_not_counted_without_a_limit(self):
        usage_limits.add_model_use("reader", calls=10**9, tokens=10**9)

        usage_limits.require_model_use("reader")


class TestCounters:
    def test_count_simultaneous_requests(self, settings, monkeypatch):
        """Another request makes the counter between the two calls of this one."""
        settings.STRATA_KEY_REQUESTS_PER_MINUTE = 1
        add = cache.add

        def add_second(key, value, timeout):
            add(key, 1, timeout)
            return add(key, value, timeout)

        monkeypatch.setattr(usage_limits.cache, "add", add_second, raising=False)

        with pytest.raises(TooManyRequests):
            usage_limits.count_request("reader")


class TestWrongKeys:
    HERE, ELSEWHERE = "192.0.2.7", "192.0.2.8"

    @pytest.fixture(autouse=True)
    def limit(self, settings):
        settings.STRATA_WRONG_KEYS_PER_MINUTE = 5
        return 5

    def guess(self, count, address=HERE):
        client = APIClient(REMOTE_ADDR=address)
        return [
            client.get(PLACE, HTTP_AUTHORIZATION=f"Bearer wrong-{number}")
            for number in range(count)
        ]

    def test_are_not_looked_up_after_many_from_one_address(self, limit, django_assert_num_queries):
        answers = self.guess(limit + 1)

        assert [each.status_code for each in answers] == [401] * (len(answers) - 1) + [429]
        assert answers[-1].json()["code"] == "too_many_wrong_keys"
        assert answers[-1]["Retry-After"] == "50"
        with django_assert_num_queries(0):
            self.guess(1)

    def test_do_not_shut_out_300_others_at_that_address(self, limit):
        others = [client_with_key() for _ in range(300)]

        self.guess(10 * limit)

        assert {each.get(PLACE, REMOTE_ADDR=self.HERE).status_code for each in others} == {200}

    def test_shut_out_keys_that_may_be_guessed_unless_that_address_has_used_them(self, limit):
        in_use, new = (
            {"HTTP_AUTHORIZATION": f"Bearer {ApiKey.issue(name, secret=name)[1]}"}
            for name in ("chosen-and-used", "chosen-and-new")
        )
        client = APIClient(REMOTE_ADDR=self.HERE)
        assert client.get(PLACE, **in_use).status_code == 200

        self.guess(limit + 1)

        assert client.get(PLACE, **in_use).status_code == 200
        assert client.get(PLACE, **new).status_code == 429
        assert client.get(PLACE, REMOTE_ADDR=self.ELSEWHERE, **new).status_code == 200

    def test_of_the_form_of_a_key_are_refused_as_often(self, limit):
        client = APIClient(REMOTE_ADDR=self.HERE)
        wrong = {"HTTP_AUTHORIZATION": f"Bearer strata_{43 * 'x'}"}

        assert [client.get(PLACE, **wrong).status_code for _ in range(limit + 2)][-2:] == [429, 429]

    def test_are_looked_up_again_in_the_next_minute(self, limit, monkeypatch):
        self.guess(limit + 1)

        monkeypatch.setattr(usage_limits.time, "time", lambda: NOON + 60)

        assert client_with_key().get(PLACE, REMOTE_ADDR=self.HERE).status_code == 200
