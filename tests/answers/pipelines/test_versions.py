"""Answers are written from the newest version of a passage."""

from typing import Any

import pytest

from documents.models import Artifact
from tests.clients import client_with_key
from tests.factories import give, sync
from tests.written import make_build

TARIFF = (
    "Vessels of more than 12 metres pay {fee} euro a night in the harbour of Ven. The fee is due "
    "on arrival at the office on the north quay. Dogs are kept on a leash at all times."
)
CRANE = "Whoever pays the fee of the harbour may also use the crane of Ven for one hour a night."

# A question is answered in several threads.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tariffs(store, embedder) -> list[Artifact]:
    """Twelve versions, the newest last, and another document."""
    versions = [
        give(TARIFF.format(fee=fee), title="Tariff", external_id=f"tariff-v{fee}")
        for fee in range(51, 63)
    ]
    sync(make_build("plain"), *versions, give(CRANE, title="Crane", external_id="crane"))
    return versions


def ask(**given: Any) -> dict[str, Any]:
    asked = {"index": "plain", "query": "What do vessels pay a night in Ven?", "limit": 2, **given}
    headers = {"Accept": "application/json"}
    return client_with_key().post("/api/v1/ask", asked, format="json", headers=headers).json()


def test_hits_are_the_newest_version_and_other_documents(tariffs):
    answer = ask()

    hits = {hit["artifact"]["external_id"]: hit for hit in answer["hits"]}
    assert hits.keys() == {"tariff-v62", "crane"}
    assert hits["tariff-v62"]["folded"]["versions"] == 11
    assert "pay 62 euro" in answer["answer"]


def test_all_versions_are_hits_where_that_is_asked_for(tariffs):
    names = [hit["artifact"]["title"] for hit in ask(versions="all", limit=10)["hits"]]

    assert names.count("Tariff") >= 9


def test_why_an_older_version_is_no_hit(tariffs):
    why_not = ask(why_not=str(tariffs[0].pk))["why_not"]

    assert why_not["lost_at"] == "retriever"
    assert why_not["reason"].startswith("A hit stands for it")


def test_another_value_of_versions_is_refused(tariffs):
    assert ask(versions="oldest")["field"] == "versions"
