import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from core import admin as core_admin
from documents.models import Artifact, Page, PendingRevision
from documents.services import TextContent, add_artifact
from documents.tasks import reconcile_documents
from indexing.models import Node
from tests.acting import act, offered, record_enqueued
from tests.factories import give, sync

pytestmark = pytest.mark.django_db


def list_sql(client, model: str, **filters) -> str:
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(reverse(f"admin:{model}_changelist", query=filters))
    assert answer.status_code == 200
    return "\n".join(query["sql"] for query in queries)


def add_artifacts(count: int, **values) -> list[Artifact]:
    values = {"index": "plain", "state": "failed", "has_file": True, **values}
    rows = [Artifact(identity=f"id {n}", title=f"Title {n}", **values) for n in range(count)]
    return Artifact.objects.bulk_create(rows, batch_size=500)


class TestLists:
    @pytest.mark.parametrize("model", ["artifact", "page", "source"])
    def test_load_no_long_texts(self, build, admin_client, model):
        give(metadata={"topic": "birds"})

        sql = list_sql(admin_client, f"documents_{model}")

        assert f'"documents_{model}"."id"' in sql
        assert '."text"' not in sql
        assert '."metadata"' not in sql
        assert '."error_detail"' not in sql

    @pytest.mark.parametrize("model", ["artifact", "page", "source"])
    def test_take_as_many_queries_for_a_long_table_as_for_a_short_one(
        self, build, admin_client, model
    ):
        give()
        short = list_sql(admin_client, f"documents_{model}")
        add_artifact("plain", TextContent(tuple(f"Page {n}." for n in range(300))), title="Long")

        long = list_sql(admin_client, f"documents_{model}")

        assert len(long.splitlines()) == len(short.splitlines())

    def test_count_up_to_a_limit(self, build, admin_client, monkeypatch):
        monkeypatch.setattr(core_admin, "MAX_COUNTED_ROWS", 200)
        add_artifacts(201)
        url = reverse("admin:documents_artifact_changelist")

        page = admin_client.get(url).content.decode()
        last = admin_client.get(url, {"p": 2})

        assert "200+ artifacts" in page
        assert "Select all 200+ artifacts" in page
        assert len(last.context["cl"].result_list) == 100

    def test_count_short_lists_exactly(self, build, admin_client):
        add_artifacts(3)

        page = admin_client.get(reverse("admin:documents_artifact_changelist")).content.decode()

        assert "3 artifacts" in page

    def test_find_by_id_title_and_index(self, build, admin_client):
        wanted = give("One.", title="Wanted", external_id="a")
        give("Two.", title="Other", external_id="b")
        give("Three.", title="Elsewhere", external_id="c", index="library")
        url = reverse("admin:documents_artifact_changelist")

        def titles(**given) -> set[str]:
            return {row.title for row in admin_client.get(url, given).context["cl"].result_list}

        assert titles(q=str(wanted.pk)) == {"Wanted"}
        assert titles(q="want") == {"Wanted"}
        assert titles(index="library") == {"Elsewhere"}
        assert titles(state__exact="failed") == set()

    @pytest.mark.parametrize("model", ["artifact", "page", "source"])
    def test_open_a_row_read_only(self, build, admin_client, model):
        artifact = give("The heron stands in the shallows.")
        row = {"artifact": artifact, "page": artifact.pages.get(), "source": artifact.sources.get()}

        page = admin_client.get(reverse(f"admin:documents_{model}_change", args=[row[model].pk]))

        assert page.status_code == 200
        assert 'name="_save"' not in page.content.decode()


class TestRetryFailed:
    def test_queues_failed_files(
        self, build, admin_client, monkeypatch, django_capture_on_commit_callbacks
    ):
        wakes = record_enqueued(monkeypatch, reconcile_documents)
        failed, _ = add_artifacts(2, error_code="broken", attempts=3)
        text = give()
        Artifact.objects.filter(pk=text.pk).update(state="failed")

        with django_capture_on_commit_callbacks(execute=True):
            said = act(
                admin_client, "documents_artifact", "retry_failed_artifacts", state__exact="failed"
            )

        assert said == "Queued again: 2 files, 0 texts, 0 nodes."
        assert wakes == [("reconcile_documents", {})]
        failed.refresh_from_db()
        assert (failed.state, failed.error_code, failed.attempts) == ("received", "", 0)
        assert PendingRevision.objects.filter(changed_id=failed.pk, index=failed.index).count() == 1
        text.refresh_from_db()
        assert text.state == "failed"  # there is no file to read

    def test_takes_as_many_queries_for_thousands_as_for_two(self, build, admin_client):
        add_artifacts(2)
        with CaptureQueriesContext(connection) as few:
            act(admin_client, "documents_artifact", "retry_failed_artifacts")
        Artifact.objects.all().delete()
        add_artifacts(3_000)

        with CaptureQueriesContext(connection) as many:
            said = act(admin_client, "documents_artifact", "retry_failed_artifacts")

        assert said == "Queued again: 3000 files, 0 texts, 0 nodes."
        assert len(many) == len(few)


class TestPermissions:
    def test_actions_require_the_change_permission(self, build, client, django_user_model):
        user = django_user_model.objects.create_user("guest", password="guest", is_staff=True)
        allow(user, "view_artifact", "view_page")
        client.force_login(user)
        give()

        assert offered(client, "documents_artifact") == set()
        assert offered(client, "documents_page") == set()

        allow(user, "change_artifact")
        assert offered(client, "documents_artifact") == {
            "begin_hold",
            "end_hold",
            "embed_artifacts_again",
            "summarise_artifacts_again",
            "rewrite_artifact_questions",
            "retry_failed_artifacts",
        }


def allow(user, *codenames: str) -> None:
    from django.contrib.auth.models import Permission

    user.user_permissions.add(*Permission.objects.filter(codename__in=codenames))


class TestDeletion:
    def test_deletes_an_artifact_with_its_pages_and_points(self, build, admin_client):
        artifact = give()
        sync(build, artifact)
        url = reverse("admin:documents_artifact_delete", args=[artifact.pk])

        answer = admin_client.post(url, {"post": "yes"})

        assert answer.status_code == 302
        assert not Artifact.objects.exists()
        assert not Page.objects.exists()

    def test_deletes_the_selected_artifacts(self, build, admin_client):
        gone, kept = give("One.", title="One"), give("Two.", title="Two")
        url = reverse("admin:documents_artifact_changelist")
        asked = {"action": "delete_selected", "_selected_action": [gone.pk]}

        confirmation = admin_client.post(url, asked)
        admin_client.post(url, {**asked, "post": "yes"})

        assert "One" in confirmation.content.decode()
        assert list(Artifact.objects.all()) == [kept]


class TestEmbedAgain:
    def test_makes_the_nodes_of_an_artifact_pending(self, build, admin_client):
        again, other = give("One.", title="One"), give("Two.", title="Two")
        sync(build, again, other)

        said = act(admin_client, "documents_artifact", "embed_artifacts_again", again)

        assert said == "1 node queued."
        pending = Node.objects.get(state=Node.State.PENDING)
        assert (pending.artifact_id, pending.synced_input_hash) == (again.pk, "")
