from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from indexing import tasks
from indexing.admin import ERROR_CHARS
from indexing.models import IndexBuild, Node
from tests.acting import act, offered, record_enqueued
from tests.factories import give, load_index, sync

pytestmark = pytest.mark.django_db


def add_nodes(build: IndexBuild, artifact, count: int, **values) -> list[Node]:
    """Add only ledger rows, which is all that the lists and actions use."""
    values = {"kind": "question", "text": "Why?", "state": Node.State.SYNCED, **values}
    rows = [
        Node(
            build=build, artifact=artifact, point_id=uuid4(), attributes_hash="", input_hash="now",
            synced_input_hash="now", payload_hash="", embedding_model="m", dimension=384,
            planned_at=timezone.now(), **values,
        )
        for _ in range(count)
    ]  # fmt: skip
    return Node.objects.bulk_create(rows, batch_size=500)


@pytest.fixture
def wakes(monkeypatch):
    return record_enqueued(monkeypatch, tasks.sync_nodes)


class TestEmbedAgain:
    def test_makes_the_selected_nodes_pending_and_enqueues_their_build(
        self, build, admin_client, wakes, django_capture_on_commit_callbacks
    ):
        artifact = give()
        chosen, other = add_nodes(build, artifact, 2, attempts=3)

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "indexing_node", "embed_again", chosen)

        assert said == "1 node queued."
        chosen.refresh_from_db()
        assert (chosen.state, chosen.synced_input_hash, chosen.attempts) == ("pending", "", 0)
        other.refresh_from_db()
        assert other.state == "synced"
        assert wakes == [("sync_nodes", {"build_id": build.pk})]

    def test_embeds_the_nodes_again(self, build, admin_client, embedder):
        sync(build, give("One heron.", title="Bird"))
        embedder.embedded.clear()

        act(admin_client, "indexing_node", "embed_again")
        sync(build)

        assert len(embedder.embedded) == 1
        assert Node.objects.get().state == "synced"

    def test_ignores_deleting_nodes_and_retired_builds(self, build, admin_client):
        artifact = give()
        add_nodes(build, artifact, 1, state=Node.State.DELETING)
        retired = IndexBuild.objects.create(
            index=build.index, number=9, recipe=build.recipe, fingerprint="", state="retired"
        )
        add_nodes(retired, artifact, 1)

        said = act(admin_client, "indexing_node", "embed_again")

        assert said == "0 nodes queued."
        assert not Node.objects.filter(state="pending").exists()

    def test_revokes_the_claim_of_a_worker(self, build, admin_client):
        [node] = add_nodes(
            build, give(), 1, state="pending", lease_token=uuid4(), leased_until=timezone.now()
        )

        act(admin_client, "indexing_node", "embed_again", node)

        node.refresh_from_db()
        assert node.lease_token is None

    @pytest.mark.parametrize("action", ["embed_again", "retry_failed"])
    def test_takes_as_many_queries_for_thousands_of_nodes_as_for_few(
        self, build, admin_client, django_assert_max_num_queries, action
    ):
        artifact = give()
        add_nodes(build, artifact, 3_000, state=Node.State.FAILED)

        with django_assert_max_num_queries(17) as queries:
            said = act(admin_client, "indexing_node", action)

        assert said == "3000 nodes queued."
        assert all(len(query["sql"]) < 5_000 for query in queries)  # no list of ids
        assert Node.objects.filter(state="pending").count() == 3_000

    def test_applies_to_a_whole_filtered_and_searched_list(self, build, admin_client):
        heron, ledger = give("One.", title="Heron"), give("Two.", title="Ledger")
        add_nodes(build, heron, 2)
        add_nodes(build, heron, 3, kind="chunk")
        add_nodes(build, ledger, 4)

        said = act(
            admin_client, "indexing_node", "embed_again", q="heron", kind="question", o="-5.3"
        )

        assert said == "2 nodes queued."


