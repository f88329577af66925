import pytest

from indexing.checks import check_lease_seconds, check_unconfirmed_seconds


class TestCheckLeaseSeconds:
    @pytest.mark.parametrize(
        ("seconds", "batch", "ids"),
        [(30, 2_000, []), (29, 256, ["indexing.E004"]), (120, 2_001, ["indexing.E004"])],
    )
    def test_requires_a_batch_to_fit_into_the_lease(self, settings, seconds, batch, ids):
        settings.STRATA_LEASE_SECONDS, settings.STRATA_SYNC_BATCH = seconds, batch

        assert [error.id for error in check_lease_seconds()] == ids


class TestCheckUnconfirmedSeconds:
    @pytest.mark.parametrize(("timeout", "ids"), [(30, []), (300, ["indexing.E005"])])
    def test_requires_more_seconds_than_a_request_may_take(self, settings, timeout, ids):
        settings.QDRANT_TIMEOUT_SECONDS, settings.STRATA_UNCONFIRMED_SECONDS = timeout, 300

        assert [error.id for error in check_unconfirmed_seconds()] == ids
