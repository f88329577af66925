import json
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
from summaries.services import WriteBatchResult, plan_written_texts, write_due_texts, writing
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
    return record_enqueued(monkeypatch, indexing.sync_nodes, tasks.write_due_texts)


def page_summary(index: int = 0) -> Summary:
    return Summary.objects.get(page__index=index)


def artifact_summary() -> Summary:
    return Summary.objects.of_artifacts().get()


def save(client, row, **values):
    """Send the row's form as a browser does, with these fields changed."""
    url = reverse(f"admin:summaries_{row._meta.model_name}_change", args=[row.pk])
    form = client.get(url).context["adminform"].form
    sent = {name: form[name].value() for name in form.fields} | values
    # Browsers send CRLF line ends.
    return client.post(url, {name: value.replace("\n", "\r\n") for name, value in sent.items()})


def form_error(answer) -> str:
    assert answer.status_code == 200
    return str(answer.context["adminform"].form.errors)


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


class TestSummaryForm:
    def test_saves_an_edited_text_and_embeds_it(
        self, wide, artifact, admin_client, wakes, django_capture_on_commit_callbacks
    ):
        row = page_summary()

        with django_capture_on_commit_callbacks(execute=True):
            answer = save(admin_client, row, text="A heron waits.\nIt is dawn.")

        assert answer.status_code == 302
        row.refresh_from_db()
        assert row.text == "A heron waits.\nIt is dawn."
        assert (row.is_by_hand, row.model_name, row.state) == (True, "by hand", "written")
        node = nodes_of(wide, "page_summary").get(state="pending")
        assert (node.page_id, node.text) == (row.page_id, row.text)
        assert artifact_summary().state == "due"
        assert ("sync_nodes", {"build_id": wide.pk}) in wakes
        assert ("write_due_texts", {"build_id": wide.pk}) in wakes

    def test_does_not_mark_an_unchanged_text_as_edited(self, wide, artifact, admin_client):
        Summary.objects.filter(pk=page_summary().pk).update(text="Two\nlines.")

        save(admin_client, page_summary())

        assert not page_summary().is_by_hand
        assert artifact_summary().state == "written"

    @pytest.mark.parametrize("text", ["", "  \n", "x" * 10_001])
    def test_refuses_a_blank_or_too_long_text(self, wide, artifact, admin_client, text):
        answer = save(admin_client, page_summary(), text=text)

        assert "errorlist" in form_error(answer)
        assert not page_summary().is_by_hand

    def test_changes_only_the_text(self, wide, artifact, admin_client):
        row = page_summary()

        save(admin_client, row, text="Mine.", state="failed", model_name="someone")

        row.refresh_from_db()
        assert (row.state, row.model_name) == ("written", "by hand")

    def test_is_read_only_for_a_retired_build(self, wide, artifact, admin_client):
        IndexBuild.objects.filter(pk=wide.pk).update(state="retired")
        url = reverse("admin:summaries_summary_change", args=[page_summary().pk])

        page = admin_client.get(url).content.decode()
        answer = admin_client.post(url, {"text": "Mine."})

        assert 'name="_save"' not in page
        assert answer.status_code == 403


