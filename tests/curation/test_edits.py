"""Edits of many documents: their preview, what they change, and how they are undone."""

import tracemalloc
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.utils import timezone

from access.grants import EVERYTHING, Scope
from audit.models import AuditRow
from curation import edits, selecting
from curation.changes import Change
from curation.models import Edit, EditedDocument
from curation.selecting import Selection, make_plan
from documents.models import Artifact
from documents.services import remove_artifact, update_artifact
from indexing.models import Node
from indexing.removal import remove_index
from tests.clients import client_with_key
from tests.factories import PARAGRAPHS, give, sync

pytestmark = pytest.mark.django_db

EDITS = "/api/v1/indexes/plain/edits/"


@pytest.fixture(autouse=True)
def index(build):
    return build


@pytest.fixture
def client():
    return client_with_key()


def add(name: str, **given: Any) -> Artifact:
    return give(f"{PARAGRAPHS[0]} {name}", title=name, external_id=name, **given)


def ask(client, path: str = EDITS, status: int = 202, **body: Any) -> dict[str, Any]:
    response = client.post(path, body, format="json")
    assert response.status_code == status, response.content
    return response.json()


def finish() -> None:
    while edits.work_on_next():
        pass


def edit(client, **body: Any) -> dict[str, Any]:
    """Begin an edit and have it carried out."""
    begun = ask(client, **body)
    finish()
    return client.get(f"/api/v1/edits/{begun['id']}/").json()


def undo(client, edited: dict[str, Any]) -> dict[str, Any]:
    ask(client, f"/api/v1/edits/{edited['id']}/undo")
    finish()
    return client.get(f"/api/v1/edits/{edited['id']}/").json()


def read(artifact: Artifact) -> tuple[str, dict[str, Any], list[str]]:
    now = Artifact.objects.get(pk=artifact.pk)
    return now.title, now.metadata, now.groups


def add_zip(**given: Any) -> tuple[Artifact, Artifact]:
    """A document with another one in it."""
    outer = add("mail", **given)
    part = add("mail/plan", **given)
    Artifact.objects.filter(pk=part.pk).update(part_of=outer)
    return outer, part


class TestPreview:
    def test_says_what_would_change_and_what_is_refused(self, client):
        lease = add("lease", metadata={"client": "Orrin", "year": 2024})
        add("deed", metadata={"client": "Skerry"})
        missing = uuid4()

        answer = ask(
            client, f"{EDITS}preview", 200,
            ids=[str(lease.pk), str(missing)], set={"client": "Skerry"}, unset=["year"],
        )  # fmt: skip

        assert (answer["count"], answer["changed"], answer["refused"]) == (2, 1, 1)
        [sample] = answer["sample"]
        assert sample["title"] == "lease"
        assert sample["before"] == {"metadata": {"client": "Orrin", "year": 2024}}
        assert sample["after"] == {"metadata": {"client": "Skerry"}}
        [refusal] = answer["refusals"]
        assert (refusal["id"], refusal["error"]["code"]) == (str(missing), "unknown_artifact")
        assert read(lease)[1] == {"client": "Orrin", "year": 2024}
        assert not Edit.objects.exists()

    def test_counts_what_has_the_values_already(self, client):
        add("lease", metadata={"client": "Orrin"})

        answer = ask(client, f"{EDITS}preview", 200, match={}, set={"client": "Orrin"})

        assert (answer["changed"], answer["unchanged"]) == (0, 1)

    def test_names_the_field_that_does_not_allow_a_value(self, client):
        from tests.factories import load_index

        load_index("papers")
        path = "/api/v1/indexes/papers/edits/preview"

        answer = ask(client, path, 400, match={}, set={"year": "last"})

        assert answer["field"] == "metadata.year"

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"set": {"a": 1}}, "ids"),
            ({"match": {}}, "set"),
            ({"match": {}, "title": "One for all"}, "title"),
            ({"match": {}, "delete": True, "set": {"a": 1}}, "delete"),
            ({"match": {}, "groups": ["a"], "add_groups": ["b"]}, "groups"),
            ({"match": {}, "set": {"a": 1}, "unset": ["a"]}, "unset"),
            ({"match": {"state": "ready"}, "unset": ["a"]}, "state"),
            ({"match": {}, "groups": [" a"]}, "groups"),
        ],
    )
    def test_refuses_what_it_cannot_mean(self, client, body, field):
        assert ask(client, f"{EDITS}preview", 400, **body)["field"] == field

    def test_refuses_more_documents_than_an_edit_may_have(self, client, monkeypatch):
        monkeypatch.setattr(selecting, "MAX_DOCUMENTS", 1)
        add("lease")
        add("deed")

        answer = ask(client, f"{EDITS}preview", 400, match={}, set={"a": 1})

        assert "folder" in answer["fix"]

    def test_does_not_hold_the_metadata_of_all_documents_at_once(self, monkeypatch):
        monkeypatch.setattr(selecting, "READ_AT_ONCE", 5)
        notes = [{"notes": f"{number:03}" * 30_000} for number in range(100)]
        Artifact.objects.bulk_create(
            [Artifact(index="plain", identity=each["notes"][:64], metadata=each) for each in notes],
            batch_size=10,
        )
        size = sum(len(each["notes"]) for each in notes)
        del notes

        tracemalloc.start()
        try:
            plan = make_plan("plain", Selection(None), Change(fields={"a": 1}), EVERYTHING)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

        assert len(plan.ids) == 100
        assert peak < size / 2


