"""Who does not see all that an operation would change with the row it names is refused: 409, and
nothing is changed. Every operation that writes is walked."""

import json
from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from access.all_documents import NeedsAllDocuments
from access.grants import Grant, Scope
from access.permissions import get_required_scope
from concepts.models import Concept, Instance, Relationship, RelationshipType
from concepts.quotes import add_quote
from concepts.services import create_concept, create_relationship_type, relate_concepts
from curation import edits
from curation.models import EditedDocument
from documents.models import Artifact, Page
from documents.originals import save_incoming_file
from documents.reading import parse_artifact
from documents.services import add_artifact, update_artifact
from tests.access.routes import list_routes
from tests.documents.parsing.makers import make_zip
from tests.factories import give, load_index
from tests.granting import client_of, grant_by_header

ARTIFACTS = "indexes/knowledge/artifacts/"
EDITS = "/api/v1/indexes/knowledge/edits/"
OLD = make_zip({"a.md": "Herons", "b.md": "Storks"})
NEW = make_zip({"a.md": "Herons", "b.md": "Terns"})
WATCHED = (Artifact, Page, Concept, Instance, RelationshipType, Relationship)

World = dict[str, Any]
Send = Callable[[Any, World], Any]


@pytest.fixture
def world(db, store, embedder, settings, tmp_path, monkeypatch) -> World:
    """A ZIP of staff with a file of the board; concepts of everybody with relationships to one of
    the board."""
    settings.STRATA_FILES_DIR = tmp_path / "files"
    load_index("knowledge")
    upload = save_incoming_file("notes.zip", [OLD])
    whole, _ = add_artifact("knowledge", upload, external_id="notes", groups=["staff"])
    parse_artifact(whole.pk)
    hidden = whole.parts.get(external_id=f"{whole.pk}/b.md")
    update_artifact(hidden.pk, groups=["board"])
    secret = give("The heron stands.", index="knowledge", groups=["board"])
    names = ("secret", "target", "merged")
    concepts = {name: create_concept("knowledge", name) for name in names}
    add_quote(concepts["secret"].pk, "heron stands", artifact_id=secret.pk)
    kind = create_relationship_type("knowledge", "EATS")
    for source, target in (("merged", "secret"), ("merged", "target")):
        relate_concepts("knowledge", concepts[source].pk, kind.pk, concepts[target].pk)
    staff = Grant(groups=frozenset({"staff", "team"}))
    grant_by_header(monkeypatch, {"staff": staff})
    return {"whole": whole.pk, "hidden": hidden.pk, "kind": kind.pk} | {
        name: concept.pk for name, concept in concepts.items()
    }


def patch(**fields: Any) -> Send:
    return lambda client, world: client.patch(artifact(world), fields, format="json")


def artifact(world: World) -> str:
    return f"/api/v1/artifacts/{world['whole']}/"


def put(**content: Any) -> Send:
    return lambda client, world: client.put(f"{artifact(world)}content", **make_body(content))


def add(**fields: Any) -> Send:
    return lambda client, world: client.post(f"/api/v1/{ARTIFACTS}", **make_body(fields))


def make_body(fields: dict[str, Any]) -> dict[str, Any]:
    if "file" not in fields:
        return {"data": fields, "format": "json"}
    file = SimpleUploadedFile("notes.zip", fields["file"])
    return {"data": fields | {"file": file}, "format": "multipart"}


def add_line(client: Any, world: World) -> Any:
    line = b'{"text": "Only words.", "external_id": "notes"}'
    path = f"/api/v1/{ARTIFACTS}batch"
    answer = client.post(path, line, content_type="application/x-ndjson")
    verdict = json.loads(answer.getvalue())
    return answer_with(verdict.get("error", {}))


def answer_with(error: dict[str, Any]) -> Any:
    """An answer as if the only document of a request had been all of it."""
    return SimpleNamespace(status_code=409 if error else 202, json=lambda: error)


def delete(path: str, name: str) -> Send:
    return lambda client, world: client.delete(f"/api/v1/{path}/{world[name]}/")


def merge(client: Any, world: World) -> Any:
    path = f"/api/v1/concepts/{world['target']}/merge/"
    return client.post(path, {"concepts": [str(world["merged"])]}, format="json")


def edit(**change: Any) -> Send:
    """What the preview refuses is not changed by the edit either."""

    def send(client: Any, world: World) -> Any:
        asked = {"ids": [str(world["whole"])], **change}
        preview = client.post(f"{EDITS}preview", asked, format="json").json()
        client.post(EDITS, asked, format="json")
        while edits.work_on_next():
            pass
        return answer_with(read_refusal(preview))

    return send


def undo(client: Any, world: World) -> Any:
    """Of an edit that was carried out before the file of the board came."""
    asked = {"ids": [str(world["whole"])], "title": "Notes of 1911"}
    path = f"/api/v1/edits/{client.post(EDITS, asked, format='json').json()['id']}/"
    EditedDocument.objects.update(
        state="changed", before={"metadata": {"year": 1911}}, after={"metadata": {}}
    )
    client.post(f"{path}undo")
    while edits.work_on_next():
        pass
    return answer_with(read_refusal(client.get(path).json()))


def read_refusal(answer: dict[str, Any]) -> dict[str, Any]:
    return next((each["error"] for each in answer["refusals"]), {})


