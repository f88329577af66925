"""kill -9 of the service before or after each step of its work."""

from itertools import count, product

import pytest

from tests.faults.armed import armed, do_all
from tests.faults.counts import IS_LONG, note, times
from tests.faults.owner import Owner

STEPS = [
    "parse", "pages", "plan", "plan_nodes", "claim", "embed", "upsert", "payloads", "sync",
    "mark_deleting", "delete", "rows",
]  # fmt: skip
MOMENTS = ["before", "after"]
COMMITS = 8  # of one round; the service is killed at each
if IS_LONG:
    CASES = [(step, moment, 1) for step, moment in product(STEPS, MOMENTS)]
    CASES += [("commit", moment, call) for moment in MOMENTS for call in range(1, COMMITS + 1)]
else:
    CASES = [
        ("parse", "before", 1), ("plan", "after", 1), ("claim", "after", 1), ("upsert", "after", 1),
        ("sync", "before", 1), ("delete", "after", 1), ("commit", "after", 3),
    ]  # fmt: skip
BATCH_CASES = [("plan_nodes", "before", 1), ("plan_nodes", "after", 1), ("plan", "after", 1)]
BATCH_SIZE = 60  # documents of one request, of which many are planned in one transaction


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with armed(tmp_path_factory.mktemp("killed")) as service:
        yield service


@pytest.fixture(scope="module")
def owner(service):
    """An owner with two documents: one to edit, one to relabel."""
    owner = Owner(service)
    owner.put("edited", tide("edited", 0))
    owner.put("relabelled", tide("relabelled", 0))
    owner.check()
    return owner


@pytest.fixture(scope="module")
def rounds():
    return count(1)


def tide(name: str, version: int) -> str:
    """A text whose versions share only the name."""
    return " ".join(f"The tide of {name} stood at {version}x{line}." for line in range(30))


class TestAServiceKilledAtAStep:
    @pytest.mark.parametrize(("step", "moment", "call"), CASES)
    def test_loses_and_duplicates_nothing(self, service, owner, rounds, step, moment, call):
        for version, _ in zip(rounds, range(times("kill-step")), strict=False):
            owner.put("deleted", tide("deleted", version))
            owner.check()

            # A round of all actions, which reaches every step.
            service.arm(step, moment, call)
            do_all(
                service,
                [
                    lambda n=version: owner.put(f"file {n}", tide("file", n), is_file=True),
                    lambda n=version: owner.put("edited", tide("edited", n)),
                    lambda n=version: owner.relabel("relabelled", metadata={"round": n}),
                    lambda: owner.delete("deleted"),
                ],
            )

            owner.check()
            assert owner.find("edited", f"{version}x7")
            note("kill-step")

    @pytest.mark.parametrize(("step", "moment", "call"), BATCH_CASES)
    def test_plans_every_document_of_a_batch(self, service, owner, rounds, step, moment, call):
        for version, _ in zip(rounds, range(times("kill-step")), strict=False):
            names = [f"batch{number}" for number in range(BATCH_SIZE)]
            texts = {name: tide(name, version) for name in names}
            service.arm(step, moment, call)

            do_all(service, [lambda given=texts: owner.put_many(given)])

            owner.check()
            assert owner.find(names[-1], names[-1])
            note("kill-step")

    @pytest.mark.parametrize("moment", MOMENTS if IS_LONG else MOMENTS[:1])
    def test_creates_a_collection_completely_or_not_at_all(self, tmp_path, moment):
        with armed(tmp_path) as service:
            owner = Owner(service)
            service.arm("collection", moment)

            do_all(service, [lambda: owner.put("first", tide("first", 1))])

            owner.check()
            assert owner.find("first", "1x7")
            note("kill-step")
