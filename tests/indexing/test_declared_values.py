"""A value of a declared field is one value however it is written, whoever writes it."""

from typing import Any
from uuid import UUID

import pytest
from rest_framework.test import APIClient

from access.models import ApiKey
from documents.models import Artifact
from indexing import services
from indexing.models import IndexBuild, Node
from indexing.spec import FieldSpec
from retrieval.retrievers import ChunkRetriever, QuestionRetriever
from tests.factories import declare_synonyms, give, sync
from tests.written import make_build, question

FIELDS: dict[str, Any] = {
    "conditions": {
        "type": "keyword",
        "many": True,
        "lowercase": True,
        "closed": False,
        "values": {
            "shoulder impingement": {"synonyms": ["impingement", "Subacromial pain"]},
            "runner's knee": {},
        },
    },
    "muscle": {"type": "keyword", "values": {"lower_back": {"synonyms": ["lumbar"]}, "neck": {}}},
}


class TestFieldSpec:
    FIELD = FieldSpec.model_validate(FIELDS["conditions"])

    @pytest.mark.parametrize(
        ("written", "stored"),
        [
            ("impingement", "shoulder impingement"),
            (" Shoulder   IMPINGEMENT", "shoulder impingement"),
            ("subacromial-pain", "shoulder impingement"),
            ("Runner’s knee", "runner's knee"),
            ("Cafe\N{COMBINING ACUTE ACCENT}", "café"),
            ("Sciatica", "sciatica"),
        ],
    )
    def test_stores_a_value_in_one_form(self, written, stored):
        assert self.FIELD.normalise([written]) == [stored]
        assert self.FIELD.normalise([stored]) == [stored]

    def test_stores_a_value_of_a_list_once(self):
        assert self.FIELD.normalise(["impingement", "shoulder impingement"]) == [
            "shoulder impingement"
        ]

    def test_keeps_equal_values_that_are_not_declared(self):
        authors = FieldSpec.model_validate({"type": "keyword", "many": True})

        assert authors.normalise(["Yang Liu", "Yang Liu"]) == ["Yang Liu", "Yang Liu"]

    @pytest.mark.parametrize("content", [3, None, [3, "impingement"], {"a": "impingement"}])
    def test_keeps_what_is_no_text(self, content):
        assert self.FIELD.normalise(content) == content

    def test_takes_a_value_by_its_own_name_before_a_synonym_of_another(self):
        values = {
            "trunk": {"synonyms": ["core", "torso"]},
            "core": {},
            "waist": {"synonyms": ["torso"]},
        }
        field = FieldSpec.model_validate({"type": "keyword", "many": True, "values": values})

        assert field.normalise(["Core"]) == ["core"]
        assert field.normalise(["torso"]) == ["trunk", "waist"]
        assert field.list_stored_forms("trunk") == ["trunk", "torso"]

    def test_tells_values_apart_that_differ_in_case_or_sign(self):
        field = FieldSpec.model_validate({"type": "keyword", "values": ["A", "a", "A-", "A+"]})

        for value in ("A", "a", "A-", "A+"):
            assert field.normalise(value) == value

    def test_accepts_each_value_of_a_closed_list_in_lower_case(self):
        field = FieldSpec.model_validate({"type": "keyword", "lowercase": True, "values": ["ACL"]})

        assert field.closed_values == ("acl",)
        assert field.normalise("ACL") == "acl"


@pytest.fixture
def clinic(store, embedder, db) -> IndexBuild:
    return make_build("clinic", metadata=FIELDS)


def find(filter: dict[str, Any], retriever: Any = ChunkRetriever) -> set[str]:
    hits = retriever("clinic", filter=filter).search("what hurts").hits
    return {hit.payload["artifact_title"] for hit in hits}


def drain(build: IndexBuild) -> None:
    """Plan and sync what is due."""
    while services.DocumentPlanner().plan_next(build):
        pass
    while services.sync_nodes(build):
        pass


def audit(build: IndexBuild) -> set[UUID]:
    """The documents that a round of the audit makes due."""
    build.audit_cursor = None
    return services.audit_documents(build)


@pytest.fixture
def api(db) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue('tests')[1]}")
    return client


