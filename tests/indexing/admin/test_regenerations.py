import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from indexing import tasks
from indexing.models import Node, Regeneration
from indexing.regeneration import begin_regeneration
from tests.acting import act, offered, record_enqueued
from tests.factories import give, load_index, sync
from tests.written import ALL_KINDS, make_build, write_all

pytestmark = pytest.mark.django_db


@pytest.fixture
def wakes(monkeypatch):
    return record_enqueued(monkeypatch, tasks.regenerate)


class TestRegenerateIndexes:
    def test_requests_all_types_for_each_index_and_enqueues_it(
        self, build, admin_client, wakes, django_capture_on_commit_callbacks
    ):
        give()

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "indexing_index", "regenerate_indexes", build.index)

        row = Regeneration.objects.get()
        assert (row.index_id, row.is_for_missing) == ("plain", False)
        assert row.types == [
            "chunk",
            "compound",
            "concept",
            "image",
            "question",
            "summary",
            "vocabulary",
        ]
        assert said.startswith(
            "Regenerating chunk, compound, concept, image, question, summary, vocabulary of "
            "1 document: "
        )
        assert admin_client.get(f"/admin/indexing/regeneration/{row.pk}/change/").status_code == 200
        assert wakes == [("regenerate", {"regeneration_id": str(row.pk)})]

    def test_embeds_the_nodes_again(
        self, build, admin_client, embedder, django_capture_on_commit_callbacks
    ):
        sync(build, give("One heron."))
        embedder.embedded.clear()

        with django_capture_on_commit_callbacks(execute=True):
            act(admin_client, "indexing_index", "regenerate_indexes", build.index)

        assert Regeneration.objects.get().state == "done"
        assert len(embedder.embedded) == 1
        assert Node.objects.get().state == "synced"

    def test_can_request_only_missing_nodes(self, build, admin_client, wakes):
        act(admin_client, "indexing_index", "regenerate_missing_of_indexes", build.index)

        assert Regeneration.objects.get().is_for_missing

    def test_requests_one_regeneration_for_each_index(self, build, admin_client, wakes):
        load_index("papers")

        act(admin_client, "indexing_index", "regenerate_indexes")

        assert Regeneration.objects.count() == 2


class TestRegenerateArtifacts:
    @pytest.mark.parametrize(
        ("action", "is_for_missing"),
        [("regenerate_artifacts", False), ("regenerate_missing_of_artifacts", True)],
    )
    def test_requests_only_the_selected_artifacts(
        self, build, admin_client, wakes, action, is_for_missing
    ):
        chosen, _ = give("One."), give("Two.")

        act(admin_client, "documents_artifact", action, chosen)

        row = Regeneration.objects.get()
        assert row.artifact_ids == [str(chosen.pk)]
        assert (row.index_id, row.is_for_missing) == (None, is_for_missing)

    def test_refuses_too_many_artifacts(self, build, admin_client, wakes, monkeypatch):
        monkeypatch.setattr("indexing.regeneration.requests.MAX_NAMED_ARTIFACTS", 1)
        give("One."), give("Two.")

        said = act(admin_client, "documents_artifact", "regenerate_artifacts")

        assert "must name at most 1 artifacts" in said
        assert not Regeneration.objects.exists()


class TestRegenerateNodes:
    def test_requests_the_types_of_the_nodes_for_their_documents(
        self, store, embedder, admin_client, wakes
    ):
        wide = make_build("wide", **ALL_KINDS)
        first, second = give("One heron.", index="wide"), give("A ledger.", index="wide")
        write_all(wide, first, second)
        chunk = Node.objects.get(kind="chunk", artifact=first)
        summary, other = Node.objects.filter(kind="page_summary")

        act(admin_client, "indexing_node", "regenerate_nodes", chunk, summary, other)

        asked = {row.types[0]: set(row.artifact_ids) for row in Regeneration.objects.all()}
        assert asked == {
            "chunk": {str(first.pk)},
            "summary": {str(first.pk), str(second.pk)},
        }


class TestCancel:
    def test_cancels_running_regenerations(self, build, admin_client):
        running, over = (begin_regeneration(["chunk"], offset=each) for each in (0, 1))
        Regeneration.objects.filter(pk=over.pk).update(state="done")

        said = act(admin_client, "indexing_regeneration", "cancel")

        assert said == "1 regeneration cancelled."
        running.refresh_from_db()
        over.refresh_from_db()
        assert (running.state, over.state) == ("cancelled", "done")


class TestList:
    def test_shows_the_progress_of_each_regeneration(self, build, admin_client):
        row = begin_regeneration(["chunk"], index="plain", is_for_missing=True)
        Regeneration.objects.filter(pk=row.pk).update(done_count=1_200, total_count=3_400)

        page = admin_client.get(
            reverse("admin:indexing_regeneration_changelist"), {"q": "plain", "index": "plain"}
        ).content.decode()

        assert "1,200 of 3,400" in page
        assert "chunk (only missing)" in page

    @pytest.mark.parametrize(
        ("model", "action"),
        [
            ("indexing_index", "regenerate_indexes"),
            ("documents_artifact", "regenerate_artifacts"),
            ("indexing_node", "regenerate_nodes"),
            ("indexing_regeneration", "cancel"),
        ],
    )
    def test_offers_no_actions_to_users_who_may_only_view(
        self, build, client, admin_client, django_user_model, model, action
    ):
        viewer = django_user_model.objects.create_user("viewer", is_staff=True)
        viewer.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
        client.force_login(viewer)
        begin_regeneration(["chunk"])
        sync(build, give())

        assert action in offered(admin_client, model)
        assert action not in offered(client, model)
