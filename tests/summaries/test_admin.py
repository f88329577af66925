from collections.abc import Iterator
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import reverse

from documents.models import Artifact
from documents.services import TextContent, add_artifact
from indexing import tasks as indexing
from indexing.models import IndexBuild, Node
from indexing.services import plan_nodes
from summaries import tasks
from summaries.models import Annotation, Summary
from summaries.services import (
    WriteBatchResult,
    edit_summary,
    plan_written_texts,
    write_due_texts,
    writing,
)
from tests.acting import act, offered, record_enqueued
from tests.factories import load_index
from tests.summaries.conftest import SPEC, CountingWriter, nodes_of

pytestmark = pytest.mark.django_db

PAGES = (
    "The heron stands in the river at dawn. It waits for fish without moving.",
    "Granite cools slowly under the mountain. Its crystals have time to grow.",
)


@pytest.fixture(scope="module")
def wide(shared_store, tmp_path_factory) -> Iterator[IndexBuild]:
    """The live build of an index with every kind of node."""
    folder = tmp_path_factory.mktemp("specs")
    (folder / "wide.yaml").write_text(SPEC)
    with override_settings(STRATA_SPECS_DIR=folder):
        yield load_index("wide")


@pytest.fixture(scope="module")
def artifact(wide) -> Artifact:
    """Two pages with written texts, synced according to the rows; no admin list reads the store."""
    artifact = add_artifact("wide", TextContent(PAGES), title="Field notes")[0]
    plan_written_texts(artifact.pk, wide)
    written = WriteBatchResult(row_count=1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(writing, "get_writer", CountingWriter)
        while written.row_count:
            write_due_texts(wide, written := WriteBatchResult())
    plan_nodes(artifact.pk, wide)
    Node.objects.update(state="synced", synced_input_hash=F("input_hash"))
    return artifact


@pytest.fixture
def wakes(monkeypatch):
    return record_enqueued(
        monkeypatch, indexing.sync_nodes, tasks.write_due_texts, tasks.reconcile_written_texts
    )


def page_summary(index: int = 0) -> Summary:
    return Summary.objects.get(page__index=index)


def artifact_summary() -> Summary:
    return Summary.objects.of_artifacts().get()


def add_summaries(build: IndexBuild, artifact: Artifact, count: int, **values) -> None:
    pages = add_artifact("wide", TextContent(("",) * count), title=f"{count} {uuid4()}")[0].pages
    values = {"state": "written", "text": "Long.", "input_hash": "", **values}
    rows = [Summary(build=build, artifact=artifact, page=page, **values) for page in pages.all()]
    Summary.objects.bulk_create(rows, batch_size=500)


def add_annotations(build: IndexBuild, like: Annotation, count: int, **values) -> None:
    same = {
        name: getattr(like, name)
        for name in ("artifact", "page", "source", "source_hash", "strategy", "chunk_index")
    }
    rows = [
        Annotation(
            build=build, chunk_id=uuid4(), start_offset=0, end_offset=1, state="written",
            input_hash="", **same, **values,
        )
        for _ in range(count)
    ]  # fmt: skip
    Annotation.objects.bulk_create(rows, batch_size=500)


class TestSummary:
    def test_is_embedded_after_an_edit_and_makes_its_artifacts_summary_due(
        self, wide, artifact, wakes, django_capture_on_commit_callbacks
    ):
        with django_capture_on_commit_callbacks(execute=True):
            edit_summary(artifact.pk, page_summary().page_id, "A heron waits.")

        node = nodes_of(wide, "page_summary").get(state="pending")
        assert (node.page_id, node.text) == (page_summary().page_id, "A heron waits.")
        assert artifact_summary().state == "due"
        assert ("sync_nodes", {"build_id": wide.pk}) in wakes
        assert ("write_due_texts", {"build_id": wide.pk}) in wakes


class TestPages:
    @pytest.mark.parametrize("model", [Summary, Annotation])
    def test_show_a_row_and_do_not_change_it(self, wide, artifact, admin_client, model):
        row = model.objects.first()
        model.objects.filter(pk=row.pk).update(last_error="The model refuses.")
        url = reverse(f"admin:summaries_{model._meta.model_name}_change", args=[row.pk])

        page = admin_client.get(url).content.decode()

        assert "The model refuses." in page
        assert row.text in page
        assert 'name="_save"' not in page
        assert admin_client.post(url, {"text": "Mine."}).status_code == 403


class TestWriteAgain:
    def test_queues_the_selected_summaries(
        self, wide, artifact, admin_client, wakes, django_capture_on_commit_callbacks
    ):
        edit_summary(artifact.pk, page_summary().page_id, "By hand.")
        Summary.objects.update(state="written")

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "summaries_summary", "write_again", page_summary())

        assert said == "Texts that are written again: 1."
        assert (page_summary().state, page_summary().is_by_hand) == ("due", False)
        assert page_summary(1).state == "written"
        assert wakes[-1] == ("reconcile_written_texts", {})

    def test_ignores_retired_builds(self, wide, artifact, admin_client):
        IndexBuild.objects.filter(pk=wide.pk).update(state="retired")

        said = act(admin_client, "summaries_summary", "write_again")

        assert said.startswith("Texts that are written again: 0,")

    def test_takes_as_many_queries_for_thousands_as_for_few(
        self, wide, artifact, admin_client, django_assert_max_num_queries
    ):
        Summary.objects.all().delete()
        add_summaries(wide, artifact, 2_000)

        with django_assert_max_num_queries(30) as queries:
            said = act(admin_client, "summaries_summary", "write_again")

        assert said == "Texts that are written again: 2,000."
        assert all(len(query["sql"]) < 5_000 for query in queries)  # no list of ids

    def test_queues_the_questions_of_selected_chunks(
        self, wide, artifact, admin_client, wakes, django_capture_on_commit_callbacks
    ):
        chosen, other = Annotation.objects.all()
        Annotation.objects.update(is_by_hand=True)

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "summaries_annotation", "write_again", chosen)

        assert said == "Texts that are written again: 1."
        chosen.refresh_from_db()
        assert (chosen.state, chosen.is_by_hand) == ("due", False)
        other.refresh_from_db()
        assert other.state == "written"
        assert wakes == [("reconcile_written_texts", {})]