class TestSelection:
    @pytest.mark.parametrize(
        ("match", "found"),
        [
            ({"folder": "orrin/2024/"}, {"orrin/2024/lease.pdf"}),
            ({"folder": "Orrin/"}, set()),
            ({"words": "LEASE orrin"}, {"orrin/2024/lease.pdf"}),
            ({"words": "2023.pdf"}, {"orrin/deed_2023.pdf"}),
            ({"words": "deed_2"}, {"orrin/deed_2023.pdf"}),
            ({"status": "failed"}, set()),
            ({}, {"orrin/2024/lease.pdf", "orrin/deed_2023.pdf", "skerry/will.pdf"}),
        ],
    )
    def test_is_of_all_that_match(self, client, match, found):
        for name in ("orrin/2024/lease.pdf", "orrin/deed_2023.pdf", "skerry/will.pdf"):
            add(name)

        edit(client, match=match, add_groups=["partners"])

        changed = Artifact.objects.filter(groups=["partners"])
        assert set(changed.values_list("title", flat=True)) == found

    def test_is_refused_if_it_is_another_than_was_previewed(self, client):
        add("lease")
        add("deed")

        answer = ask(client, status=409, match={}, set={"a": 1}, expected=1)

        assert answer["code"] == "selection_changed"
        assert not Edit.objects.exists()


