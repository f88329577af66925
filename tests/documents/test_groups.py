import io

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from access.grants import EVERYONE, EVERYTHING, Grant
from core.exceptions import InvalidInput
from documents.exceptions import ContentConflict
from documents.groups import MAX_GROUPS, clean_groups
from documents.models import Artifact
from documents.services import update_artifact
from indexing.models import Node
from indexing.stores import get_store
from tests.clients import client_with_key
from tests.factories import PARAGRAPHS, give, sync
from tests.granting import client_of, grant_by_header

STAFF = Grant(groups=frozenset({"staff"}))
BOARD_AND_STAFF = Grant(groups=frozenset({"board", "staff"}))
NOBODY = Grant(groups=frozenset())


def visible(grant):
    return sorted(Artifact.objects.visible_to(grant).values_list("title", flat=True))


class TestVisibleTo:
    @pytest.fixture(autouse=True)
    def documents(self, build):
        for number, groups in enumerate(([], ["staff"], ["board"], ["board", "staff"])):
            give(f"Text {number}", title=f"{number}", groups=groups)

    def test_finds_documents_without_groups_or_with_a_shared_group(self):
        assert visible(STAFF) == ["0", "1", "3"]
        assert visible(BOARD_AND_STAFF) == ["0", "1", "2", "3"]
        assert visible(NOBODY) == ["0"]
        assert visible(EVERYTHING) == ["0", "1", "2", "3"]

    def test_compares_whole_names_case_sensitively(self):
        assert visible(Grant(groups=frozenset({"Staff", "sta", "staf_", "%"}))) == ["0"]

    def test_agrees_with_is_visible_to(self):
        for grant in (STAFF, BOARD_AND_STAFF, NOBODY, EVERYTHING):
            rows = [each.title for each in Artifact.objects.all() if each.is_visible_to(grant)]
            assert sorted(rows) == visible(grant)


class TestCleanGroups:
    def test_sorts_and_drops_repeats(self):
        assert clean_groups(["staff", "board", "staff"]) == ["board", "staff"]

    @pytest.mark.parametrize(
        "groups",
        [
            [""],
            [" staff"],
            ["a" * 101],
            ["a\nb"],
            [5],
            [None, "staff"],
            [str(n) for n in range(51)],
        ],
    )
    def test_refuses_invalid_names(self, groups):
        with pytest.raises(InvalidInput) as error:
            clean_groups(groups)

        assert error.value.field == "groups"

    def test_accepts_the_maximum_number_of_groups(self):
        assert len(clean_groups([str(n) for n in range(MAX_GROUPS)])) == MAX_GROUPS


class TestWriting:
    def test_gives_a_new_document_all_groups_of_the_grant(self, build):
        assert give("One.", grant=BOARD_AND_STAFF).groups == ["board", "staff"]
        assert give("Two.", grant=NOBODY).groups == []
        assert give("Three.").groups == []

    @pytest.mark.parametrize("groups", [[], ["board"], ["board", "staff"]])
    def test_refuses_foreign_groups_and_public_documents(self, build, groups):
        with pytest.raises(InvalidInput) as error:
            give("One.", groups=groups, grant=STAFF)

        assert (error.value.field, error.value.allowed) == ("groups", ["staff"])
        assert not Artifact.objects.exists()

    @pytest.mark.parametrize(
        ("before", "given", "after"),
        [
            (["staff"], ["staff"], ["staff"]),
            ([], ["staff"], ["staff"]),
            ([], [], []),
            (["staff"], [], None),
            (["staff"], ["board"], None),
            (["staff"], ["board", "staff"], None),
            ([], ["board"], None),
            # The other group is hidden and stays.
            (["board", "staff"], ["staff"], ["board", "staff"]),
            (["board", "staff"], ["board", "staff"], None),
            (["board", "staff"], ["board"], None),
            (["board", "staff"], [], None),
        ],
    )
    def test_changes_only_groups_of_the_grant(self, build, before, given, after):
        artifact = give("One.", groups=before)

        if after is not None:
            assert update_artifact(artifact.pk, groups=given, grant=STAFF).groups == after
        else:
            with pytest.raises(InvalidInput):
                update_artifact(artifact.pk, groups=given, grant=STAFF)
            artifact.refresh_from_db()
            assert artifact.groups == before

    def test_shows_only_groups_of_the_grant(self, build, monkeypatch):
        shared = give(groups=["board", "staff"])
        sync(build, shared)
        grant_by_header(monkeypatch, {"staff": STAFF})
        client, url = client_of("staff"), f"/api/v1/artifacts/{shared.pk}/"

        shown = [
            client.get(url).json(),
            *client.get("/api/v1/indexes/plain/artifacts/").json()["results"],
        ]
        changed = client.patch(url, {"groups": ["staff"], "title": "New"}, format="json").json()
        found = {
            group: client.post(
                "/api/v1/search/pages",
                {"index": "plain", "query": "heron", "filter": {"groups": group}},
                format="json",
            ).json()["hits"]
            for group in ("board", "staff")
        }

        assert [each["groups"] for each in (*shown, changed)] == [["staff"]] * 3
        assert (len(found["board"]), len(found["staff"])) == (0, 1)
        shared.refresh_from_db()
        assert shared.groups == ["board", "staff"]

    @pytest.mark.parametrize("given", [{"external_id": "d1"}, {}])
    def test_does_not_change_a_hidden_document_that_is_added_again(self, build, given):
        artifact = give("One.", groups=["board"], **given)

        with pytest.raises(ContentConflict):
            give("One.", grant=STAFF, **given)

        before = artifact.revision
        artifact.refresh_from_db()
        assert artifact.revision == before

    def test_keeps_the_groups_of_an_existing_document(self, build):
        give("One.", external_id="d1", groups=["staff"])

        assert give("Two.", external_id="d1", grant=BOARD_AND_STAFF).groups == ["staff"]
        assert give("Two.", external_id="d1", groups=["board"]).groups == ["board"]