class TestWriting:
    def test_stores_the_declared_value_and_finds_it_by_each_synonym(self, clinic, api):
        given = {"title": "Arm", "text": "It hurts.", "metadata": {"conditions": ["Impingement"]}}
        added = api.post("/api/v1/indexes/clinic/artifacts/", given, format="json")
        artifact = Artifact.objects.get(pk=added.json()["id"])
        sync(clinic, artifact)

        assert artifact.metadata == {"conditions": ["shoulder impingement"]}
        for each in ("impingement", "shoulder impingement", "Subacromial Pain"):
            assert find({"conditions": [each]}) == {"Arm"}
        assert find({"not": {"conditions": "impingement"}}) == set()

    def test_accepts_a_synonym_of_a_closed_list_and_names_what_is_allowed(self, clinic, api):
        artifact = give("It hurts.", index="clinic", metadata={"muscle": "Lumbar"})
        address = f"/api/v1/artifacts/{artifact.pk}/"

        changed = api.patch(address, {"metadata": {"muscle": "NECK"}}, format="json")
        refused = api.patch(address, {"metadata": {"muscle": "ears"}}, format="json")

        assert artifact.metadata == {"muscle": "lower_back"}
        assert changed.json()["metadata"] == {"muscle": "neck"}
        assert refused.status_code == 400
        assert refused.json()["field"] == "metadata.muscle"
        assert refused.json()["allowed"] == ["lower_back", "neck"]


class TestDeclaringSynonymsLater:
    """Documents that were added before are found at once, and are brought over in turn."""

    @pytest.fixture
    def knee(self, clinic) -> Artifact:
        artifact = give(
            "It hurts.", index="clinic", title="Knee",
            metadata={"conditions": ["anterior knee pain", "sprain"], "colour": "Red"},
        )  # fmt: skip
        sync(clinic, artifact)
        return artifact

    def test_finds_what_is_stored_at_once_both_ways(self, knee):
        declare_synonyms("clinic", "conditions", "runner's knee", "anterior knee pain")

        assert find({"conditions": "runner's knee"}) == {"Knee"}
        assert find({"conditions": "anterior knee pain"}) == {"Knee"}

    def test_brings_document_and_points_over_without_embedding(self, knee, embedder, store):
        build = declare_synonyms("clinic", "conditions", "runner's knee", "anterior knee pain")
        embedder.embedded.clear()

        assert audit(build) == {knee.pk}
        drain(build)

        knee.refresh_from_db()
        assert knee.metadata == {"conditions": ["runner's knee", "sprain"], "colour": "Red"}
        node = Node.objects.get(artifact=knee)
        payload = store.retrieve(build.collection("chunk"), [node.point_id])[node.point_id].payload
        assert (
            payload["conditions"]
            == payload["metadata"]["conditions"]
            == ["runner's knee", "sprain"]
        )
        assert embedder.embedded == []
        assert audit(build) == set()

    def test_leaves_documents_to_the_live_build(self, knee):
        declare_synonyms("clinic", "conditions", "runner's knee", "anterior knee pain")
        live = IndexBuild.objects.live().get(index="clinic")
        beside = IndexBuild.objects.create(
            index=live.index, number=2, recipe=live.recipe, fingerprint=live.fingerprint
        )
        services.plan_nodes(knee.pk, beside)

        knee.refresh_from_db()
        assert knee.metadata["conditions"] == ["anterior knee pain", "sprain"]

    def test_brings_over_what_was_written_about_chunks(self, store, embedder, db):
        build = make_build("clinic", questions={"count": 1}, metadata=FIELDS)
        artifact = give("It hurts in the front of the knee.", index="clinic", title="Knee")
        [row] = question(build, artifact, count=1, fields={"conditions": ["anterior knee pain"]})
        sync(build, artifact)
        assert audit(build) == set()

        build = declare_synonyms("clinic", "conditions", "runner's knee", "anterior knee pain")
        assert find({"conditions": "runner's knee"}, QuestionRetriever) == {"Knee"}
        assert audit(build) == {artifact.pk}
        drain(build)

        row.refresh_from_db()
        assert row.fields == {"conditions": ["runner's knee"]}
        node = Node.objects.get(artifact=artifact, kind="question")
        assert node.details["fields"] == {"conditions": ["runner's knee"]}
        point = store.retrieve(build.collection("question"), [node.point_id])[node.point_id]
        assert point.payload["conditions"] == ["runner's knee"]
        assert audit(build) == set()
