"""Random sequences of work and faults, compared with a model of the expected state.

Hypothesis generates sequences, shortens one that fails, and prints it as a program.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import hypothesis
import pytest
from django.db import connections
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from documents.models import PendingRevision
from indexing import embedding, lifecycle
from indexing.exceptions import BuildUnfinished, WrongBuildState
from indexing.models import IndexBuild
from indexing.stores import get_store
from indexing.verification import verify_build
from tests.faults.counts import IS_LONG, note, times
from tests.faults.inside import Inside
from tests.faults.owner import Owner, Refused
from tests.faults.tripwire import (
    MakeError,
    Tripwire,
    Wiring,
    check_refusal,
    database_away,
    defect,
    killed,
    model_away,
    store_away,
    store_busy,
    store_refuses,
    wire_commits,
    wire_model,
    wire_statements,
    wire_store,
)
from tests.hashing import HashingEmbedder

pytestmark = pytest.mark.django_db(transaction=True)

MOST_ATTEMPTS = 3  # between two syncs; work that fails five times is correctly given up

RECIPES = [
    "",
    "chunks: {strategies: [{name: sentence, max_chars: 60}]}\n",
    "chunks: {strategies: [{name: paragraph}], context: []}\n",
    "embedding: {model: another, dimension: 48}\n",
]


FAULTS = [
    (wire_store, store_away), (wire_store, store_refuses), (wire_store, store_busy),
    (wire_store, defect), (wire_store, killed),
    (wire_model, model_away), (wire_model, defect), (wire_model, killed),
    (wire_statements, database_away), (wire_statements, killed),
    (wire_commits, database_away), (wire_commits, killed),
]  # fmt: skip
names = st.sampled_from(["auk", "brent", "curlew"])
lengths = st.integers(1, 6)
places = st.integers(0, 99)


def _calls(fault: tuple[Wiring, MakeError]) -> st.SearchStrategy[Any]:
    """The number of the failing call: a step has many statements and few other calls."""
    return st.tuples(st.just(fault), st.integers(1, 25 if fault[0] is wire_statements else 6))


faults = st.one_of(st.none(), st.sampled_from(FAULTS).flatmap(_calls))


class Service(RuleBasedStateMachine):
    inside: ClassVar[Inside]
    wires: ClassVar[dict[Any, Tripwire]]
    spec_file: ClassVar[Path]

    @initialize()
    def begin(self) -> None:
        """Start with synced documents, because most faults need some."""
        self.owner = Owner(self.inside)
        self.versions: dict[str, list[str]] = {}  # every text a document ever had
        self.shown: set[str] = set()  # documents that a search must find
        self.spent = 0  # attempts that failed since everything was synced
        self.number = 0
        for name in ("auk", "brent"):
            self.put(name=name, length=2, is_file=False, fault=None)
        self.sync()
        note("machine")

    # --- What people do ----------------------------------------------------------------------

    @rule(name=names, length=lengths, is_file=st.booleans(), fault=faults)
    def put(self, name: str, length: int, is_file: bool, fault: Any) -> None:
        self.number += 1
        text = f"Sighting {self.number} of the {name}. " * length
        self.versions.setdefault(name, []).append(text)
        self.acknowledge(lambda: self.owner.put(name, text, is_file=is_file), fault)

    @rule(name=names, length=lengths, fault=faults)
    def put_and_work(self, name: str, length: int, fault: Any) -> None:
        self.put(name=name, length=length, is_file=False, fault=None)
        self.attempt(self.inside.messages.deliver_all, fault)

    @rule(name=names, fault=faults)
    def relabel(self, name: str, fault: Any) -> None:
        if name in self.owner.ids:
            self.number += 1
            label = {"metadata": {"number": self.number}}
            self.acknowledge(lambda: self.owner.relabel(name, **label), fault)

    @rule(name=names, fault=faults)
    def delete(self, name: str, fault: Any) -> None:
        self.shown.discard(name)
        self.acknowledge(lambda: self.owner.delete(name), fault)

    @rule(recipe=st.sampled_from(RECIPES), is_hasty=st.booleans(), fault=faults)
    def begin_build(self, recipe: str, is_hasty: bool, fault: Any) -> None:
        self.spec_file.write_text(recipe, encoding="utf-8")
        self.attempt(lambda: lifecycle.apply_spec("plain"), fault)
        if is_hasty:
            self.promote(fault=None)

    @rule(fault=faults)
    def promote(self, fault: Any) -> None:
        build = IndexBuild.objects.filter(state=IndexBuild.State.BUILDING).last()
        if build is not None:
            self.attempt(lambda: lifecycle.promote_build(build), fault)

    @rule(fault=faults)
    def roll_back(self, fault: Any) -> None:
        self.shown.clear()  # the standby may not show newer documents yet
        self.attempt(lambda: lifecycle.roll_back_index("plain"), fault)

    @rule(fault=faults)
    def prune(self, fault: Any) -> None:
        self.attempt(lambda: lifecycle.prune_builds("plain"), fault)
        self.attempt(lambda: lifecycle.remove_retired_builds(grace_seconds=0), fault)

    # --- What becomes of messages, leases and processes --------------------------------------

    # Not preconditions: ids are random, so the number of waiting messages may differ when
    # Hypothesis repeats a sequence, and it reports rules that come and go as a flaky test.

    @rule(place=places, is_doubled=st.booleans(), fault=faults)
    def deliver(self, place: int, is_doubled: bool, fault: Any) -> None:
        messages = self.inside.messages
        if messages.waiting:
            place %= len(messages.waiting)
            self.attempt(lambda: messages.deliver(place, keep=is_doubled), fault)

    @rule(fault=faults)
    def deliver_all(self, fault: Any) -> None:
        self.attempt(self.inside.messages.deliver_all, fault)

    @rule(place=places)
    def lose(self, place: int) -> None:
        if waiting := self.inside.messages.waiting:
            del waiting[place % len(waiting)]

    @rule(is_whole=st.booleans())
    def lose_points(self, is_whole: bool) -> None:
        """The store loses the live build's points, all or some."""
        build = IndexBuild.objects.live().get(index="plain")
        collection = build.collection("chunk")
        if is_whole:
            get_store().drop_collection(collection)
        else:
            points = next(get_store().scroll(collection, batch=2), [])
            get_store().delete(collection, [point.id for point in points])
        self.shown.clear()  # until a sync; a loss of some is noticed by the reconciliation only

    @rule()
    def expire_leases(self) -> None:
        self.inside.expire_leases()

    @rule()
    def reconcile(self) -> None:
        self.inside.reconcile()

    # --- What must hold ----------------------------------------------------------------------

    @invariant()
    def finds_what_stands(self) -> None:
        """After any step, a search finds every document, and only texts that the document had."""
        for name in self.owner.ids:
            try:
                hits = self.owner.find(name, name)
            except Refused as refused:
                if refused.answer.json()["code"] != "points_lost":
                    raise
                continue
            assert hits or name not in self.shown
            for hit in hits:
                if hit["verdict"] == "exact":
                    assert hit["text"] in self.owner.read(name)
                else:
                    assert any(hit["text"] in text for text in self.versions[name])

    @rule()
    def sync(self) -> None:
        """After the faults, everything becomes correct without help."""
        report = self.inside.sync()
        self.owner.compare(report.as_json())
        for build in IndexBuild.objects.not_retired().filter(index="plain"):
            assert verify_build(build).is_sound, build
        assert not PendingRevision.objects.exists()
        for name, text in self.owner.texts.items():
            hits = self.owner.find(name, name)
            assert hits
            assert all(hit["verdict"] == "exact" and hit["text"] in text for hit in hits)
        self.shown = set(self.owner.ids)
        self.spent = 0

    def teardown(self) -> None:
        for wire in self.wires.values():
            wire.set(0)
        self.sync()
        for name in [*self.owner.ids]:
            self.owner.delete(name)
        self.sync()

    def attempt(self, deed: Callable[[], Any], fault: Any) -> bool:
        """Run the action with an exception at one of its calls; return whether it completed."""
        if fault is None or self.spent >= MOST_ATTEMPTS:
            return _is_done(deed)
        (wiring, error), call = fault
        wire = self.wires[wiring]
        wire.set(call, error)
        self.inside.messages.is_expected = wire.is_cause
        try:
            return _is_done(deed)
        except Refused as refused:
            check_refusal(refused, wire)
        except BaseException as error:
            if not wire.is_cause(error):
                raise
            forget_transaction()
        finally:
            self.spent += wire.raised is not None
            wire.set(0)
        return False

    def acknowledge(self, deed: Any, fault: Any) -> None:
        """Run the action until it is acknowledged, as clients do."""
        if not self.attempt(deed, fault):
            deed()


def _is_done(deed: Callable[[], Any]) -> bool:
    with suppress(WrongBuildState, BuildUnfinished):  # a valid answer
        deed()
    return True


def forget_transaction() -> None:
    """Roll back: the transaction of a dead process is lost."""
    connections["default"].connection.rollback()


@pytest.fixture
def machine(inside, settings, tmp_path, monkeypatch):
    """The machine of a service in which every call can be made to fail."""
    folder = tmp_path / "specs"
    folder.mkdir()
    settings.STRATA_SPECS_DIR = folder
    monkeypatch.setattr(embedding, "get_embedder", cache(HashingEmbedder))
    wires = {}
    for wiring in dict(FAULTS):
        wires[wiring] = Tripwire()
        wiring(wires[wiring], monkeypatch)
    world = {"inside": inside, "wires": wires, "spec_file": folder / "plain.yaml"}
    return type("Machine", (Service,), world)


class TestAnySequence:
    def test_ends_with_an_index_that_matches_the_documents(self, machine):
        sequences = hypothesis.settings(
            max_examples=times("machine"),
            stateful_step_count=40 if IS_LONG else 20,
            derandomize=not IS_LONG,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        )

        run_state_machine_as_test(machine, settings=sequences)
