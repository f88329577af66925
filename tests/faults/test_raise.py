"""An exception at the n-th call of the store, the model and the database, for every n there is."""

from itertools import count, takewhile

import pytest

from tests.faults.counts import IS_LONG, note
from tests.faults.inside import Inside
from tests.faults.owner import Owner, Refused
from tests.faults.tripwire import (
    MakeError,
    Tripwire,
    check_refusal,
    database_away,
    defect,
    installed,
    model_away,
    store_away,
    wire_commits,
    wire_model,
    wire_statements,
    wire_store,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner(inside):
    owner = Owner(inside)
    for name in ("kept", "edited", "relabelled", "deleted"):
        owner.put(name, f"The {name} text at first.")
    inside.messages.deliver_all()
    owner.compare(inside.sync().as_json())
    return owner


def list_actions(owner: Owner, version: int):
    """One round of all actions."""
    return [
        lambda: owner.put("edited", f"The edited text, version {version}."),
        lambda: owner.put("filed", f"The filed text, version {version}.", is_file=True),
        lambda: owner.relabel("relabelled", metadata={"version": version}),
        lambda: owner.delete("deleted"),
    ]


def check_that_the_unchanged_document_is_found(owner: Owner, wire: Tripwire) -> None:
    """A search must find a document that is never changed, or report that it cannot search."""
    try:
        assert [hit["text"] for hit in owner.find("kept", "kept text")] == [owner.texts["kept"]]
    except Refused as refused:
        check_refusal(refused, wire)


def run_round(
    owner: Owner, inside: Inside, wire: Tripwire, make_error: MakeError, call: int
) -> bool:
    """Run one round with an exception at one call, then repair everything; return whether it was
    raised."""
    owner.put("deleted", f"To be deleted {call}.")
    inside.messages.deliver_all()
    undone = []
    wire.set(call, make_error)
    inside.messages.is_expected = wire.is_cause
    for action in list_actions(owner, call):
        try:
            action()
        except Refused as refused:
            check_refusal(refused, wire)
            undone.append(action)
        inside.messages.deliver_all()
        check_that_the_unchanged_document_is_found(owner, wire)
    has_struck = wire.raised is not None
    wire.set(0)
    for action in undone:
        action()

    report = inside.sync()

    owner.compare(report.as_json())
    assert owner.find("edited", f"version {call}")[0]["verdict"] == "exact"
    return has_struck


CASES = {
    "the store, before the call": (wire_store, store_away, False),
    "the store, after the call": (wire_store, store_away, True),
    "the store, unexpectedly": (wire_store, defect, False),
    "the model": (wire_model, model_away, False),
    "the model, unexpectedly": (wire_model, defect, False),
    "the database, before the statement": (wire_statements, database_away, False),
    "the database, after the statement": (wire_statements, database_away, True),
    "the database, before the commit": (wire_commits, database_away, False),
    "the database, after the commit": (wire_commits, database_away, True),
}
# Calls from one exception to the next, because a round has some hundred statements.
STRIDE = {} if IS_LONG else {wire_statements: 60, wire_commits: 5, wire_store: 3, wire_model: 2}


class TestAnException:
    @pytest.mark.parametrize("case", CASES)
    def test_at_any_call_loses_and_duplicates_nothing(
        self, owner, inside, embedder, monkeypatch, case
    ):
        wiring, make_error, is_after = CASES[case]
        wire = Tripwire(is_after=is_after)

        with installed(wire, wiring, monkeypatch):
            calls = count(1, STRIDE.get(wiring, 1))
            rounds = (run_round(owner, inside, wire, make_error, call) for call in calls)
            struck = sum(takewhile(bool, rounds))

        note("raise", struck)
        assert struck >= 4
