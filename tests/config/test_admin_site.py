"""Every list of the admin opens, and every action of it says what it will do, and does it."""

from typing import Any

import pytest
from django.contrib import admin
from django.urls import reverse

from audit.models import AuditRow
from concepts.models import Concept, Extraction, RelationshipType
from concepts.services import create_concept, create_relationship_type
from documents import services as documents
from documents.models import Artifact
from documents.originals import save_incoming_file
from documents.reading import parse_artifact
from indexing import services
from indexing.models import IndexBuild, IndexedDocument, Node
from indexing.tasks import RECONCILE_INDEXES
from summaries.models import Annotation, BuildLanguageModelCost, Segmentation, Summary
from tests.acting import act, offered, start
from tests.factories import give, sync
from tests.written import ALL_KINDS, make_build, write_all

pytestmark = pytest.mark.django_db

EMBEDDED: dict[type, set[str]] = {  # the kinds of node that belong to the rows of a list
    Artifact: {"chunk", "page_summary", "artifact_summary", "question"},
    IndexBuild: {
        "chunk", "page_summary", "artifact_summary", "question", "concept", "relationship_type"
    },
    Node: {"chunk", "page_summary", "artifact_summary", "question", "concept", "relationship_type"},
    Summary: {"page_summary", "artifact_summary"},
    Annotation: {"question"},
    Segmentation: {"chunk"},
    Concept: {"concept"},
    RelationshipType: {"relationship_type"},
}  # fmt: skip
WRITTEN = [Artifact, IndexBuild, Node, Summary, Annotation, Segmentation]


def name_of(model: type) -> str:
    return str(model._meta.label_lower.replace(".", "_"))


@pytest.fixture(autouse=True)
def woken(monkeypatch) -> list[str]:
    """For what actions start periodic tasks, which do not run."""
    names: list[str] = []
    monkeypatch.setattr("indexing.admin.enqueue_reconciliation", lambda *given: names.extend(given))
    return names


@pytest.fixture
def full(store, embedder) -> IndexBuild:
    """An index with a node of every kind, all of them synced."""
    build = make_build("full", concepts=True, **ALL_KINDS)
    artifact = give("Tendons heal slowly.", index="full", title="Tendons")
    create_concept("full", "Tendon")
    create_relationship_type("full", "SUPPORTS", category="epistemic")
    source = artifact.sources.get()
    Extraction.objects.create(source=source, state="written")
    Segmentation.objects.create(build=build, artifact=artifact, source=source, state="written")
    BuildLanguageModelCost.objects.create(build=build, call_count=3)
    write_all(build, artifact)
    services.plan_unannounced_standalone_nodes(build)
    while services.sync_nodes(build):
        pass
    assert set(Node.objects.values_list("kind", "state")) == {
        (kind, "synced") for kind in EMBEDDED[Node]
    }
    return build


class TestEveryList:
    def test_opens_and_runs_each_of_its_actions(self, full, admin_client):
        for model in admin.site._registry:
            name = name_of(model)
            assert admin_client.get(reverse(f"admin:{name}_changelist")).status_code == 200, name
            for action in sorted(offered(admin_client, name)):
                if action == "delete_selected":  # Django's, which confirms with a page of its own
                    continue
                row: Any = model._default_manager.first()
                assert row is not None, f"no row to run {action} of {name} on"
                assert act(admin_client, name, action, row), (name, action)

    @pytest.mark.parametrize("model", [*EMBEDDED, BuildLanguageModelCost])
    def test_is_there_for_what_is_embedded_and_what_it_costs(self, model):
        assert model in admin.site._registry