# Operation -> requests that would change or delete what staff does not see.
CASCADES: dict[str, list[Send]] = {
    "ArtifactViewSet.partial_update": [
        patch(groups=["staff", "team"]), patch(metadata={"year": 1911}), patch(is_held=True),
    ],
    "ArtifactViewSet.destroy": [delete("artifacts", "whole")],
    "ArtifactViewSet.content": [put(file=NEW), put(pages=["Only words."])],
    "ArtifactViewSet.create": [
        add(file=NEW, external_id="notes"),
        add(file=OLD, external_id="notes", metadata='{"year": 1911}'),
        add(text="Only words.", external_id="notes"),
    ],
    "StreamedArtifactViewSet.batch": [add_line],
    "ConceptViewSet.destroy": [delete("concepts", "merged")],
    "ConceptViewSet.merge": [merge],
    "RelationshipTypeViewSet.destroy": [delete("relationship-types", "kind")],
    "EditViewSet.create": [
        edit(set={"year": 1911}), edit(add_groups=["team"]), edit(delete=True),
    ],
    "EditViewSet.undo": [undo],
}  # fmt: skip
# Operations that change the row they name, with what was made from it, or add one.
ALONE = {
    "ArtifactSummaryView.delete", "ArtifactSummaryView.patch", "ChunkQuestionsView.patch",
    "PageSummaryView.delete", "PageSummaryView.patch",
    "ConceptViewSet.create", "ConceptViewSet.partial_update", "ConceptViewSet.add_quote",
    "EmergentPairViewSet.accept", "EmergentPairViewSet.dismiss", "QuoteViewSet.destroy",
    "JudgementViewSet.create", "JudgementViewSet.destroy", "KeyViewSet.create",
    "KeyViewSet.destroy", "RelationshipTypeViewSet.create",
    "RelationshipTypeViewSet.partial_update", "RelationshipViewSet.create",
    "RelationshipViewSet.destroy",
    # What repeats a finding, seen or not, becomes a finding when that changes.
    "EvidenceViewSet.create",
    # Writes nothing.
    "EditViewSet.preview",
}  # fmt: skip
EACH = [(name, number) for name, sent in CASCADES.items() for number in range(len(sent))]


def read_rows() -> list[Any]:
    return [list(model._base_manager.order_by("pk").values()) for model in WATCHED]


@pytest.mark.parametrize(("operation", "number"), EACH)
class TestEachCascade:
    def test_is_refused_to_those_who_do_not_see_all_of_it(self, world, operation, number):
        before = read_rows()

        answer = CASCADES[operation][number](client_of("staff"), world)

        assert answer.status_code == 409
        assert answer.json()["code"] in {"hidden_parts", "hidden_relationships"}
        assert read_rows() == before

    def test_is_done_for_those_who_see_all_of_it(self, world, operation, number):
        before = read_rows()

        answer = CASCADES[operation][number](client_of("everything"), world)

        assert answer.status_code in {200, 202}
        assert read_rows() != before


def test_every_operation_that_writes_is_walked():
    writing = {
        f"{route.view.__name__}.{route.operation}"
        for route in list_routes()
        if route.view is not None
        and get_required_scope(route.view, route.operation) in {Scope.WRITE, Scope.MANAGE}
        and route.method != "get"
        and not needs_all_documents(route.view, route.operation)
    }

    assert writing == CASCADES.keys() | ALONE


def needs_all_documents(view: Any, operation: str) -> bool:
    if not issubclass(view, NeedsAllDocuments):
        return False
    return view.actions_about_all is None or operation in view.actions_about_all


class TestZipWithAFileOfOtherGroups:
    def test_is_updated_by_those_who_see_all_and_the_file_stays_hidden(self, world):
        put(file=NEW)(client_of("everything"), world)

        whole = parse_artifact(world["whole"])

        assert whole is not None
        assert whole.state == Artifact.State.PARSED
        hidden = Artifact.objects.get(pk=world["hidden"])
        assert hidden.groups == ["board"]
        parse_artifact(hidden.pk)
        assert hidden.pages.get().text == "Terns"

    def test_is_downloaded_only_by_those_who_see_all_of_its_files(self, world):
        path = f"{artifact(world)}original"

        refused = client_of("staff").get(path)

        assert (refused.status_code, refused.json()["code"]) == (409, "hidden_parts")
        with closing(client_of("everything").get(path)) as answer:
            assert answer.status_code == 200

    def test_loses_the_file_if_they_leave_it_out(self, world):
        put(file=make_zip({"a.md": "Herons"}))(client_of("everything"), world)

        parse_artifact(world["whole"])

        assert not Artifact.objects.filter(pk=world["hidden"]).exists()

    def test_keeps_groups_of_a_file_that_the_caller_does_not_see(self, world):
        update_artifact(world["hidden"], groups=["board", "staff"])

        patch(groups=["staff"], metadata={"year": 1911})(client_of("staff"), world)

        hidden = Artifact.objects.get(pk=world["hidden"])
        assert (hidden.groups, hidden.metadata) == (["board", "staff"], {"year": 1911})

    def test_takes_no_document_that_has_the_id_of_one_of_its_files(self, world):
        taken = give(
            "Mine.", index="knowledge", external_id=f"{world['whole']}/c.md", groups=["staff"]
        )
        put(file=make_zip({"c.md": "Terns"}))(client_of("everything"), world)

        whole = parse_artifact(world["whole"])

        assert whole is not None
        assert whole.error_code == "content_conflict"
        taken.refresh_from_db()
        assert taken.pages.get().text == "Mine."
