"""The nodes of single relationships: their texts, how they follow the rows, and their search."""

import pytest

from access.grants import Grant
from answers.pipelines.multi_query_retriever import MultiQueryRetriever
from answers.pipelines.quoted_passage_retriever import QuotedPassageRetriever
from concepts import services, tasks
from concepts.models import Concept, Relationship, RelationshipType
from concepts.quotes import add_quote
from concepts.retrievers import RelationshipTypeRetriever
from indexing.models import Node
from indexing.services import plan_unannounced_standalone_nodes
from indexing.stores import get_store
from tests.concepts.conftest import INDEX
from tests.concepts.test_searches import search_knowledge
from tests.factories import give, sync

TEXT = "At dawn the heron stands in the shallows and waits for minnows."
OTHER = "A heron was seen in spring."

pytestmark = pytest.mark.django_db


@pytest.fixture
def graph(knowledge):
    """Heron EATS Minnow, of which one document quotes both, and another the heron."""
    other, both = give(OTHER, index=INDEX), give(TEXT, index=INDEX)
    heron, minnow, stone = (
        services.create_concept(INDEX, name) for name in ("Heron", "Minnow", "Stone")
    )
    eats = services.create_relationship_type(INDEX, "FEEDS_ON", description="has it for food")
    edge, _ = services.relate_concepts(INDEX, heron.pk, eats.pk, minnow.pk)
    services.relate_concepts(INDEX, stone.pk, eats.pk, heron.pk)
    add_quote(heron.pk, "heron was seen", artifact_id=other.pk)
    add_quote(heron.pk, "heron stands in the shallows", artifact_id=both.pk)
    add_quote(minnow.pk, "waits for minnows", artifact_id=both.pk)
    plan_and_sync(knowledge, other, both)
    return {"heron": heron, "minnow": minnow, "stone": stone, "type": eats, "edge": edge,
            "both": both}  # fmt: skip


def plan_and_sync(build, *artifacts):
    plan_unannounced_standalone_nodes(build)
    sync(build, *artifacts)


def read_text(build, edge):
    """The text of a relationship's point; None without one."""
    [*points] = get_store().retrieve(build.collection("relationship"), [edge.pk]).values()
    return points[0].payload["text"] if points else None


class TestText:
    def test_is_the_statement_and_quotes_of_one_source(self, knowledge, graph):
        assert read_text(knowledge, graph["edge"]) == (
            "Heron feeds on Minnow\nheron stands in the shallows\nwaits for minnows"
        )

    def test_is_embedded_beside_the_types(self, knowledge, graph):
        nodes = Node.objects.filter(build=knowledge, kind="relationship")

        assert {node.state for node in nodes} == {Node.State.SYNCED}
        assert nodes.count() == 2

    def test_is_embedded_for_existing_rows_without_embedding_the_rest(
        self, knowledge, graph, embedder
    ):
        """As after an upgrade: there are no nodes, and no hashes in the rows."""
        nodes = Node.objects.filter(build=knowledge, kind="relationship")
        get_store().delete(
            knowledge.collection("relationship"), list(nodes.values_list("point_id", flat=True))
        )
        nodes.delete()
        Relationship.objects.update(text_hash="")
        embedder.embedded.clear()

        plan_and_sync(knowledge)

        assert sorted(text.splitlines()[0] for text in embedder.embedded) == [
            "Heron feeds on Minnow",
            "Stone feeds on Heron",
        ]