class TestEmbedAgain:
    @pytest.mark.parametrize("model", EMBEDDED)
    def test_embeds_the_nodes_of_the_rows_and_no_others(self, full, admin_client, model, woken):
        kinds = EMBEDDED[model]
        nodes = Node.objects.filter(kind__in=kinds)

        asked = start(admin_client, name_of(model), "embed_again")
        assert f"Nodes that are embedded again: {nodes.count()}." in asked.content.decode()
        assert not Node.objects.filter(state="pending").exists()
        said = act(admin_client, name_of(model), "embed_again")

        assert said == f"Nodes that are embedded again: {nodes.count()}."
        pending = Node.objects.filter(state="pending", synced_input_hash="")
        assert set(pending.values_list("kind", flat=True)) == kinds
        assert pending.count() == nodes.count()
        assert woken == [RECONCILE_INDEXES]

    def test_has_the_audit_row_of_the_index_and_the_document(self, full, admin_client):
        artifact = Artifact.objects.get()
        start(admin_client, "documents_artifact", "embed_again", artifact)
        assert not AuditRow.objects.filter(method="POST").exists()  # nothing has changed yet

        act(admin_client, "documents_artifact", "embed_again", artifact)
        act(admin_client, "indexing_indexbuild", "embed_again", full)

        rows = AuditRow.objects.filter(method="POST").order_by("pk")
        assert list(rows.values_list("index", "document")) == [
            ("full", str(artifact.pk)), ("full", "")
        ]  # fmt: skip

    def test_leaves_retired_builds(self, full, admin_client):
        IndexBuild.objects.filter(pk=full.pk).update(state="retired")

        assert act(admin_client, "indexing_node", "embed_again").endswith(": 0.")
        assert not Node.objects.filter(state="pending").exists()


class TestWriteAgain:
    @pytest.mark.parametrize("model", WRITTEN)
    def test_has_the_texts_written_and_embedded_again(self, full, admin_client, model):
        row = Node.objects.get(kind="artifact_summary") if model is Node else model.objects.first()
        asked = start(admin_client, name_of(model), "write_again", row)
        assert asked.context["summary"]
        assert not Summary.objects.filter(state="due").exists()

        act(admin_client, name_of(model), "write_again", row)
        planner = services.DocumentPlanner()
        while planner.plan_next(full):
            pass

        due = set(Summary.objects.filter(state="due").values_list("page", flat=True))
        questions = Annotation.objects.filter(state="due").count()
        if model is Node:
            assert (due, questions) == ({None}, 0)
        elif model is Annotation:
            assert (due, questions) == (set(), 1)
        elif model is Summary:
            assert (len(due), questions) == (1, 0)
        elif model is Segmentation:
            assert Segmentation.objects.filter(state="due").exists()
            assert (due, questions) == (set(), 0)
        else:
            assert (len(due), questions) == (2, 1)


class TestReadAgain:
    @pytest.fixture
    def file(self, build) -> Artifact:
        content = save_incoming_file("notes.txt", [b"Tendons heal slowly."])
        artifact, _ = documents.add_artifact("plain", content)
        parse_artifact(artifact.pk)
        sync(build, artifact)
        artifact.refresh_from_db()
        return artifact

    def test_reads_the_file_of_a_document_again_and_keeps_its_text_meanwhile(
        self, build, file, admin_client
    ):
        text = give("Texts have no file.", title="A text")
        before = file.revision
        file.sources.update(text="Spoilt.")

        asked = start(admin_client, "documents_artifact", "read_again")
        assert "Files that are read again: 1, of 2 documents." in asked.content.decode()
        act(admin_client, "documents_artifact", "read_again")

        file.refresh_from_db()
        assert (file.state, file.revision > before) == ("received", True)
        assert Node.objects.filter(artifact=file, state="synced").exists()
        parse_artifact(file.pk)
        assert file.sources.get().text == "Tendons heal slowly."
        text.refresh_from_db()
        assert text.state == "parsed"

    def test_makes_a_build_that_reads_what_another_reader_has_read(self, build, file, admin_client):
        said = act(admin_client, "indexing_indexbuild", "read_again", build)
        assert said.startswith("Documents that another reader has read than would read them now: 0")
        Artifact.objects.filter(pk=file.pk).update(reader="an older one")

        said = act(admin_client, "indexing_indexbuild", "read_again", build)

        made = IndexBuild.objects.get(state="building")
        assert str(made) in said
        assert IndexedDocument.objects.get(build=made).is_unread