class TestRetryFailed:
    def test_resets_the_attempts_of_failed_nodes(
        self, build, admin_client, wakes, django_capture_on_commit_callbacks
    ):
        artifact = give()
        [failed] = add_nodes(build, artifact, 1, state="failed", attempts=5, last_error="Broken.")
        add_nodes(build, artifact, 2)

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "indexing_node", "retry_failed")

        assert said == "1 node queued."
        failed.refresh_from_db()
        assert (failed.state, failed.attempts, failed.last_error) == ("pending", 0, "")
        assert failed.synced_input_hash == "now"  # the store holds its vectors
        assert wakes == [("sync_nodes", {"build_id": build.pk})]


class TestReconcileNow:
    def test_enqueues_every_reconciliation(self, build, admin_client, monkeypatch):
        reconciled = []
        monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *names: reconciled.append(True))

        said = act(admin_client, "indexing_index", "reconcile", build.index)

        assert said == "Reconciling 1 index."
        assert reconciled == [True]

    def test_says_how_many_indexes_are_reconciled(self, build, admin_client, monkeypatch):
        monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *names: None)
        load_index("papers")

        assert act(admin_client, "indexing_index", "reconcile") == "Reconciling 2 indexes."


class TestLists:
    @pytest.mark.parametrize("model", ["index", "indexbuild", "node"])
    def test_load_no_long_texts(self, build, admin_client, model):
        sync(build, give())

        with CaptureQueriesContext(connection) as queries:
            admin_client.get(reverse(f"admin:indexing_{model}_changelist"))

        sql = "\n".join(query["sql"] for query in queries)
        assert f'"indexing_{model}"' in sql
        for name in ("text", "context", "details", "recipe"):
            assert f'."{name}"' not in sql

    def test_take_as_many_queries_for_many_nodes_as_for_few(self, build, admin_client):
        artifact = give()
        add_nodes(build, artifact, 2)
        url = reverse("admin:indexing_node_changelist")
        with CaptureQueriesContext(connection) as few:
            admin_client.get(url)
        add_nodes(build, artifact, 500)

        with CaptureQueriesContext(connection) as many:
            admin_client.get(url)

        assert len(many) == len(few)

    def test_show_nodes_whose_artifact_is_gone(self, build, admin_client):
        artifact = give()
        [node] = add_nodes(build, artifact, 1)
        artifact.delete()

        listed = admin_client.get(reverse("admin:indexing_node_changelist"))
        opened = admin_client.get(reverse("admin:indexing_node_change", args=[node.pk]))

        assert str(node.point_id) in listed.content.decode()
        assert opened.status_code == 200

    def test_shorten_errors(self, build, admin_client):
        add_nodes(build, give(), 1, state="failed", last_error="Broken. " * 1_000)

        page = admin_client.get(reverse("admin:indexing_node_changelist")).content.decode()

        assert page.count("Broken.") == ERROR_CHARS // len("Broken. ")

    def test_find_nodes_by_id_state_and_kind(self, build, admin_client):
        artifact = give(title="Heron")
        node, other = add_nodes(build, artifact, 2)
        [failed] = add_nodes(build, artifact, 1, kind="chunk", state="failed")
        url = reverse("admin:indexing_node_changelist")

        def found(**given) -> set[int]:
            return {row.pk for row in admin_client.get(url, given).context["cl"].result_list}

        assert found(q=str(node.point_id)) == {node.pk}
        assert found(q=str(artifact.pk)) == {node.pk, other.pk, failed.pk}
        assert found(q="heron") == {node.pk, other.pk, failed.pk}
        assert found(state__exact="failed") == {failed.pk}
        assert found(kind="question") == {node.pk, other.pk}
        assert found(index="library") == set()


class TestPermissions:
    def test_actions_require_the_change_permission(self, build, client, django_user_model):
        user = django_user_model.objects.create_user("guest", password="guest", is_staff=True)
        user.user_permissions.add(
            *Permission.objects.filter(codename__in=["view_node", "view_index"])
        )
        client.force_login(user)

        assert offered(client, "indexing_node") == set()
        assert offered(client, "indexing_index") == set()

        user.user_permissions.add(
            *Permission.objects.filter(codename__in=["change_node", "change_index"])
        )
        assert offered(client, "indexing_node") == {"embed_again", "retry_failed"}
        assert offered(client, "indexing_index") == {"reconcile"}