class TestAnnotationForm:
    def test_saves_edited_questions_and_embeds_them(
        self, wide, artifact, admin_client, wakes, django_capture_on_commit_callbacks
    ):
        row = Annotation.objects.get(text__contains="heron")
        before = row.output_hash

        with django_capture_on_commit_callbacks(execute=True):
            answer = save(
                admin_client,
                row,
                questions="Who waits at dawn?\n\n  Where is the heron? \nWho waits at dawn?",
                summary="Herons wait.",
                fields='{"habitat": ["river", "town"], "mood": "calm"}',
            )

        assert answer.status_code == 302
        row.refresh_from_db()
        assert row.questions == ["Who waits at dawn?", "Where is the heron?"]
        assert (row.summary, row.fields["habitat"]) == ("Herons wait.", ["river", "town"])
        assert (row.is_by_hand, row.model_name, row.state) == (True, "by hand", "written")
        assert row.output_hash != before
        pending = nodes_of(wide, "question").filter(state="pending")
        assert set(pending.values_list("text", flat=True)) == set(row.questions)
        assert ("sync_nodes", {"build_id": wide.pk}) in wakes

    def test_does_not_mark_unchanged_questions_as_edited(self, wide, artifact, admin_client):
        row = Annotation.objects.get(text__contains="heron")

        save(admin_client, row)

        row.refresh_from_db()
        assert not row.is_by_hand

    def test_updates_the_planned_nodes(self, wide, artifact, admin_client):
        row = Annotation.objects.get(text__contains="heron")
        save(admin_client, row, questions="")

        plan_nodes(artifact.pk, wide)

        nodes = nodes_of(wide, "question").filter(details__chunk_id=str(row.chunk_id))
        assert [node.text for node in nodes] == [row.text]  # without questions, its own words

    @pytest.mark.parametrize(
        ("field", "value", "why"),
        [
            ("fields", '{"habitat": ["desert"]}', "Allowed: mountain, river, town."),
            ("fields", '{"habitat": "river"}', "must be a list"),
            ("fields", '{"colour": "grey"}', "Allowed: habitat, mood."),
            ("fields", '{"mood": 3}', "must be of type keyword"),
            ("fields", '["river"]', "Metadata must be a JSON object."),
            ("fields", "{", "The text is not valid JSON"),
            ("fields", '{"mood": NaN}', "The JSON holds a number that cannot be stored"),
            ("questions", "\n".join(f"Question {n}?" for n in range(21)), "20 questions"),
            ("questions", "x" * 501, "500 characters"),
            ("summary", "x" * 1_001, "1000 characters"),
        ],
    )
    def test_shows_an_error_at_the_wrong_field(
        self, wide, artifact, admin_client, field, value, why
    ):
        row = Annotation.objects.first()

        answer = save(admin_client, row, **{field: value})

        assert why in form_error(answer)
        row.refresh_from_db()
        assert not row.is_by_hand

    def test_is_read_only_for_users_who_may_only_view(
        self, wide, artifact, client, django_user_model
    ):
        user = django_user_model.objects.create_user("guest", password="guest", is_staff=True)
        user.user_permissions.add(Permission.objects.get(codename="view_annotation"))
        client.force_login(user)
        row = Annotation.objects.first()

        page = client.get(reverse("admin:summaries_annotation_change", args=[row.pk]))

        assert json.dumps(row.questions)[2:20] in page.content.decode()
        assert 'name="_save"' not in page.content.decode()


class TestSummariseAgain:
    def test_queues_the_selected_summaries(
        self, wide, artifact, admin_client, wakes, django_capture_on_commit_callbacks
    ):
        save(admin_client, page_summary(), text="By hand.")
        Summary.objects.update(state="written")

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "summaries_summary", "summarise_again", page_summary())

        assert said == "1 summary queued."
        assert (page_summary().state, page_summary().is_by_hand) == ("due", False)
        assert page_summary(1).state == "written"
        assert wakes[-1] == ("write_due_texts", {"build_id": wide.pk})

    def test_queues_the_summaries_of_an_artifact_except_edited_ones(
        self, wide, artifact, admin_client
    ):
        Summary.objects.filter(pk=page_summary().pk).update(is_by_hand=True)

        said = act(admin_client, "documents_artifact", "summarise_artifacts_again", artifact)

        assert said == "2 summaries queued."
        assert page_summary().state == "written"
        assert page_summary(1).state == artifact_summary().state == "due"

    def test_queues_the_summary_of_a_page(self, wide, artifact, admin_client):
        page = artifact.pages.get(index=1)

        said = act(admin_client, "documents_page", "summarise_pages_again", page)

        assert said == "1 summary queued."
        assert page_summary(1).state == "due"
        assert page_summary().state == "written"

    def test_ignores_retired_builds(self, wide, artifact, admin_client):
        IndexBuild.objects.filter(pk=wide.pk).update(state="retired")

        assert act(admin_client, "summaries_summary", "summarise_again") == "0 summaries queued."

    @pytest.mark.parametrize(
        ("model", "action"),
        [
            ("summaries_summary", "summarise_again"),
            ("documents_artifact", "summarise_artifacts_again"),
            ("documents_page", "summarise_pages_again"),
        ],
    )
    def test_takes_as_many_queries_for_thousands_as_for_few(
        self, wide, artifact, admin_client, django_assert_max_num_queries, model, action
    ):
        Summary.objects.all().delete()
        add_summaries(wide, artifact, 2_000)

        with django_assert_max_num_queries(12) as queries:
            said = act(admin_client, model, action)

        assert said == "2000 summaries queued."
        assert all(len(query["sql"]) < 5_000 for query in queries)  # no list of ids


