"""Which requests and commands have rows, and what the rows say."""

import json
import os
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import (
    BaseCommand,
    CommandError,
    call_command,
    get_commands,
    load_command_class,
)
from django.db import DatabaseError
from rest_framework.test import APIClient

from access.grants import Scope
from access.models import ApiKey
from audit.commands import AuditedCommand
from audit.models import AuditRow
from audit.serializers import render_row
from core.api_client import ApiCommand
from core.commands import LocalCommand
from documents.models import Artifact
from indexing import tasks
from tests.access.test_matrix import ROUTES, ask, expected_scope
from tests.asking_mcp import answer_in_this_thread, call_tool
from tests.clients import client_with_key
from tests.config.test_operations import OWN_COMMANDS
from tests.factories import give
from tests.openapi.conftest import filled, models, pair  # noqa: F401

pytestmark = pytest.mark.django_db

CHANGES = [
    route for route in ROUTES if route.method != "get" and expected_scope(route) != Scope.SEARCH
]
READS = [
    route for route in ROUTES if route not in CHANGES and route.path.startswith(("api/v1/", "v1/"))
]
# Routes of changes without a row, and why.
WITHOUT_ROW: dict[str, str] = {}
# Commands that change data without a request to the API; all others ask it or change nothing.
WITH_ROW = {
    "add", "changepassword", "check_release", "createsuperuser", "import", "import_acl",
    "import_concepts", "loaddata", "process", "restore", "update_emergent_pairs",
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *names: None)
    monkeypatch.setattr(tasks.reconcile_indexes, "delay", lambda: None)
    monkeypatch.setattr("core.api_client.has_embedded_store", lambda: False)
    answer_in_this_thread(monkeypatch)  # in which the transaction of the test is open


def take_rows() -> list[dict]:
    """The rows written since the last call, oldest first."""
    rows = [render_row(row) for row in AuditRow.objects.order_by("id").select_related("subject")]
    AuditRow.objects.all().delete()
    return rows