class TestEdit:
    def test_changes_the_title_of_one_document(self, client):
        lease = add("lease")

        edit(client, ids=[str(lease.pk)], title=" Lease of the quay ")

        assert read(lease)[0] == "Lease of the quay"

    def test_changes_many_over_several_batches(self, client, monkeypatch):
        monkeypatch.setattr(edits, "BATCH", 3)
        documents = [add(f"lease {number}") for number in range(7)]

        begun = ask(client, match={}, set={"client": "Orrin"}, expected=7)
        assert edits.work_on_next()
        halfway = client.get(f"/api/v1/edits/{begun['id']}/").json()
        finish()
        done = client.get(f"/api/v1/edits/{begun['id']}/").json()

        assert (begun["state"], begun["waiting"]) == ("waiting", 7)
        assert (halfway["changed"], halfway["waiting"]) == (3, 4)
        assert (done["state"], done["changed"], done["waiting"]) == ("done", 7, 0)
        assert all(read(each)[1] == {"client": "Orrin"} for each in documents)

    def test_goes_on_after_a_batch_that_failed(self, client, monkeypatch):
        lease = add("lease")
        ask(client, match={}, set={"client": "Orrin"})
        with monkeypatch.context() as broken:
            broken.setattr(edits, "update_artifact", lambda *args, **given: 1 / 0)
            assert edits.work_on_next()
        waiting = Edit.objects.get()

        finish()

        assert "ZeroDivisionError" in waiting.last_error
        assert read(lease)[1] == {"client": "Orrin"}
        assert Edit.objects.get().last_error == ""

    def test_of_groups_and_metadata_embeds_nothing(self, client, index, embedder):
        lease = add("lease")
        sync(index, lease)
        before = len(embedder.embedded)

        edit(client, match={}, set={"client": "Orrin"}, add_groups=["partners"])
        sync(index, Artifact.objects.get())

        assert before > 0
        assert len(embedder.embedded) == before
        assert not Node.objects.exclude(state=Node.State.SYNCED).exists()

    def test_says_in_the_audit_log_who_changed_each_document(self, client):
        documents = [add("lease"), add("deed")]

        edit(client, match={}, set={"client": "Orrin"})

        for each in documents:
            row = AuditRow.objects.get(document=str(each.pk))
            assert (row.method, row.index) == ("POST", "plain")
            assert row.route == "/api/v1/indexes/<index>/edits"

    def test_gives_the_files_of_an_e_mail_what_it_gets(self, client):
        mail, plan = add_zip()

        edit(client, ids=[str(mail.pk)], set={"client": "Orrin"}, groups=["partners"])

        assert read(plan) == ("mail/plan", {"client": "Orrin"}, ["partners"])

    def test_takes_away_no_last_group(self, client):
        add("lease", groups=["partners"])

        answer = ask(client, f"{EDITS}preview", 200, match={}, remove_groups=["partners"])

        assert answer["refusals"][0]["error"]["field"] == "remove_groups"

    def test_keeps_the_metadata_of_a_document_within_its_limit(self, client):
        lease = add("lease", metadata={"notes": "x" * 90_000})

        done = edit(client, match={}, set={"more": "y" * 20_000})

        assert done["changed"] == 0
        assert read(lease)[1].keys() == {"notes"}

    def test_leaves_what_is_gone_by_then(self, client):
        lease = add("lease")
        begun = ask(client, match={}, set={"client": "Orrin"})
        remove_artifact(lease.pk)

        finish()

        assert client.get(f"/api/v1/edits/{begun['id']}/").json()["state"] == "done"


class TestUndo:
    def test_gives_back_the_former_values(self, client, monkeypatch):
        monkeypatch.setattr(edits, "BATCH", 2)
        values = [
            {"metadata": {"client": "Orrin", "year": 2024}, "groups": ["clerks"]},
            {"metadata": {}, "groups": []},
            {"metadata": {"client": None}, "groups": ["clerks", "partners"]},
        ]
        documents = [add(f"lease {number}", **each) for number, each in enumerate(values)]
        before = list(map(read, documents))

        edited = edit(client, match={}, set={"client": "Skerry"}, unset=["year"], groups=["all"])
        between = list(map(read, documents))
        undone = undo(client, edited)

        assert all(each[1:] == ({"client": "Skerry"}, ["all"]) for each in between)
        assert list(map(read, documents)) == before
        assert (undone["state"], undone["undone"], undone["changed"]) == ("undone", 3, 0)

    def test_leaves_what_was_changed_since_and_says_so(self, client):
        lease, deed = add("lease"), add("deed")
        edited = edit(client, match={}, set={"client": "Orrin"})
        update_artifact(lease.pk, metadata={"client": "Skerry"})

        undone = undo(client, edited)

        assert read(lease)[1] == {"client": "Skerry"}
        assert read(deed)[1] == {}
        [refusal] = undone["refusals"]
        assert refusal["title"] == "lease"
        assert refusal["error"]["detail"] == "Somebody has changed its metadata since."

    def test_keeps_other_fields_that_were_added_since(self, client):
        lease = add("lease", metadata={"client": "Orrin"})
        edited = edit(client, match={}, set={"client": "Skerry"})
        update_artifact(lease.pk, metadata={"client": "Skerry", "year": 2024})

        undo(client, edited)

        assert read(lease)[1] == {"client": "Orrin", "year": 2024}

    def test_gives_the_files_of_an_e_mail_back_what_they_had(self, client):
        mail, plan = add_zip()
        update_artifact(plan.pk, metadata={"kind": "plan"}, groups=["clerks"])
        before = [read(mail), read(plan)]

        edited = edit(client, match={}, set={"client": "Orrin"}, add_groups=["partners"])
        undone = undo(client, edited)

        assert [read(mail), read(plan)] == before
        assert undone["undone"] == 2

    @pytest.mark.parametrize("client_before", ["Orrin", "Skerry"])
    def test_leaves_a_file_of_an_e_mail_the_groups_it_had_before(self, client, client_before):
        mail, plan = add_zip()
        update_artifact(plan.pk, metadata={"client": client_before}, groups=["partners"])
        before = [read(mail), read(plan)]

        edited = edit(client, ids=[str(mail.pk)], set={"client": "Orrin"}, groups=["partners"])
        undo(client, edited)

        assert [read(mail), read(plan)] == before

    def test_stops_an_edit_that_is_not_done(self, client, monkeypatch):
        monkeypatch.setattr(edits, "BATCH", 1)
        documents = [add("lease"), add("deed")]
        begun = ask(client, match={}, set={"client": "Orrin"})
        edits.work_on_next()

        undone = undo(client, begun)

        assert undone["state"] == "undone"
        assert all(read(each)[1] == {} for each in documents)

    def test_is_possible_for_a_stated_time(self, client):
        add("lease")
        edited = edit(client, match={}, set={"client": "Orrin"})
        Edit.objects.update(undo_until=timezone.now() - timedelta(minutes=1))

        answer = ask(client, f"/api/v1/edits/{edited['id']}/undo", 409)

        assert edited["undo_until"] > edited["created_at"]
        assert answer["code"] == "not_undoable"

    def test_is_possible_once(self, client):
        add("lease")
        edited = edit(client, match={}, set={"client": "Orrin"})
        undo(client, edited)

        ask(client, f"/api/v1/edits/{edited['id']}/undo", 409)

    def test_makes_a_document_public_again_for_who_made_it_their_groups(self):
        clerk = client_with_key(scope=Scope.WRITE, groups=["clerks"])
        lease = add("lease")
        edited = edit(clerk, match={}, groups=["clerks"])
        assert read(lease)[2] == ["clerks"]

        undo(clerk, edited)

        assert read(lease)[2] == []


