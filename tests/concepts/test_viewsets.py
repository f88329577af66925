import uuid

import pytest
from rest_framework.test import APIClient

from concepts.models import Concept
from concepts.services import create_relationship_type
from documents.serializers import render_reference
from documents.services import TextContent, replace_content
from indexing.models import Node
from indexing.verification import verify_build
from tests.concepts.conftest import INDEX
from tests.factories import give, load_index, sync

API = "/api/v1"
CONCEPTS = f"{API}/indexes/{INDEX}/concepts/"
TYPES = f"{API}/indexes/{INDEX}/relationship-types/"
EDGES = f"{API}/indexes/{INDEX}/relationships/"
TEXT = "The heron stands in the shallows at dawn."


def post(client, url, **content):
    return client.post(url, content, format="json")


@pytest.fixture
def document(knowledge, relocations):
    return give(TEXT, index=INDEX)


class TestConcepts:
    def test_are_created_read_edited_and_deleted(self, client, knowledge):
        made = post(client, CONCEPTS, label=" Heron ", description="A bird", search_terms=["Ardea"])
        url = f"{API}/concepts/{made.json()['id']}/"
        changed = client.patch(url, {"description": "A wading bird"}, format="json")
        read = client.get(url.rstrip("/"))
        removed = client.delete(url)

        assert made.status_code == 201
        assert made.json() | {"revision": 0} == {
            "id": made.json()["id"],
            "index": INDEX,
            "label": "Heron",
            "description": "A bird",
            "search_terms": ["Ardea"],
            "evidence_count": 0,
            "relationship_count": 0,
            "revision": 0,
        }
        assert changed.json()["description"] == "A wading bird"
        assert changed.json()["revision"] > made.json()["revision"]
        assert read.json() == changed.json()
        assert removed.json()["deleted"] is True
        assert client.get(url).json()["code"] == "unknown_concept"

    @pytest.mark.parametrize(
        ("content", "status", "code", "field"),
        [
            ({"label": "HERON"}, 409, "content_conflict", None),
            ({"labl": "x"}, 400, "invalid", "labl"),
            ({"description": "x"}, 400, "invalid", "label"),
            ({"label": 5}, 400, "invalid", "label"),
            ({"label": "x", "search_terms": "Ardea"}, 400, "invalid", "search_terms"),
        ],
    )
    def test_name_the_wrong_field(self, client, heron, content, status, code, field):
        answer = post(client, CONCEPTS, **content)

        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert answer.json().get("field") == field

    def test_are_refused_in_an_index_without_concepts(self, client, knowledge):
        load_index("plain")
        plain = post(client, f"{API}/indexes/plain/concepts/", label="Heron")
        none = post(client, f"{API}/indexes/none/concepts/", label="Heron")

        assert (plain.status_code, plain.json()["allowed"]) == (400, [INDEX])
        assert (none.status_code, none.json()["code"]) == (404, "unknown_index")

    def test_without_evidence_are_listed_for_review(self, client, heron, document):
        post(client, CONCEPTS, label="Crane")
        url = f"{API}/concepts/{heron.pk}/instances/"
        quoted = post(client, url, quote="the HERON", artifact=str(document.pk))

        bare = client.get(CONCEPTS, {"evidence": "none"}).json()
        borne = client.get(CONCEPTS, {"evidence": "some"}).json()
        named = client.get(CONCEPTS, {"label": "ron"}).json()

        assert quoted.status_code == 201
        assert [each["label"] for each in bare["results"]] == ["Crane"]
        assert [(x["label"], x["evidence_count"]) for x in borne["results"]] == [("Heron", 1)]
        assert named["count"] == 1
        assert client.get(CONCEPTS, {"evidence": "much"}).json()["allowed"] == ["none", "some"]

    def test_are_merged(self, client, heron):
        other = post(client, CONCEPTS, label="Grey heron").json()

        answer = post(client, f"{API}/concepts/{heron.pk}/merge", concepts=[other["id"]])

        assert answer.json()["search_terms"] == ["Ardea", "Grey heron"]
        assert Concept.objects.get() == heron

    def test_require_a_key(self, heron, document):
        stranger = APIClient()
        for url in (CONCEPTS, TYPES, EDGES, f"{API}/concepts/{heron.pk}/"):
            assert stranger.get(url).status_code == 401
        assert post(stranger, CONCEPTS, label="Crane").status_code == 401
        assert stranger.delete(f"{API}/concepts/{heron.pk}/").status_code == 401
        assert Concept.objects.get() == heron


