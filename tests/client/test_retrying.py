from datetime import UTC, datetime

import pytest

from strata_client import StrataError
from strata_client.retrying import compute_backoff, compute_retry_wait, read_retry_after

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


class TestComputeBackoff:
    @pytest.mark.parametrize(("tries", "bound"), [(1, 0.5), (2, 1), (3, 2), (5, 8), (2_000, 8)])
    def test_is_random_up_to_a_limit_that_doubles(self, tries, bound):
        waits = [compute_backoff(tries) for _ in range(300)]

        assert 0 <= min(waits) < bound / 4
        assert bound * 3 / 4 < max(waits) <= bound


class TestReadRetryAfter:
    @pytest.mark.parametrize(
        ("value", "seconds"),
        [
            ("7", 7),
            (" 7 ", 7),
            ("Sat, 21 Nov 2026 12:00:30 GMT", 30),
            ("Sat, 21 Nov 2026 12:00:30 -0000", 30),
            ("Sat, 21 Nov 2026 11:00:00 GMT", 0),
            ("soon", None),
            ("-1", None),
            ("²", None),
            ("", None),
        ],
    )
    def test_reads_seconds_or_a_date(self, value, seconds):
        assert read_retry_after({"Retry-After": value}, NOW) == seconds

    def test_returns_none_without_the_header(self):
        assert read_retry_after({}) is None


class TestComputeRetryWait:
    def test_returns_none_for_errors_that_a_retry_cannot_resolve(self):
        for status in (400, 401, 403, 404, 409, 413, 422, 500, 507):
            assert (
                compute_retry_wait(StrataError("No.", status=status), 1, is_idempotent=True) is None
            )