class TestCommand:
    def test_adds_its_documents_with_the_groups(self, build, tmp_path, monkeypatch):
        monkeypatch.setattr("core.api_client.has_embedded_store", lambda: False)
        (tmp_path / "notes.txt").write_text("One.")
        (tmp_path / "more.jsonl").write_text('{"text": "Two.", "groups": ["board"]}\n{"text": "3"}')

        call_command(
            "add", str(tmp_path), index="plain", group=["staff", "all"], stdout=io.StringIO()
        )

        assert sorted(Artifact.objects.values_list("groups", flat=True)) == [
            ["all", "staff"], ["all", "staff"], ["board"],
        ]  # fmt: skip


class TestOverHttp:
    @pytest.fixture
    def staff(self, build, monkeypatch):
        grant_by_header(monkeypatch, {"staff": STAFF})
        return client_of("staff")

    def test_accepts_groups_in_json_forms_and_batch_lines(self, build):
        api = client_with_key()
        path = "/api/v1/indexes/plain/artifacts/"
        file = SimpleUploadedFile("notes.txt", b"Two.")
        api.post(path, {"text": "One.", "groups": ["staff"]}, format="json")
        api.post(path, {"file": file, "groups": '["b", "a"]'}, format="multipart")
        lines = api.post(
            f"{path}batch", b'{"text": "3", "groups": ["c"]}', content_type="application/x-ndjson"
        )
        assert b"added" in b"".join(lines)

        listed = api.get(path).json()["results"]
        assert [each["groups"] for each in listed] == [["staff"], ["a", "b"], ["c"]]

    @pytest.mark.parametrize("groups", ["staff", "[", '{"a": 1}', "[1]"])
    def test_names_the_field_of_a_wrong_value_in_a_form(self, build, groups):
        given = {"file": SimpleUploadedFile("notes.txt", b"Two."), "groups": groups}
        path = "/api/v1/indexes/plain/artifacts/"
        answer = client_with_key().post(path, given, format="multipart")

        assert answer.status_code == 400
        assert answer.json()["field"].startswith("groups")

    @pytest.mark.parametrize("groups", ["staff", [1], [" "], ["*"], {"a": 1}, ["a" * 101]])
    def test_names_the_field_of_a_wrong_value(self, build, groups):
        api = client_with_key()
        answer = api.post(
            "/api/v1/indexes/plain/artifacts/", {"text": "One.", "groups": groups}, format="json"
        )

        assert answer.status_code == 400
        assert answer.json()["field"].startswith("groups")

    def test_neither_changes_nor_deletes_a_hidden_document(self, staff):
        hidden = give("One.", groups=["board"])
        path = f"/api/v1/artifacts/{hidden.pk}/"

        answers = [
            staff.get(path),
            staff.patch(path, {"title": "Mine"}, format="json"),
            staff.put(f"{path}content", {"text": "Mine."}, format="json"),
            staff.patch(f"{path}summary_candidate", {"text": "Mine."}, format="json"),
            staff.delete(path),
        ]

        assert [each.status_code for each in answers] == [404] * 5
        hidden.refresh_from_db()
        assert hidden.title == "Field notes"

    def test_refuses_routes_about_a_whole_index(self, staff):
        for path in ("evaluations/", "regenerate/", "indexes/plain/builds/"):
            answer = staff.get(f"/api/v1/{path}")
            assert (answer.status_code, answer.json()["code"]) == (403, "needs_all_documents")
        assert staff.delete("/api/v1/indexes/plain/").status_code == 403
        assert staff.get("/api/v1/indexes/plain/").status_code == 200


class TestChange:
    """Of groups: the payloads are written again, and nothing is embedded."""

    @pytest.fixture
    def artifact(self, build):
        artifact = give(PARAGRAPHS[0])
        sync(build, artifact)
        return artifact

    def payloads(self, build, artifact):
        ids = Node.objects.filter(artifact=artifact).values_list("point_id", flat=True)
        points = get_store().retrieve(build.collection("chunk"), list(ids))
        return [point.payload for point in points.values()]

    def test_embeds_nothing(self, build, artifact, embedder):
        embedder.embedded.clear()

        update_artifact(artifact.pk, groups=["staff"])
        sync(build, artifact)

        assert embedder.embedded == []
        assert {tuple(each["groups"]) for each in self.payloads(build, artifact)} == {("staff",)}

    def test_back_to_no_groups_restores_the_public_payload(self, build, artifact):
        before = self.payloads(build, artifact)
        assert {tuple(each["groups"]) for each in before} == {(EVERYONE,)}

        for groups in (["staff"], []):
            update_artifact(artifact.pk, groups=groups)
            sync(build, artifact)

        assert self.payloads(build, artifact) == before
