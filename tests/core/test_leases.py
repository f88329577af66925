import errno
import socket
import sqlite3
import time
import uuid
from contextlib import closing

import pytest
from django.db import OperationalError
from django.utils import timezone

from core.exceptions import DiskFull, InvalidInput
from core.leases import WORKER_DIED, release_all_leases
from webhooks.models import Delivery


@pytest.fixture
def rows(db, settings):
    settings.STRATA_WEBHOOK_URLS = ["https://receiver.example"]
    for number in range(3):
        Delivery.objects.create(url="https://receiver.example", event="e", payload={"n": number})
    return Delivery.objects.order_by("created_at")


class TestClaim:
    def test_claims_no_row_for_two_workers(self, rows):
        first, second = rows.claim(2), rows.claim(2)

        assert len(first.rows) == 2
        assert len(second.rows) == 1
        assert not first.rows & second.rows
        assert rows.claim(2) is None

    def test_counts_the_attempt_before_the_work(self, rows):
        rows.claim(2)

        assert sorted(rows.values_list("attempts", flat=True)) == [0, 1, 1]

    def test_claims_rows_whose_lease_was_not_renewed(self, rows):
        lost = rows.claim(3)
        rows.update(leased_until=timezone.now() - timezone.timedelta(seconds=1))

        assert len(rows.claim(3).rows) == 3
        assert not lost.rows

    def test_claims_rows_whose_lease_was_taken_before_the_clock_was_set_back(self, rows):
        lost = rows.claim(3)
        rows.update(leased_until=timezone.now() + timezone.timedelta(days=1))

        assert len(rows.claim(3).rows) == 3
        assert not lost.rows

    def test_claims_rows_that_failed_repeatedly_last_and_alone(self, rows):
        suspects = list(rows.values_list("pk", flat=True)[:2])
        rows.filter(pk__in=suspects).update(attempts=2)

        fresh, suspect = rows.claim_batch(3), rows.claim_batch(3)

        assert [len(fresh.rows), len(suspect.rows)] == [1, 1]
        assert suspect.rows.get().pk in suspects

    def test_gives_up_rows_that_killed_their_worker_each_time(self, rows):
        rows.update(attempts=Delivery.max_attempts())

        assert rows.claim_batch(3) is None
        assert rows.give_up_exhausted() == 3
        assert set(rows.values_list("state", "last_error")) == {("given_up", WORKER_DIED)}


def disk_fails() -> None:
    raise OSError(errno.EIO, "Input/output error")


def database_is_locked() -> None:
    """As Django raises it, with the error of SQLite as the cause."""
    name = "file:locked?mode=memory&cache=shared"
    with (
        closing(sqlite3.connect(name, uri=True)) as first,
        closing(sqlite3.connect(name, uri=True, timeout=0)) as second,
    ):
        first.execute("begin exclusive")
        first.execute("create table held (number)")
        try:
            second.execute("create table other (number)")
        except sqlite3.OperationalError as error:
            raise OperationalError(str(error)) from error


def server_refuses() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        socket.create_connection(free.getsockname(), timeout=5)


class TestWorking:
    def test_releases_rows_that_were_not_done(self, rows):
        claim = rows.claim(3)

        with claim.working():
            claim.rows.filter(pk=rows[0].pk).update(state="delivered")

        assert len(rows.free()) == 3

    def test_restores_the_attempt_after_an_expected_error(self, rows):
        with pytest.raises(DiskFull), rows.claim(3).working():
            raise DiskFull("No room.", fix="Make some.")

        assert set(rows.values_list("attempts", "last_error")) == {(0, "No room. Make some.")}
        assert len(rows.free()) == 3

    @pytest.mark.parametrize("outage", [disk_fails, database_is_locked, server_refuses])
    def test_restores_the_attempt_after_a_fault_of_the_machine(self, rows, outage):
        with pytest.raises((OSError, OperationalError)), rows.claim(3).working():
            outage()

        assert set(rows.values_list("attempts", "state")) == {(0, "due")}

    @pytest.mark.parametrize(
        "error",
        [FileNotFoundError(2, "its file"), ZeroDivisionError("a defect"), InvalidInput("bad")],
    )
    def test_saves_any_other_error_on_the_rows_and_does_not_raise_it(self, rows, error):
        with rows.claim(3).working():
            raise error

        assert set(rows.values_list("attempts", "state")) == {(1, "due")}
        assert str(error) in rows[0].last_error

    def test_gives_up_at_the_last_attempt(self, rows):
        rows.update(attempts=Delivery.max_attempts() - 1)

        with rows.claim(1).working():
            raise ZeroDivisionError

        assert rows.filter(state="given_up").count() == 1

    def test_changes_no_row_of_a_lost_claim(self, rows):
        with rows.claim(3).working():
            rows.update(lease_token=(other := uuid.uuid4()))
            raise ZeroDivisionError

        assert set(rows.values_list("lease_token", "last_error")) == {(other, "")}


class TestRenewed:
    @pytest.mark.django_db(transaction=True)
    def test_renews_the_lease_while_the_work_runs(self, rows, settings):
        settings.STRATA_LEASE_SECONDS = 0.6
        claim = rows.claim(3)
        first_until = rows[0].leased_until

        with claim.renewed():
            deadline = time.monotonic() + 60
            while rows[0].leased_until == first_until and time.monotonic() < deadline:
                time.sleep(0.05)

        assert set(claim.rows.filter(leased_until__gt=first_until)) == set(rows)


class TestReleaseAllLeases:
    def test_frees_the_rows_of_every_table(self, rows):
        rows.claim(3)

        release_all_leases()

        assert len(rows.free()) == 3