class TestForgetting:
    def test_drops_former_values_once_they_are_of_no_use(self, client):
        add("lease")
        edit(client, match={}, set={"client": "Orrin"})
        Edit.objects.update(created_at=timezone.now() - timedelta(days=edits.UNDO_DAYS, minutes=1))

        edits.forget_old_edits()

        assert not Edit.objects.exists()
        assert not EditedDocument.objects.exists()

    def test_of_a_deleted_document_is_immediate(self, client):
        lease = add("lease")
        edit(client, match={}, set={"client": "Orrin"})

        remove_artifact(lease.pk)

        assert not EditedDocument.objects.exists()

    def test_of_an_index_that_is_removed_is_immediate(self, client):
        add("lease")
        edit(client, match={}, set={"client": "Orrin"})

        remove_index("plain")

        assert not Edit.objects.exists()


class TestDeletion:
    def test_removes_what_is_not_held(self, client):
        held, lease = add("held"), add("lease")
        update_artifact(held.pk, is_held=True)

        preview = ask(client, f"{EDITS}preview", 200, match={}, delete=True)
        done = edit(client, match={}, delete=True, expected=preview["changed"])

        assert preview["refusals"][0]["error"]["code"] == "document_held"
        assert (done["state"], done["changed"], done["undo_until"]) == ("done", 1, None)
        assert list(Artifact.objects.all()) == [held]
        assert AuditRow.objects.filter(document=str(lease.pk)).exists()

    def test_removes_an_e_mail_with_its_files(self, client):
        add_zip()

        done = edit(client, match={}, delete=True)

        assert not Artifact.objects.exists()
        assert done["changed"] == 2

    def test_can_be_stopped_before_it_is_done(self, client, monkeypatch):
        monkeypatch.setattr(edits, "BATCH", 1)
        add("lease")
        deed = add("deed")
        begun = ask(client, match={}, delete=True)
        edits.work_on_next()

        stopped = undo(client, begun)

        assert list(Artifact.objects.all()) == [deed]
        assert (stopped["state"], stopped["changed"], stopped["undone"]) == ("undone", 1, 1)
        ask(client, f"/api/v1/edits/{begun['id']}/undo", 409)

    def test_cannot_be_undone(self, client):
        add("lease")
        done = edit(client, match={}, delete=True)

        answer = ask(client, f"/api/v1/edits/{done['id']}/undo", 409)

        assert answer["code"] == "not_undoable"