class TestRequests:
    def test_every_route_that_changes_something_writes_its_row(self, shared_store):
        client = client_with_key()

        wrong = []
        for route in CHANGES:
            status = ask(client, route).status_code
            rows = take_rows()
            shown = [(row["method"], row["status"], row["caller"]) for row in rows]
            expected = [] if str(route) in WITHOUT_ROW else [(route.method.upper(), status, "key")]
            if shown != expected:
                wrong.append(f"{route}: {shown} instead of {expected}")

        assert not wrong, "\n".join(wrong)

    @pytest.mark.parametrize("is_on", [True, False])
    def test_searches_and_reads_write_rows_if_the_setting_is_on(
        self, shared_store, settings, is_on
    ):
        settings.STRATA_AUDIT_LOG_READS = is_on
        client = client_with_key()

        wrong = []
        for route in READS:
            status = ask(client, route).status_code
            shown = [(row["method"], row["status"]) for row in take_rows()]
            if shown != ([(route.method.upper(), status)] if is_on else []):
                wrong.append(f"{route}: {shown}")

        assert not wrong, "\n".join(wrong)

    def test_an_mcp_tool_writes_the_rows_of_its_requests(self, filled):  # noqa: F811
        call_tool(client_with_key(), "add_document", index="plain", text="Terns dive.", title="T")

        [row] = take_rows()
        assert (row["method"], row["route"]) == ("POST", "/api/v1/indexes/<index>/artifacts")
        assert (row["caller"], row["index"], row["status"]) == ("key", "plain", 202)
        assert row["document"] == str(Artifact.objects.get(title="T").pk)

    def test_says_who_changed_which_document_from_where(self, filled):  # noqa: F811
        key, secret = ApiKey.issue("the keeper")
        client = APIClient(REMOTE_ADDR="192.0.2.7")
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")

        client.delete(f"/api/v1/artifacts/{filled.artifact_id}/")

        [row] = take_rows()
        assert (row["caller"], row["caller_id"]) == ("key", key.pk)
        assert (row["name"], row["address"]) == ("the keeper", "192.0.2.7")
        assert (row["method"], row["route"]) == ("DELETE", "/api/v1/artifacts/<artifact_id>")
        assert (row["index"], row["document"]) == ("plain", str(filled.artifact_id))

    @pytest.mark.parametrize(
        ("name", "path", "index"),
        [
            ("concept_id", "concepts/{}/", "knowledge"),
            ("relationship_id", "relationships/{}/", "knowledge"),
            ("instance_id", "instances/{}/", "knowledge"),
            ("run_id", "evaluations/{}/", "plain"),
            ("judgement_id", "judgements/{}/", "plain"),
        ],
    )
    def test_names_the_index_of_what_is_deleted(self, filled, name, path, index):  # noqa: F811
        value = getattr(filled, name)

        answer = client_with_key().delete(f"/api/v1/{path.format(value)}")

        [row] = take_rows()
        assert answer.status_code < 300
        assert (row["index"], row["document"]) == (index, str(value))

    def test_names_the_index_in_the_body(self, filled):  # noqa: F811
        client_with_key().post(
            "/api/v1/regenerate/", {"index": "plain", "type": "chunk"}, format="json"
        )

        [row] = take_rows()
        assert (row["index"], row["status"]) == ("plain", 202)

    def test_has_a_row_for_each_changed_document_of_a_batch(self, filled):  # noqa: F811
        lines = [
            {"external_id": f"b{n}", "title": f"B{n}", "pages": [f"Tern {n}."]} for n in (1, 2)
        ]
        lines += [lines[0], {"title": 3}]
        response = client_with_key().post(
            "/api/v1/indexes/plain/artifacts/batch",
            "\n".join(map(json.dumps, lines)),
            content_type="application/x-ndjson",
        )

        verdicts = [json.loads(line) for line in b"".join(response).splitlines()]

        made = [v["id"] for v in verdicts if v["verdict"] not in {"unchanged", "rejected"}]
        assert len(made) == 2
        request, *documents = take_rows()
        assert (request["index"], request["document"]) == ("plain", None)
        assert [row["document"] for row in documents] == made
        assert {row["route"] for row in documents} == {"/api/v1/indexes/<index>/artifacts/batch"}

    def test_holds_nothing_that_a_caller_wrote(self, shared_store, settings):
        settings.STRATA_AUDIT_LOG_READS = True
        client = client_with_key()
        word = "canary"
        client.get(f"/api/v1/search/pages?index={word}&q={word}")
        client.post(f"/api/v1/indexes/{word}/artifacts/", {word: word}, format="json")
        client.delete(f"/api/v1/artifacts/{word}/")
        client.post(f"/api/v1/indexes/{word}/tools/{word}/", {word: word}, format="json")
        client.post("/api/v1/regenerate/", {"index": word, "type": word}, format="json")

        rows = take_rows()

        assert len(rows) == 5
        assert word not in json.dumps(rows)

    def test_a_search_that_succeeds_has_a_row_with_its_index(self, build, settings):
        settings.STRATA_AUDIT_LOG_READS = True

        answer = client_with_key().get("/api/v1/search/pages?index=plain&q=heron&mode=sparse")

        [row] = take_rows()
        assert (answer.status_code, row["status"], row["index"]) == (200, 200, "plain")

    def test_strangers_cannot_fill_the_table(self, shared_store, settings):
        settings.STRATA_AUDIT_LOG_READS = True
        for route in ROUTES:
            ask(APIClient(), route)

        assert not take_rows()

    def test_a_change_in_the_admin_has_a_row(self, admin_client, admin_user):
        reader = User.objects.create_user("reader")

        admin_client.post(f"/admin/auth/user/{reader.pk}/delete/", {"post": "yes"})

        [row] = take_rows()
        assert (row["caller"], row["caller_id"], row["name"]) == ("user", admin_user.pk, "admin")
        assert (row["document"], row["status"]) == (str(reader.pk), 302)

    def test_a_change_whose_index_cannot_be_looked_up_is_refused(self, shared_store, monkeypatch):
        artifact = give()
        client = client_with_key()

        def fail(model: object) -> None:
            raise DatabaseError

        monkeypatch.setattr("audit.middleware.get_index_path", fail)
        response = client.delete(f"/api/v1/artifacts/{artifact.pk}/")

        assert (response.status_code, response.json()["code"]) == (503, "audit_unavailable")
        assert Artifact.objects.filter(pk=artifact.pk).exists()

    def test_a_change_without_its_row_is_not_acknowledged(self, shared_store, monkeypatch):
        client = client_with_key()

        def fail(*arguments: object) -> None:
            raise DatabaseError

        monkeypatch.setattr("audit.middleware.write_rows", fail)
        response = client.post("/api/v1/keys/", {"name": "agent"}, format="json")

        assert (response.status_code, response.json()["code"]) == (503, "audit_unavailable")
        assert response["Retry-After"]


