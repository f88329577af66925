"""Messages doubled, out of order and lost."""

from random import Random

import pytest

from tests.faults.counts import note, times
from tests.faults.owner import Owner

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ["auk", "brent", "curlew", "dunlin", "eider"]
DEEDS = 12


def do_something(owner: Owner, chance: Random, number: int) -> None:
    name = chance.choice(NAMES)
    deed = chance.choice(["put", "put", "file", "relabel", "delete"])
    if deed == "put":
        owner.put(name, f"Sighting {number} of the {name}. " * chance.randint(1, 12))
    elif deed == "file":
        owner.put(name, f"Report {number} on the {name}.", is_file=True)
    elif deed == "relabel" and name in owner.ids:
        owner.relabel(name, title=f"{name} {number}")
    elif deed == "delete":
        owner.delete(name)


class TestMessages:
    @pytest.mark.parametrize("seed", range(times("messages")))
    def test_may_be_reordered_duplicated_or_lost(self, inside, seed):
        chance, owner = Random(seed), Owner(inside)
        waiting = inside.messages.waiting

        for number in range(DEEDS):
            do_something(owner, chance, number)
            for _ in range(chance.randint(0, len(waiting))):
                place = chance.randrange(len(waiting))
                fate = chance.random()
                if fate < 0.25:
                    waiting.pop(place)
                else:
                    inside.messages.deliver(place, keep=fate < 0.5)
                note("messages")
                if not waiting:
                    break
        report = inside.sync()

        owner.compare(report.as_json())
        for name, text in owner.texts.items():
            hits = owner.find(name, text)
            assert hits
            assert all(hit["text"] in text and hit["verdict"] == "exact" for hit in hits)
