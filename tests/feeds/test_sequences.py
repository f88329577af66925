"""Random sequences of changes, failures, lies and deaths of workers: index and source agree in the
end, and no listing that failed or lied has removed a document."""

import random
from hashlib import sha256
from itertools import islice

import pytest
from django.utils import timezone

from documents.models import Artifact
from feeds import services
from feeds.exceptions import SourceUnavailable
from feeds.listing import FEW
from feeds.models import Feed
from tests.feeds.conftest import make_feed, run
from tests.feeds.scripted import Script

pytestmark = pytest.mark.django_db

STEPS = 12


class Died(BaseException):
    """The worker is killed."""


class Sequence:
    def __init__(self, script: Script, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.script = script
        self.number = 0
        script.documents = {}
        for _ in range(self.random.randint(0, 14)):
            self.add()
        self.feed = make_feed()

    def make_content(self) -> bytes:
        self.number += 1
        return f"Sequence {self.seed}, text {self.number}.".encode()

    # --- Changes at the source ---

    def add(self) -> None:
        folder = self.random.choice(["", "a/", "b/"])
        self.script.documents[f"{folder}{self.number}.txt"] = self.make_content()

    def change(self) -> None:
        self.script.documents[self.choose()] = self.make_content()

    def delete(self) -> None:
        del self.script.documents[self.choose()]

    def rename(self) -> None:
        content = self.script.documents.pop(self.choose())
        self.script.documents[f"renamed/{self.number}.txt"] = content
        self.number += 1

    def choose(self) -> str:
        return self.random.choice(sorted(self.script.documents))

    # --- Lies and failures ---

    def fail_somewhere(self, listed):
        yield from islice(listed, self.random.randint(0, 10))
        raise SourceUnavailable("The connection broke.")

    def die_somewhere(self, listed):
        yield from islice(listed, self.random.randint(0, 10))
        raise Died

    def say_nothing(self, listed):
        return iter(())

    def say_half(self, listed):
        everything = list(listed)
        return iter(everything[: len(everything) // 2])

    def count_unsaid(self) -> int:
        """How many known documents half a listing lacks."""
        said = sorted(self.script.documents)[: len(self.script.documents) // 2]
        known = self.feed.entries.exclude(sha256="").exclude(state="removing")
        return known.exclude(key__in=said).count()

    # --- Steps ---

    def step(self) -> None:
        for _ in range(self.random.randint(0, 3)):
            changes = [self.add]
            if self.script.documents:
                changes += [self.change, self.delete, self.rename]
            self.random.choice(changes)()
        lies = [self.fail_somewhere, self.die_somewhere, self.say_nothing, self.say_half]
        lie = self.random.choice([None, None, *lies])
        # A listing that lacks few is what comes after few deletions: two of them would agree.
        is_small = self.count_unsaid() <= max(FEW, 0.2 * self.feed.entries.count())
        self.script.lie = None if lie == self.say_half and is_small else lie
        for id in self.script.documents:
            if self.random.random() < 0.05:
                self.script.fetch_errors[id] = OSError("Broken.")
        if self.random.random() < 0.1:
            self.script.open_error = SourceUnavailable("It is down.")
        dies_at = self.random.choice([None, None, self.random.randint(1, 5)])
        stored = self.read_stored()
        if dies_at is not None:
            self.die_at_fetch(dies_at)
        self.run()
        if self.script.lie is not None:  # a removal can only follow earlier listings
            assert stored & self.contents <= self.read_stored(), self.seed
        self.recover()

    def die_at_fetch(self, number: int) -> None:
        original, count = Script.fetch, 0

        def fetch(id, version):
            nonlocal count
            count += 1
            if count == number:
                raise Died
            return original(self.script, id, version)

        vars(self.script)["fetch"] = fetch

    def run(self) -> None:
        try:
            run(self.feed)
        except Died:
            Feed.objects.update(lease_token=None, leased_until=None)

    def recover(self) -> None:
        self.script.lie = self.script.open_error = None
        self.script.fetch_errors.clear()
        vars(self.script).pop("fetch", None)

    @property
    def contents(self) -> set[str]:
        return {sha256(each).hexdigest() for each in self.script.documents.values()}

    def read_stored(self) -> set[str]:
        return set(Artifact.objects.values_list("sha256", flat=True))

    def finish(self) -> None:
        for _ in range(4):
            services.run_now(self.feed)
            self.feed.entries.update(next_attempt_at=timezone.now())
            self.run()
            if self.feed.waiting_removals:
                services.confirm_removals(self.feed)
        assert self.read_stored() == self.contents, self.seed
        assert Artifact.objects.count() == len(self.script.documents), self.seed
        assert set(self.feed.entries.values_list("state", flat=True)) <= {"current"}, self.seed


def play(script: Script, seed: int) -> None:
    sequence = Sequence(script, seed)
    for _ in range(STEPS):
        sequence.step()
    sequence.finish()
    Artifact.objects.all().delete()
    Feed.objects.all().delete()


@pytest.fixture(autouse=True)
def index(build):
    return build


def test_a_few_agree_in_the_end(script):
    for seed in range(6):
        play(script, seed)


@pytest.mark.slow
def test_many_agree_in_the_end(script):
    for seed in range(200):
        play(script, seed)
