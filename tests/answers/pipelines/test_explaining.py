"""Why a passage is a hit, and why another one is none. The notes are indexed once for all tests; a
test that writes to the store has its own index."""

from dataclasses import replace
from uuid import uuid4

import pytest

from answers.asking import AskRequest
from answers.pipelines.running import find_hits
from indexing.models import Index, Node
from tests.answers.pipelines.conftest import ASKING, index_notes
from tests.factories import PARAGRAPHS, give, sync
from tests.written import make_build

ASKED = AskRequest("notes", "the heron waits for fish", pipeline="mine")

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def notes(shared_store):
    return index_notes()


@pytest.fixture(autouse=True)
def pipeline(declare):
    declare("mine", ASKING)


class TestExplainPassage:
    def test_returns_the_steps_of_a_hit_in_order(self, notes):
        [first, *_] = find_hits(ASKED).passages

        *retrieved, fused = first.steps

        assert {step["component"] for step in retrieved} == {"multi_query_retriever"}
        assert retrieved[0]["query"] == ASKED.query
        assert retrieved[0]["rank"] == 1
        assert retrieved[0]["dense"]["rank"] >= 1
        assert fused["component"] == "fusion"
        assert sum(fused["contributions"].values()) == pytest.approx(first.score)


class TestWhyNot:
    def absence(self, sought, **changes):
        question = replace(ASKED, why_not=getattr(sought, "pk", sought), **changes)
        return find_hits(question).why_not

    def node_of(self, artifact):
        return Node.objects.get(artifact=artifact.pk).point_id

    def test_names_the_rank_of_a_hit(self, notes):
        for sought in (notes[0], self.node_of(notes[0])):
            why_not = self.absence(sought)

            assert why_not["lost_at"] is None
            assert why_not["reason"] == "It is hit number 1."
            assert why_not["ranks"][0]["fused"] == 1

    def test_reports_an_unknown_id(self, notes):
        assert self.absence(uuid4())["lost_at"] == "index"

    def test_reports_an_id_of_another_index_as_unknown(self, notes):
        make_build("plain")
        other = give("Elsewhere.", index="plain")

        assert self.absence(other)["reason"] == "notes has no node and no artifact of this id."

    def test_reports_a_missing_point(self, shared_store):
        [note, *_] = index_notes("broken")
        collection = Index.objects.get(name="broken").live_build.collection("chunk")
        shared_store.delete(collection, [self.node_of(note)])

        why_not = self.absence(note, index="broken")

        assert why_not["lost_at"] == "store"
        assert "verify --repair" in why_not["reason"]

    def test_reports_a_node_that_is_not_synced(self, notes):
        Node.objects.filter(artifact=notes[0].pk).update(
            state=Node.State.FAILED, last_error="It is poison."
        )

        why_not = self.absence(notes[0])

        assert why_not["lost_at"] == "ledger"
        assert "It is poison" in why_not["reason"]

    def test_names_the_condition_that_leaves_it_out(self, notes):
        why_not = self.absence(notes[0], query="heron since 2019", filter={"year": {"lte": 2025}})

        assert why_not["lost_at"] == "filter"
        assert why_not["condition"] == {"year": {"gte": 2019}}

    def test_names_the_component_whose_limit_excluded_it(self, notes):
        why_not = self.absence(notes[2], limit=1, query="heron waits fish shallows dawn")

        assert why_not["lost_at"] in {"retriever", "fusion", "context"}
        assert why_not["ranks"][0]["fused"] > 1

    def test_reports_that_another_passage_of_its_document_was_chosen(self, shared_store):
        index_notes("longer")
        long = give("\n\n".join(PARAGRAPHS * 3), title="All", index="longer")
        sync(Index.objects.get(name="longer").live_build, long)
        [shown] = [
            passage.id
            for passage in find_hits(replace(ASKED, index="longer")).passages
            if passage.hit.payload["artifact_id"] == str(long.pk)
        ]

        other = Node.objects.filter(artifact=long.pk).exclude(point_id=shown).first()
        why_not = self.absence(other.point_id, index="longer")

        assert why_not["reason"] == "Another passage of its document was kept instead."
        assert why_not["lost_at"] == "fusion"

    def test_reports_that_the_question_was_refused(self, notes):
        assert self.absence(notes[0], query="pizza")["lost_at"] == "question"
