"""Sixteen concurrent writers of evidence: no finding is stored twice."""

from collections import Counter
from itertools import count
from threading import Event

import pytest

from documents.models import Artifact
from evidence.services import EvidenceInput, EvidenceVerdict, add_evidence
from indexing.models import IndexBuild
from indexing.verification import verify_build
from tests.evidence.test_services import APART, WORDS
from tests.factories import load_index, sync

pytestmark = pytest.mark.django_db(transaction=True)

WRITERS = 16
ROUNDS = 5


@pytest.fixture
def evidence(transactional_db, store, embedder) -> IndexBuild:
    """The empty live build of the index that accepts evidence."""
    return load_index("evidence")


@pytest.mark.usefixtures("no_messages")
class TestAddEvidence:
    def test_stores_a_finding_once_if_many_add_it_at_once(self, evidence, at_once):
        """Others sync meanwhile, so that known findings move from the recent vectors to the
        store."""
        done = count(1)
        is_writing = Event()
        is_writing.set()

        def write(writer):
            decisions = []
            try:
                for round in range(ROUNDS):
                    url = f"https://writer-{writer}.example/{round}"
                    content = " ".join(f"fact{round}x{n}" for n in range(30))
                    items = [EvidenceInput(url, f"{content} {'.' * writer}")]
                    decisions += add_evidence("evidence", items)
            finally:
                if next(done) == WRITERS:
                    is_writing.clear()
            return decisions

        def sync_meanwhile():
            while is_writing.is_set():
                sync(evidence, *Artifact.objects.filter(index="evidence"))
            return []

        def act(number):
            return sync_meanwhile() if number == WRITERS else write(number)

        decided = at_once(act, list(range(WRITERS + 1)))

        verdicts = Counter(decision.verdict for each in decided for decision in each)
        assert verdicts == {
            EvidenceVerdict.ADDED: ROUNDS,
            EvidenceVerdict.DUPLICATE: ROUNDS * (WRITERS - 1),
        }
        assert Artifact.objects.filter(index="evidence").count() == ROUNDS
        sync(evidence, *Artifact.objects.filter(index="evidence"))
        assert verify_build(evidence).is_sound

    def test_assigns_one_url_to_one_artifact(self, evidence, at_once):
        def write(writer):
            [decision] = add_evidence(
                "evidence", [EvidenceInput("https://one.example/", WORDS if writer % 2 else APART)]
            )
            return decision

        decided = at_once(write, list(range(WRITERS)))

        assert len({decision.artifact_id for decision in decided}) == 1
        assert Counter(decision.verdict for decision in decided)[EvidenceVerdict.ADDED] == 1
        assert Artifact.objects.filter(index="evidence").count() == 1
