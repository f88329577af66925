from contextlib import nullcontext

import pytest
from django.core.management import CommandError, call_command

from concepts.management.commands import update_emergent_pairs
from concepts.models import EmergentPair
from concepts.services import create_concept
from core import api_client
from indexing.services import plan_nodes, sync_nodes
from indexing.stores import get_store
from tests.clients import RecordingServer
from tests.factories import load_index

WORDS = "alpha beta gamma delta epsilon zeta eta"


@pytest.fixture
def concepts(db, store, embedder, monkeypatch):
    monkeypatch.setattr(update_emergent_pairs, "exclusive_store_access", nullcontext)
    build = load_index("knowledge")
    for last in ("theta", "iota"):
        plan_nodes(create_concept("knowledge", f"{WORDS} {last}").pk, build)
    while sync_nodes(build):
        pass


@pytest.fixture
def optimized(monkeypatch):
    """The collections a graph was built of."""
    names = []
    monkeypatch.setattr(type(get_store()), "optimize", lambda store, name: names.append(name))
    return names


class TestUpdateEmergentPairs:
    def test_stores_similar_pairs_and_prints_their_number(self, concepts, capsys, optimized):
        call_command("update_emergent_pairs", index="knowledge")
        call_command("update_emergent_pairs")

        assert capsys.readouterr().out.splitlines() == [
            "knowledge #1: 2 concepts compared, 1 open pair",
            "knowledge #1: 0 concepts compared, 1 open pair",
        ]
        assert EmergentPair.objects.count() == 1
        assert optimized == []

    def test_builds_the_hnsw_graph_first_for_many_concepts(self, concepts, monkeypatch, optimized):
        monkeypatch.setattr(update_emergent_pairs, "MIN_CONCEPTS_FOR_GRAPH", 1)

        call_command("update_emergent_pairs")

        assert optimized == ["knowledge.concept_embeddings.1"]
        assert EmergentPair.objects.count() == 1

    def test_delegates_the_work_to_a_running_server(self, concepts, monkeypatch, capsys):
        server = RecordingServer()
        monkeypatch.setattr(api_client, "find_server", lambda: server)

        call_command("update_emergent_pairs")

        assert server.asked == ["POST reconcile/"]
        assert not EmergentPair.objects.exists()

    def test_names_the_indexes_with_concepts(self, concepts):
        with pytest.raises(CommandError, match="these indexes do: knowledge"):
            call_command("update_emergent_pairs", index="plain")