class TestLists:
    @pytest.mark.parametrize("model", ["summary", "annotation"])
    def test_load_no_long_texts(self, wide, artifact, admin_client, model):
        with CaptureQueriesContext(connection) as queries:
            answer = admin_client.get(reverse(f"admin:summaries_{model}_changelist"))

        assert answer.status_code == 200
        sql = "\n".join(query["sql"] for query in queries)
        [rows] = [line for line in sql.splitlines() if f'"summaries_{model}"."model_name"' in line]
        chosen = rows.partition(" FROM ")[0]
        for name in ("text", "citations", "questions", "fields", "recipe", "metadata"):
            assert f'."{name}"' not in chosen

    @pytest.mark.parametrize("model", ["summary", "annotation"])
    def test_take_as_many_queries_for_many_rows_as_for_few(
        self, wide, artifact, admin_client, model
    ):
        url = reverse(f"admin:summaries_{model}_changelist")
        with CaptureQueriesContext(connection) as few:
            admin_client.get(url)
        add_summaries(wide, artifact, 150)
        add_annotations(wide, Annotation.objects.first(), 150)

        with CaptureQueriesContext(connection) as many:
            admin_client.get(url)

        assert len(many) == len(few)

    def test_find_summaries(self, wide, artifact, admin_client):
        Summary.objects.filter(pk=page_summary().pk).update(is_by_hand=True, model_name="by hand")
        url = reverse("admin:summaries_summary_changelist")

        def found(**given) -> set[int]:
            return {row.pk for row in admin_client.get(url, given).context["cl"].result_list}

        everything = {page_summary().pk, page_summary(1).pk, artifact_summary().pk}
        assert found(q=str(artifact.pk)) == found(q="field notes") == everything
        assert found(q=str(page_summary().page_id)) == {page_summary().pk}
        assert found(page__isempty="1") == {artifact_summary().pk}
        assert found(page__isempty="0") == everything - {artifact_summary().pk}
        assert found(q='"by hand"') == found(is_by_hand__exact="1") == {page_summary().pk}
        assert found(q="counting") == everything - {page_summary().pk}
        assert found(index="wide", state__exact="written") == everything
        assert found(state__exact="due") == set()

    def test_find_chunks_with_questions(self, wide, artifact, admin_client):
        row, _ = Annotation.objects.all()
        url = reverse("admin:summaries_annotation_changelist")

        page = admin_client.get(url, {"q": str(row.chunk_id)})

        assert [found.pk for found in page.context["cl"].result_list] == [row.pk]
        assert "Chunks with questions" in page.content.decode()


class TestPermissions:
    def test_actions_require_the_change_permission(self, wide, artifact, client, django_user_model):
        user = django_user_model.objects.create_user("guest", password="guest", is_staff=True)
        may = Permission.objects.filter(content_type__app_label="summaries")
        user.user_permissions.add(*may.filter(codename__startswith="view_"))
        client.force_login(user)

        assert offered(client, "summaries_summary") == set()
        assert offered(client, "summaries_annotation") == set()

        user.user_permissions.add(*may.filter(codename__startswith="change_"))
        assert offered(client, "summaries_summary") == {"embed_again", "write_again"}
        assert offered(client, "summaries_annotation") == {"embed_again", "write_again"}