class TestCommands:
    def test_ask_the_api_or_say_that_they_work_without_it(self):
        commands = {name: load_command(name) for name in OWN_COMMANDS - {"check"}}

        kinds = (ApiCommand, LocalCommand, AuditedCommand)
        others = {name for name, each in commands.items() if not isinstance(each, kinds)}
        assert others == {"mcp"}  # asks the service that its option names
        audited = {
            name
            for name, each in commands.items()
            if isinstance(each, AuditedCommand) or each.changes_data
        }
        assert audited == WITH_ROW

    def test_write_a_row_when_they_end(self, build, tmp_path):
        (tmp_path / "notes.txt").write_text("One.")

        call_command("add", str(tmp_path), "--index=plain", stdout=StringIO())

        [row] = take_rows()
        assert (row["caller"], row["method"], row["route"]) == ("command", "COMMAND", "strata add")
        assert (row["index"], row["status"]) == ("plain", 0)

    def test_write_the_status_of_a_failure(self, build):
        with pytest.raises(CommandError):
            call_command("add", "nowhere", "--index=nil")

        [row] = take_rows()
        assert (row["route"], row["index"], row["status"]) == ("strata add", None, 1)

    def test_name_the_id_of_a_user_without_a_name(self, db, monkeypatch):
        for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
            monkeypatch.delenv(variable, raising=False)
        monkeypatch.setattr(os, "getuid", lambda: 1_000_660_000)

        call_command("createsuperuser", "--noinput", username="ada", email="", stdout=StringIO())

        [row] = take_rows()
        assert row["name"] == "user 1000660000"

    def test_of_django_write_a_row(self, db):
        call_command("createsuperuser", "--noinput", username="ada", email="", stdout=StringIO())

        [row] = take_rows()
        assert (row["route"], row["index"], row["status"]) == ("strata createsuperuser", None, 0)

    def test_have_the_rows_of_their_requests(self, build):
        call_command("prune", "plain", stdout=StringIO())

        [row] = take_rows()
        assert (row["caller"], row["route"], row["status"]) == (
            "server", "/api/v1/indexes/<index>/prune", 200,
        )  # fmt: skip

    @pytest.mark.parametrize("arguments", [["status"], ["plan"], ["builds"]])
    def test_write_no_row_if_they_change_nothing(self, build, arguments):
        call_command(*arguments, stdout=StringIO())

        assert not take_rows()


def load_command(name: str) -> BaseCommand:
    return load_command_class(get_commands()[name], name)


def test_the_address_of_the_client_comes_from_the_header_of_the_proxy(settings, shared_store):
    settings.STRATA_CLIENT_ADDRESS_HEADER = "HTTP_X_FORWARDED_FOR"

    client_with_key().post(
        "/api/v1/keys/", {}, format="json", HTTP_X_FORWARDED_FOR="198.51.100.1, 192.0.2.7"
    )

    [row] = take_rows()
    assert row["address"] == "192.0.2.7"
