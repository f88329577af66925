"""Workers that follow sources: two at once, and those that are killed or hang."""

from itertools import islice

import pytest
from django.utils import timezone

from feeds import fetching, listing, services
from feeds.models import Feed
from feeds.protocol import Fetched
from tests.feeds.conftest import make_feed, read_contents, run, states

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("build")]


class TestWorkers:
    def test_two_never_have_the_same_source(self, notes):
        Feed.objects.filter(pk=notes.pk).update(next_listing_at=timezone.now())
        assert Feed.objects.claimable().claim(1) is not None

        assert not services.work_on_feed(notes.pk)

    def test_that_lost_the_source_write_nothing(self, script):
        script.documents = {"a.txt": b"A"}
        feed = make_feed()
        services.work_on_feed(feed.pk)

        def lose(id, version):
            Feed.objects.update(lease_token=None)
            return original(id, version)

        original, script.fetch = script.fetch, lose
        services.work_on_feed(feed.pk)

        assert read_contents() == {}
        assert states(feed) == {"a.txt": "due"}

    def test_that_hang_lose_the_source_before_they_say_what_is_missing(
        self, notes, script, monkeypatch
    ):
        monkeypatch.setattr(fetching, "RENEWAL_SECONDS", 0.0)
        monkeypatch.setattr(listing, "BATCH_SIZE", 9)

        def hang(listed):
            yield from list(listed)[:-1]
            Feed.objects.update(lease_token=None)  # another worker has it when this one goes on

        script.lie = hang
        run(notes)

        assert set(states(notes).values()) == {"current"}

    def test_keep_a_source_that_lists_slowly(self, script, monkeypatch):
        monkeypatch.setattr(fetching, "RENEWAL_SECONDS", 0.0)
        script.documents = {f"{number}.txt": b"%d" % number for number in range(3)}
        held = []

        def list_slowly(listed):
            for each in listed:
                Feed.objects.update(leased_until=timezone.now())
                yield each
                held.append(not Feed.objects.free().exists())

        script.lie = list_slowly
        run(make_feed())

        assert held == [True] * 3

    def test_that_died_at_each_attempt_give_the_document_up(self, script, settings):
        script.documents = {"a.txt": b"A", "b.txt": b"B"}
        script.fetch_errors["a.txt"] = KeyboardInterrupt()
        feed = make_feed()

        for _ in range(settings.STRATA_MAX_ATTEMPTS):
            with pytest.raises(KeyboardInterrupt):
                run(feed)
        run(feed)

        assert states(feed) == {"a.txt": "failed", "b.txt": "current"}

    def test_that_died_are_followed_by_others(self, script):
        script.documents = {f"{number}.txt": b"%d" % number for number in range(5)}
        feed = make_feed()

        def die(listed):
            yield from islice(listed, 3)
            raise KeyboardInterrupt

        script.lie = die
        with pytest.raises(KeyboardInterrupt):
            run(feed)
        script.lie = None
        run(feed)

        assert read_contents() == script.documents


def test_a_long_fetch_keeps_its_source_as_long_as_bytes_come(script, monkeypatch):
    monkeypatch.setattr(fetching, "RENEWAL_SECONDS", 0.0)
    script.documents = {"a.txt": b"A"}
    feed = make_feed()
    services.work_on_feed(feed.pk)
    held = []

    def fetch_slowly(id, version):
        for _ in range(2):
            Feed.objects.update(leased_until=timezone.now())
            yield b"A"
            held.append(not Feed.objects.free().exists())

    monkeypatch.setattr(script, "fetch", lambda *given: Fetched(fetch_slowly(*given), "1"))
    services.work_on_feed(feed.pk)

    assert held == [True, True]
    assert read_contents() == {"a.txt": b"AA"}
