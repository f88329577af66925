"""Documents that are near copies of each other are found, and listed in groups."""

from typing import Any

import pytest

from access.grants import EVERYTHING, Grant
from config import diagnostics
from copies.groups import count_near_copies
from copies.models import Sketch
from copies.sketching import make_signature, measure_similarity, sketch_due_documents
from documents.models import Artifact
from documents.services import TextContent, remove_artifact, replace_content
from tests.clients import client_with_key
from tests.factories import PARAGRAPHS, give

pytestmark = pytest.mark.django_db

TARIFF = (
    "Vessels of more than 12 metres pay {fee} euro a night in the harbour of Ven. The fee is due "
    "on arrival at the office on the north quay. Dogs are kept on a leash, and fires are lit on "
    "the beach alone. Version {number}, valid from 1 January {year}."
)


@pytest.fixture(autouse=True)
def index(build):
    return build


def tariff(number: int) -> str:
    return TARIFF.format(fee=70 + 3 * number, number=number, year=2015 + number)


def add(text: str, **given: Any) -> Artifact:
    artifact = give(text, **given)
    sketch_due_documents()
    return artifact


def list_groups(**rights: Any) -> list[dict[str, Any]]:
    client = client_with_key(**rights)
    return client.get("/api/v1/indexes/plain/duplicates/").json()["results"]


def titles(group: dict[str, Any]) -> list[str]:
    return [document["title"] for document in group["documents"]]


class TestGroups:
    def test_are_of_documents_that_say_nearly_the_same(self):
        for number in (1, 2, 3):
            add(tariff(number), title=f"Tariff {number}")
        add(" ".join(PARAGRAPHS), title="Notes")

        [group] = list_groups()

        assert group["count"] == 3
        assert titles(group) == ["Tariff 3", "Tariff 2", "Tariff 1"]

    def test_join_where_a_document_is_like_several(self):
        words = [f"word{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(200)]
        left, right = " ".join(words[:-30]), " ".join(words[30:])
        add(left, title="Left")
        add(right, title="Right")
        assert list_groups() == []

        add(" ".join(words), title="Both")

        [group] = list_groups()
        assert set(titles(group)) == {"Left", "Right", "Both"}

    def test_leave_out_what_a_key_may_not_see(self):
        add(tariff(1), title="Ours", groups=["guests"])
        add(tariff(2), title="Public")
        hidden = add(tariff(3), title="Theirs", groups=["board"])

        [seen] = list_groups(groups=["guests"])

        assert (seen["count"], titles(seen)) == (2, ["Public", "Ours"])
        assert list_groups(groups=["others"]) == []
        public = Artifact.objects.get(title="Public")
        counts = [
            count_near_copies([public], grant)[public.pk]["near_duplicates"]
            for grant in (
                EVERYTHING,
                Grant(groups=frozenset({"guests"})),
                Grant(groups=frozenset()),
            )
        ]
        assert counts == [2, 1, 0]
        assert str(hidden.pk) not in str(seen)

    def test_follow_changed_and_deleted_documents(self):
        first, second = add(tariff(1)), add(tariff(2))
        third = add(tariff(3))

        replace_content(first.pk, TextContent((" ".join(PARAGRAPHS),)))
        sketch_due_documents()
        remove_artifact(third.pk)

        assert list_groups() == []
        assert set(Sketch.objects.values_list("pk", flat=True)) == {first.pk, second.pk}

    def test_are_none_of_short_texts(self):
        add("Out of order.", title="Lift")
        add("Out of order.", title="Stairs")

        assert list_groups() == []


class TestDocument:
    def test_says_how_many_near_copies_it_has(self):
        artifact = add(tariff(1))
        add(tariff(2))

        answer = client_with_key().get(f"/api/v1/artifacts/{artifact.pk}/").json()

        assert answer["near_duplicates"] == 1


class TestDoctor:
    def test_counts_near_copies_and_their_groups(self):
        for number in (1, 2, 3):
            add(tariff(number))
        add(" ".join(PARAGRAPHS))

        [found] = diagnostics._check_apps()

        assert (found.subject, found.is_ok) == ("copies", True)
        assert found.detail == "plain: documents that are near copies of others: 3, in groups: 1."

    def test_says_nothing_without_near_copies(self):
        add(tariff(1))

        assert list(diagnostics._check_apps()) == []


class TestSketching:
    def test_makes_each_sketch_once(self):
        add(tariff(1))

        assert sketch_due_documents() == 0

    def test_estimates_the_share_of_common_words(self):
        words = [f"word{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(600)]
        whole, half = " ".join(words), " ".join(words[:300])

        similarity = measure_similarity(make_signature(whole), make_signature(half))

        assert 0.35 < similarity < 0.65
