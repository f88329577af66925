"""People see how a source is, and decide what waits for them."""

import pytest
from django.core.management import call_command

from access.grants import Scope
from audit.models import AuditRow
from core import api_client
from documents.models import Artifact
from feeds import tasks
from feeds.exceptions import SourceUnavailable
from feeds.models import Feed
from tests.clients import client_with_key
from tests.feeds.conftest import make_feed, run

pytestmark = pytest.mark.django_db
LIST = "/api/v1/indexes/plain/document-sources/"


@pytest.fixture(autouse=True)
def index(build, monkeypatch):
    monkeypatch.setattr(tasks.work_on_feed, "delay", lambda **given: None)
    return build


@pytest.fixture
def notes(script) -> Feed:
    script.documents = {f"{number}.txt": b"%d" % number for number in range(8)}
    return run(make_feed(every="5m"))


@pytest.fixture
def client():
    return client_with_key()


class TestReading:
    def test_says_how_each_source_is(self, notes, client):
        [source] = client.get(LIST).json()["results"]

        assert (source["name"], source["type"], source["place"]) == ("notes", "scripted", "script")
        assert (source["health"], source["every"], source["entries"]) == (
            "well", "5m", {"current": 8},
        )  # fmt: skip
        assert source["report"]["stored"] == 8
        assert source["problem"] is None

    def test_says_why_one_cannot_be_read(self, notes, client, script):
        script.open_error = SourceUnavailable("It is down.", fix="Start it.")
        run(notes)

        source = client.get(f"{LIST}notes/").json()

        assert source["health"] == "failing"
        assert source["problem"] == {
            "code": "source_unavailable",
            "detail": "It is down. Start it.",
        }

    def test_lists_what_failed_with_the_reason(self, notes, client, script):
        script.documents["broken.txt"] = b"?"
        script.fetch_errors["broken.txt"] = OSError("Broken.")
        run(notes)

        [entry] = client.get(f"{LIST}notes/entries/?state=due").json()["results"]

        assert (entry["path"], entry["attempts"]) == ("broken.txt", 1)
        assert entry["problem"] == {"code": "unexpected_error", "detail": "OSError: Broken."}

    def test_names_the_sources_for_an_unknown_one(self, notes, client):
        answer = client.get(f"{LIST}nothing/")

        assert answer.status_code == 404
        assert answer.json()["code"] == "unknown_document_source"
        assert answer.json()["allowed"] == ["notes"]


class TestRights:
    @pytest.mark.parametrize("rights", [{"scope": Scope.WRITE}, {"groups": ["hr"]}])
    def test_are_those_of_who_manages_all_documents(self, notes, rights):
        client = client_with_key(**rights)

        assert client.get(LIST).status_code == 403
        assert client.get(f"{LIST}notes/entries/").status_code == 403
        assert client.post(f"{LIST}notes/confirm/").status_code == 403

    def test_end_at_the_index(self, notes):
        client = client_with_key(indexes=["other"])

        assert client.get(LIST).status_code in (403, 404)
        assert client.post(f"{LIST}notes/run/").status_code in (403, 404)


class TestDeciding:
    def test_is_noted_in_the_audit_log(self, notes, client):
        client.post(f"{LIST}notes/pause/")

        row = AuditRow.objects.latest("pk")
        assert (row.index, row.status) == ("plain", 200)
        assert "document-sources" in row.route

    def test_pauses_and_resumes(self, notes, client):
        assert client.post(f"{LIST}notes/pause/").json()["health"] == "paused"
        assert client.post(f"{LIST}notes/run/").status_code == 409
        assert client.post(f"{LIST}notes/resume/").json()["health"] == "well"

    def test_confirms_removals(self, notes, client, script):
        script.documents.clear()
        run(notes)
        source = client.get(f"{LIST}notes/").json()
        assert (source["health"], source["waiting_removals"]) == ("waiting", 8)

        changed = client.post(f"{LIST}notes/confirm/?count=3").json()
        assert changed["detail"] == "Now 8 documents wait for a decision, not 3."
        assert client.post(f"{LIST}notes/confirm/?count=8").json() == {"confirmed": 8}
        run(notes)

        assert Artifact.objects.count() == 0
        assert client.post(f"{LIST}notes/confirm/").json()["code"] == "nothing_to_confirm"

    def test_looks_first_at_what_would_change(self, notes, client, script):
        script.documents["new.txt"] = b"New."

        preview = client.post(f"{LIST}notes/preview/").json()

        assert preview["added"] == {"count": 1, "bytes": 4, "paths": ["new.txt"]}
        assert preview["unchanged"]["count"] == 8


class TestCommand:
    def test_lists_shows_and_decides(self, notes, script, capsys, monkeypatch):
        # The specs of the project name no sources.
        monkeypatch.setattr(api_client, "prepare_database", list)
        script.documents.clear()
        script.documents["new.txt"] = b"New."
        script.fetch_errors["new.txt"] = OSError("Broken.")
        run(notes)

        call_command("sources", "list", "--index", "plain")
        call_command("sources", "show", "notes", "--index", "plain")
        call_command("sources", "preview", "notes", "--index", "plain")
        call_command("sources", "confirm", "notes", "--index", "plain")

        printed = capsys.readouterr().out
        assert "waiting" in printed
        assert "strata sources confirm notes --index plain" in printed
        assert "due new.txt: OSError: Broken." in printed
        assert "removed: 8 documents, 8 bytes" in printed
        assert "8 documents are removed unless the next listing has them." in printed


class TestWorker:
    def test_does_what_is_due(self, script, monkeypatch):
        script.documents = {"a.txt": b"A"}
        make_feed()
        monkeypatch.setattr(tasks.work_on_feed, "delay", tasks.work_on_feed)
        monkeypatch.setattr(tasks.reconcile_feeds, "apply_async", lambda **given: None)

        tasks.reconcile_feeds()

        assert Artifact.objects.get().file_name == "a.txt"