class TestPoints:
    @pytest.mark.parametrize(
        ("change", "line"),
        [
            (
                lambda g: services.edit_entity(Concept, g["heron"].pk, label="Egret"),
                "Egret feeds on Minnow",
            ),
            (
                lambda g: services.edit_entity(RelationshipType, g["type"].pk, name="EATS"),
                "Heron eats Minnow",
            ),
            (lambda g: g["minnow"].quotes.get().delete(), "heron was seen"),
            (
                lambda g: add_quote(g["stone"].pk, "shallows", artifact_id=g["both"].pk),
                None,
            ),
            (
                lambda g: services.merge_concepts(g["stone"].pk, [g["minnow"].pk]),
                "Heron feeds on Stone",
            ),
        ],
        ids=["label", "type", "quote deleted", "quote of another", "merge"],
    )
    def test_follow_the_rows(self, knowledge, graph, change, line):
        before = read_text(knowledge, graph["edge"])

        change(graph)
        plan_and_sync(knowledge)

        text = read_text(knowledge, graph["edge"])
        assert text is not None
        assert line in text.splitlines() if line else text == before

    def test_of_deleted_rows_are_deleted(self, knowledge, graph):
        services.remove_entity(Concept, graph["minnow"].pk)
        plan_and_sync(knowledge)

        assert read_text(knowledge, graph["edge"]) is None
        assert Node.objects.filter(build=knowledge, kind="relationship").count() == 1

    def test_are_planned_by_a_task_after_each_change(
        self, knowledge, graph, monkeypatch, django_capture_on_commit_callbacks
    ):
        planned = []
        monkeypatch.setattr(tasks.plan_relationships, "delay", lambda index: planned.append(index))

        with django_capture_on_commit_callbacks(execute=True):
            services.edit_entity(Concept, graph["heron"].pk, label="Egret")

        assert planned == [INDEX]
        tasks.plan_relationships(index=INDEX)
        [node] = Node.objects.filter(build=knowledge, point_id=graph["edge"].pk)
        assert node.text.startswith("Egret feeds on Minnow")


class TestSearch:
    def test_finds_a_relationship_by_its_words(self, client, graph):
        best, other = search_knowledge(
            client, "relationships", "waits for minnows in the shallows"
        )["relationships"]

        assert best["id"] == str(graph["edge"].pk)
        assert best["score"] > other["score"]
        assert (best["kind"], best["score_kind"], best["verdict"]) == (
            "relationship", "cosine", "exact",
        )  # fmt: skip
        assert [quote["quote"] for quote in best["quotes"]] == [
            "heron stands in the shallows",
            "waits for minnows",
        ]
        [only] = search_knowledge(client, "relationships", "heron minnows", limit=1)[
            "relationships"
        ]
        assert only["id"] == str(graph["edge"].pk)

    def test_flags_what_has_changed_since(self, client, graph):
        services.edit_entity(Concept, graph["minnow"].pk, label="Stickleback")

        best, other = search_knowledge(client, "relationships", "heron waits for minnows")[
            "relationships"
        ]

        assert (best["target"]["label"], best["verdict"]) == ("Stickleback", "stale")
        assert other["verdict"] == "exact"

    def test_hides_relationships_of_hidden_concepts(self, knowledge, graph):
        secret = give("The secret minnow.", index=INDEX, groups=["staff"])
        add_quote(graph["minnow"].pk, "secret minnow", artifact_id=secret.pk)
        plan_and_sync(knowledge)

        nobody = RelationshipTypeRetriever(INDEX, grant=Grant(groups=frozenset()))
        found = nobody.search("heron waits for minnows").relationships

        assert [str(hit.edge) for hit in found] == ["Stone FEEDS_ON Heron"]

    def test_drops_a_point_with_another_text(self, client, knowledge, graph, caplog):
        pk, collection = graph["edge"].pk, knowledge.collection("relationship")
        [point] = get_store().retrieve(collection, [pk]).values()
        get_store().replace_payloads(collection, {pk: {**point.payload, "text": "Herons fly."}})

        [other] = search_knowledge(client, "relationships", "heron minnows")["relationships"]

        assert other["id"] != str(pk)
        assert "Integrity error" in caplog.text

    def test_does_not_mix_them_with_types(self, client, graph):
        answer = search_knowledge(client, "relationships", "heron minnows")

        assert [hit["name"] for hit in answer["hits"]] == ["FEEDS_ON"]

    def test_adds_their_passages_to_an_answer(self, graph):
        query = "what feeds on a minnow"
        rankings = MultiQueryRetriever().run(INDEX, [query], limit=2)["rankings"]

        added = QuotedPassageRetriever().run(INDEX, query, rankings, limit=2)["rankings"][-1]

        assert added.passages[0].hit.payload["artifact_id"] == str(graph["both"].pk)