class TestRights:
    def test_of_search_do_not_suffice(self):
        reader = client_with_key(scope=Scope.SEARCH)
        for path in (EDITS, f"{EDITS}preview"):
            ask(reader, path, 403, match={}, set={"a": 1})
        assert reader.get(EDITS).status_code == 403

    def test_an_edit_is_of_visible_documents_only(self):
        hidden, seen = add("secret", groups=["partners"]), add("lease", groups=["clerks"])
        clerk = client_with_key(scope=Scope.WRITE, groups=["clerks"])

        by_match = edit(clerk, match={}, set={"client": "Orrin"})
        by_id = ask(
            clerk, f"{EDITS}preview", 200, ids=[str(hidden.pk)], set={"client": "Orrin"}
        )  # fmt: skip

        assert by_match["count"] == 1
        assert read(hidden)[1] == {}
        assert read(seen)[1] == {"client": "Orrin"}
        assert by_id["refusals"][0] == {
            "id": str(hidden.pk),
            "title": None,
            "error": {
                "code": "unknown_artifact",
                "detail": f"There is no artifact {hidden.pk}.",
                "field": "ids",
            },
        }

    def test_give_only_ones_own_groups(self):
        lease = add("lease", groups=["clerks", "partners"])
        clerk = client_with_key(scope=Scope.WRITE, groups=["clerks", "interns"])

        refused = ask(clerk, f"{EDITS}preview", 200, match={}, groups=["partners"])
        preview = ask(clerk, f"{EDITS}preview", 200, match={}, groups=["interns"])
        edit(clerk, match={}, groups=["interns"])

        assert refused["refusals"][0]["error"]["field"] == "groups"
        assert preview["sample"][0]["before"] == {"groups": ["clerks"]}
        assert preview["sample"][0]["after"] == {"groups": ["interns"]}
        assert read(lease)[2] == ["interns", "partners"]

    def test_edits_of_others_are_seen_by_who_may_see_their_documents(self, client):
        clerk = client_with_key(scope=Scope.WRITE, groups=["clerks"])
        partner = client_with_key(scope=Scope.WRITE, groups=["clerks", "partners"])
        add("lease", groups=["clerks"])
        of_all = edit(client, match={}, set={"client": "Orrin"})
        of_clerk = edit(clerk, match={}, set={"client": "Skerry"})

        for each, seen in (
            (clerk, [of_clerk]),
            (partner, [of_clerk]),
            (client, [of_clerk, of_all]),
        ):
            listed = each.get(EDITS).json()["results"]
            assert [row["id"] for row in listed] == [row["id"] for row in seen]
        assert clerk.get(f"/api/v1/edits/{of_all['id']}/").status_code == 404
        ask(clerk, f"/api/v1/edits/{of_all['id']}/undo", 404)

    def test_to_a_document_that_end_hide_its_edits(self, client):
        clerk = client_with_key(scope=Scope.WRITE, groups=["clerks"])
        lease = add("lease", groups=["clerks"])
        done = edit(clerk, match={}, set={"client": "Orrin"})
        update_artifact(lease.pk, groups=["partners"])

        assert clerk.get(EDITS).json()["count"] == 0
        assert clerk.get(f"/api/v1/edits/{done['id']}/").status_code == 404

    def test_of_another_index_show_no_edit(self, client):
        add("lease")
        done = edit(client, match={}, set={"client": "Orrin"})
        stranger = client_with_key(scope=Scope.WRITE, indexes=["other"])

        assert stranger.get(f"/api/v1/edits/{done['id']}/").status_code == 404
        assert stranger.get(EDITS).status_code == 404

    def test_limit_the_edits_that_wait(self, client, settings):
        settings.STRATA_KEY_WAITING_JOBS = 1
        add("lease")
        ask(client, match={}, set={"client": "Orrin"})

        assert (
            ask(client, status=429, match={}, set={"client": "Skerry"})["code"] == "too_many_jobs"
        )