class TestInstances:
    def test_have_offsets_and_a_verdict(self, client, heron, document):
        url = f"{API}/concepts/{heron.pk}/instances/"
        source = document.sources.get()

        quoted = post(client, url, quote="in the SHALLOWS", source=str(source.pk))
        again = post(client, url, quote="in the shallows", artifact=str(document.pk))
        before = client.get(url).json()["results"]
        replace_content(document.pk, TextContent(("So: " + TEXT,)))
        after = client.get(url).json()["results"]

        assert (quoted.status_code, again.status_code) == (201, 200)
        assert quoted.json() == again.json() == before[0]
        assert before[0] | {"id": ""} == {
            "id": "",
            "quote": "in the shallows",
            "start_offset": 17,
            "end_offset": 32,
            "verdict": "exact",
            "artifact": render_reference(document),
            "source": {"id": str(source.pk), "ordinal": 0, "heading": ""},
        }
        assert after[0]["verdict"] == "stale"

    def test_refuse_a_quote_that_is_not_in_the_source(self, client, heron, document):
        url = f"{API}/concepts/{heron.pk}/instances/"

        answer = post(client, url, quote="in the depths", artifact=str(document.pk))

        assert (answer.status_code, answer.json()["code"]) == (400, "quote_not_found")
        assert answer.json()["field"] == "quote"

    def test_are_deleted(self, client, heron, document):
        url = f"{API}/concepts/{heron.pk}/instances/"
        made = post(client, url, quote="heron", artifact=str(document.pk)).json()

        removed = client.delete(f"{API}/instances/{made['id']}/")

        assert removed.status_code == 204
        assert client.get(url).json()["count"] == 0
        assert client.delete(f"{API}/instances/{made['id']}/").status_code == 404


class TestRelationships:
    def test_are_created_listed_and_deleted(self, client, heron):
        fish = post(client, CONCEPTS, label="Fish").json()["id"]
        kind = post(client, TYPES, name="EATS", category="Structural").json()
        edge = {"source": str(heron.pk), "type": kind["id"], "target": fish}

        made, again = post(client, EDGES, **edge), post(client, EDGES, **edge)
        url = f"{API}/relationships/{made.json()['id']}/"

        assert (made.status_code, again.status_code) == (201, 200)
        assert made.json() | {"id": ""} == {
            "id": "",
            "source": {"id": str(heron.pk), "label": "Heron"},
            "type": {"id": kind["id"], "name": "EATS", "category": "structural"},
            "target": {"id": fish, "label": "Fish"},
        }
        assert client.get(EDGES, {"concept": fish}).json()["results"] == [made.json()]
        assert client.get(EDGES, {"type": str(uuid.uuid4())}).json()["count"] == 0
        assert client.get(url).json() == made.json()
        assert client.get(f"{API}/concepts/{fish}/").json()["relationship_count"] == 1
        assert client.delete(url).status_code == 204
        assert client.get(url).json()["code"] == "unknown_relationship"

    def test_are_deleted_with_their_type(self, client, heron):
        fish = post(client, CONCEPTS, label="Fish").json()["id"]
        kind = post(client, TYPES, name="EATS").json()["id"]
        post(client, EDGES, source=str(heron.pk), type=kind, target=fish)
        renamed = client.patch(
            f"{API}/relationship-types/{kind}/", {"name": "FEEDS ON"}, format="json"
        )

        removed = client.delete(f"{API}/relationship-types/{kind}/")

        assert renamed.json()["name"] == "FEEDS ON"
        assert removed.status_code == 200
        assert client.get(EDGES).json()["count"] == client.get(TYPES).json()["count"] == 0

    def test_name_the_wrong_end(self, client, heron):
        kind = post(client, TYPES, name="EATS").json()["id"]

        answer = post(client, EDGES, source=str(heron.pk), type=kind, target=str(uuid.uuid4()))

        assert (answer.status_code, answer.json()["field"]) == (400, "target")


class TestDocuments:
    """Endpoints that read, count or write documents ignore concepts."""

    def test_do_not_include_concepts(self, client, knowledge, heron, document):
        sync(knowledge, document)

        listed = client.get(f"{API}/indexes/{INDEX}/artifacts/").json()
        index = client.get(f"{API}/indexes/{INDEX}/").json()

        assert [each["id"] for each in listed["results"]] == [str(document.pk)]
        assert index["artifacts"] == 1
        assert Node.objects.filter(build=knowledge).count() == index["nodes"]["synced"] == 2

    def test_do_not_accept_the_id_of_a_concept(self, client, heron):
        url = f"{API}/artifacts/{heron.pk}"
        answers = [
            client.get(f"{url}/"),
            client.patch(f"{url}/", {"title": "x"}, format="json"),
            client.put(f"{url}/content", {"text": "x"}, format="json"),
            client.get(f"{url}/pages/"),
            client.get(f"{url}/pages/0/"),
            client.get(f"{url}/original"),
            client.delete(f"{url}/"),
            client.patch(f"{url}/summary_candidate", {"text": "x"}, format="json"),
            client.post(
                f"{API}/judgements/",
                {"index": INDEX, "query": "x", "artifact_id": str(heron.pk), "verdict": "good"},
                format="json",
            ),
        ]

        assert {answer.status_code for answer in answers} == {404}
        concept = Concept.objects.get()
        assert (concept.label, concept.revision) == ("Heron", heron.revision)


class TestRegenerate:
    @pytest.mark.parametrize(
        ("type", "embedded"),
        [("concept", ["Heron\nA wading bird\nArdea"]), ("vocabulary", ["EATS", "eats"])],
    )
    def test_accepts_concepts_and_vocabulary_as_types(
        self, client, knowledge, heron, embedder, type, embedded, django_capture_on_commit_callbacks
    ):
        create_relationship_type(INDEX, "EATS")
        sync(knowledge)
        embedder.embedded.clear()

        with django_capture_on_commit_callbacks(execute=True):
            answer = post(client, f"{API}/regenerate/", type=type, index=INDEX)

        assert answer.status_code == 202
        assert embedder.embedded == embedded
        assert verify_build(knowledge).findings == {}