class TestAskAgain:
    def test_queues_the_questions_of_selected_chunks(
        self, wide, artifact, admin_client, wakes, django_capture_on_commit_callbacks
    ):
        chosen, other = Annotation.objects.all()
        Annotation.objects.update(is_by_hand=True)

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "summaries_annotation", "rewrite_questions", chosen)

        assert said == "1 chunk queued."
        chosen.refresh_from_db()
        assert (chosen.state, chosen.is_by_hand) == ("due", False)
        other.refresh_from_db()
        assert other.state == "written"
        assert wakes == [("write_due_texts", {"build_id": wide.pk})]

    def test_queues_the_questions_of_an_artifact_except_edited_ones(
        self, wide, artifact, admin_client
    ):
        by_hand = Annotation.objects.first()
        Annotation.objects.filter(pk=by_hand.pk).update(is_by_hand=True)

        said = act(admin_client, "documents_artifact", "rewrite_artifact_questions")

        assert said == "1 chunk queued."
        assert Annotation.objects.get(state="written") == by_hand

    @pytest.mark.parametrize(
        ("model", "action"),
        [
            ("summaries_annotation", "rewrite_questions"),
            ("documents_artifact", "rewrite_artifact_questions"),
        ],
    )
    def test_takes_as_many_queries_for_thousands_as_for_few(
        self, wide, artifact, admin_client, django_assert_max_num_queries, model, action
    ):
        add_annotations(wide, Annotation.objects.first(), 1_998)

        with django_assert_max_num_queries(12) as queries:
            said = act(admin_client, model, action)

        assert said == "2000 chunks queued."
        assert all(len(query["sql"]) < 5_000 for query in queries)  # no list of ids


class TestRetryFailed:
    def test_queues_all_failed_texts_of_an_artifact(
        self, wide, artifact, admin_client, wakes, django_capture_on_commit_callbacks
    ):
        Summary.objects.filter(pk=page_summary().pk).update(state="failed", attempts=5)
        Annotation.objects.update(state="failed", attempts=5)
        node = Node.objects.first()
        Node.objects.filter(pk=node.pk).update(state="failed", attempts=5)

        with django_capture_on_commit_callbacks(execute=True):
            said = act(admin_client, "documents_artifact", "retry_failed_artifacts", artifact)

        assert said == "Queued again: 0 files, 3 texts, 1 node."
        assert (page_summary().state, page_summary().attempts) == ("due", 0)
        assert set(Annotation.objects.values_list("state", flat=True)) == {"due"}
        assert wakes == [
            ("sync_nodes", {"build_id": wide.pk}),
            ("write_due_texts", {"build_id": wide.pk}),
        ]


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
        assert found(kind="artifact") == {artifact_summary().pk}
        assert found(kind="page") == everything - {artifact_summary().pk}
        assert found(model_name="by hand") == found(is_by_hand__exact="1") == {page_summary().pk}
        assert found(model_name="-") == everything - {page_summary().pk}  # "counting"
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
        assert offered(client, "summaries_summary") == {"summarise_again"}
        assert offered(client, "summaries_annotation") == {"rewrite_questions"}
