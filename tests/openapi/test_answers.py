"""Every operation, asked of a service that has something of everything: its status and its answer
are those of the OpenAPI document."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

from django.core.files.uploadedfile import SimpleUploadedFile
from django.http.response import HttpResponseBase
from rest_framework.test import APIClient

from core.exceptions import MAX_ERROR_CHARS
from tests.openapi.conftest import SMILES, rolled_back
from tests.openapi.document import Document, Operation

JSON = "application/json"
FORM = "multipart/form-data"
NDJSON = "application/x-ndjson"
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"
LONG = "x" * 300_000


@dataclass(frozen=True)
class Call:
    """``given``: the query string of a GET, else the body. ``at``: parameters of the path that
    differ from those of the filled service."""

    operation_id: str
    given: Any = None
    status: int = 200
    at: Mapping[str, Any] = field(default_factory=dict)
    media_type: str = JSON
    accept: str = "*/*"


class TestAnswers:
    def test_match_the_openapi_document(self, client, document, filled):
        calls = list(_make_calls(filled))

        differences = [
            f"{call.operation_id} {call.given}: {difference}"
            for call in calls
            for difference in _find_differences(client, document, filled, call)
        ]

        assert not differences, "\n".join(differences)
        assert {call.operation_id for call in calls} == set(document.operations)


class TestErrors:
    def test_cut_a_long_value_that_they_repeat(self, client, document, filled):
        refused, repeated = 0, []
        for call in _lengthen(_make_calls(filled)):
            with rolled_back():
                response = _send(client, document.operations[call.operation_id], filled, call)
            if not response.streaming and (
                response.status_code >= 400 or call.media_type == NDJSON
            ):
                refused += 1
                if LONG[: MAX_ERROR_CHARS + 1].encode() in response.content:
                    repeated.append(f"{call.operation_id} {call.given!r}".replace(LONG, "LONG"))

        assert repeated == []
        assert refused > 300


def _lengthen(calls: Iterable[Call]) -> Iterator[Call]:
    """The calls that are answered, once for each of their values and names, which is long."""
    for call in calls:
        if call.status < 400 and isinstance(call.given, dict) and call.media_type == JSON:
            for given in _put_long(call.given):
                yield replace(call, given=given)
    line = json.dumps({"text": "One.", LONG: 1})
    yield Call("add_artifacts", f"{line}\n".encode(), media_type=NDJSON)


def _put_long(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from ({**value, name: long} for long in _put_long(part))
        yield {**value, LONG: 1}
    elif isinstance(value, list):
        yield from ([long, *value[1:]] for part in value[:1] for long in _put_long(part))
    else:
        yield LONG


def _find_differences(
    client: APIClient, document: Document, filled: SimpleNamespace, call: Call
) -> list[str]:
    operation = document.operations[call.operation_id]
    response = _send(client, operation, filled, call)
    body = b"".join(response) if response.streaming else response.content
    media_type = response.headers.get("Content-Type", "").partition(";")[0]
    if response.status_code != call.status:
        return [f"the status is {response.status_code}: {body[:500]!r}"]
    described = operation.content["responses"].get(str(response.status_code))
    if described is None:
        return [f"{response.status_code} is not described"]
    if not described.get("content"):
        return [f"it has a body: {body[:100]!r}"] if body else []
    schema = next(
        (
            content["schema"]
            for media_range, content in described["content"].items()
            if fnmatchcase(media_type, media_range)
        ),
        None,
    )
    if schema is None:
        return [f"{media_type} is not described"]
    if media_type == JSON:
        return document.find_differences(json.loads(body), schema)
    if media_type == NDJSON:
        values = [json.loads(line) for line in body.splitlines()]
        return [each for value in values for each in document.find_differences(value, schema)]
    return [] if body else ["it has no body"]


def _send(
    client: APIClient, operation: Operation, filled: SimpleNamespace, call: Call
) -> HttpResponseBase:
    parameters = {"index": "plain", "name": "search_knowledge_base", "page_index": 0}
    path = operation.path.format_map({**parameters, **vars(filled), **call.at})
    send = getattr(client, operation.method)
    if call.operation_id == "v1_indexes_destroy":  # the one DELETE with a query string
        return send(f"{path}?{urlencode(call.given or {})}", headers={"Accept": call.accept})
    if operation.method == "get":
        return send(path, call.given or {}, headers={"Accept": call.accept})
    headers = {"Accept": call.accept}
    if call.media_type == FORM:
        return send(path, call.given, format="multipart", headers=headers)
    if call.media_type == NDJSON:
        return send(path, call.given, content_type=NDJSON, headers=headers)
    return send(path, call.given, format="json", headers=headers)


def _both(name: str, given: dict[str, Any], status: int = 200) -> Iterator[Call]:
    """A search by its query string and by its body."""
    query = {
        name: json.dumps(value) if name == "filter" else value for name, value in given.items()
    }
    yield Call(name, query, status)
    yield Call(f"{name}_by_body", given, status)


def _make_calls(ids: SimpleNamespace) -> Iterator[Call]:
    """What removes comes last."""
    yield from _read_documents(ids)
    yield from _search(ids)
    yield from _search_concepts(ids)
    yield from _ask()
    yield from _read_indexes(ids)
    yield from _write(ids)
    yield from _edit(ids)
    yield from _write_concepts(ids)
    yield from _manage_keys()
    yield from _manage_people(ids)
    yield from _watch()
    yield from _remove(ids)
    yield from _look_after_sources()
    yield from _audit()


def _manage_keys() -> Iterator[Call]:
    yield Call("list_keys")
    yield Call("create_key", {"name": "agent", "indexes": ["plain"], "groups": ["red"]}, 201)
    yield Call("create_key", {"name": "agent"}, 400)
    yield Call("create_key", {"name": "late", "expires_at": "2001-01-01T00:00:00Z"}, 400)


def _manage_people(ids: SimpleNamespace) -> Iterator[Call]:
    yield Call("list_people", {"limit": 1})
    yield Call("add_person", {"name": "ada@example.org", "groups": ["editors"]}, 201)
    yield Call("add_person", {"name": "ada@example.org"}, 400)
    yield Call("change_person", {"groups": [], "is_active": False})
    yield Call("change_person", {"is_active": False}, 404, at={"person_id": 999_999})
    yield Call("change_person", {"is_active": False}, 409, at={"person_id": ids.manager_id})
    yield Call("make_password_link")


def _watch() -> Iterator[Call]:
    yield Call("list_deliveries", {"state": "due"})
    yield Call("list_deliveries", {"state": "new"}, 400)
    yield Call("retry_delivery")
    yield Call("retry_delivery", status=404, at={"delivery_id": UNKNOWN_ID})
    yield Call("send_test_event", status=409)


def _look_after_sources() -> Iterator[Call]:
    at = {"name": "notes"}
    yield Call("list_document_sources", at=at)
    yield Call("list_document_sources", status=404, at={"index": "nothing"})
    yield Call("read_document_source", at=at)
    yield Call("read_document_source", status=404)
    yield Call("list_source_entries", {"state": "missing", "limit": 1}, at=at)
    yield Call("list_source_entries", {"state": "lost"}, 400, at=at)
    yield Call("preview_source", at=at)
    yield Call("confirm_removals", at=at)
    yield Call("run_source", at=at)
    yield Call("pause_source", at=at)
    yield Call("resume_source", at=at)
    for action in ("preview", "run", "pause", "resume"):
        yield Call(f"{action}_source", status=404)
    yield Call("confirm_removals", status=404)


def _audit() -> Iterator[Call]:
    yield Call("list_audit")
    yield Call("list_audit", {"limit": 2, "index": "plain", "since": "2001-01-01T00:00:00Z"})
    yield Call("list_audit", {"since": "yesterday"}, 400)
    yield Call("export_audit", {"key": 1})
    yield Call("verify_audit")
    yield Call("erase_subject")
    yield Call("erase_subject", status=404, at={"subject": 999_999})


def _read_documents(ids: SimpleNamespace) -> Iterator[Call]:
    yield Call("list_artifacts")
    yield Call("list_artifacts", {"limit": 2, "offset": 1, "ordering": "-title"})
    yield Call("list_artifacts", {"status": "failed"})
    yield Call("list_artifacts", {"size": 2}, 400)
    yield Call("list_artifacts", status=404, at={"index": "nothing"})
    yield Call("read_artifact")
    yield Call("read_artifact", at={"artifact_id": ids.file_id})
    yield Call("read_artifact", status=404, at={"artifact_id": UNKNOWN_ID})
    yield Call("read_original", at={"artifact_id": ids.file_id})
    yield Call("read_original", status=404)
    yield Call("list_changes")
    yield Call("list_changes", status=404, at={"artifact_id": UNKNOWN_ID})
    yield Call("list_pages")
    yield Call("read_unseen_text")
    yield Call("list_duplicates")
    yield Call("read_page")
    yield Call("read_page", status=404, at={"page_index": 7})
    yield Call("draw_page", status=404)
    yield Call("find_passage_boxes", {"start": 0, "end": 4}, at={"artifact_id": ids.file_id})
    yield Call("find_passage_boxes", {"start": 4, "end": 4}, 400)
    yield Call("read_work")
    yield Call("read_source", {"window": 1})
    yield Call("read_source", status=404, at={"source_id": UNKNOWN_ID})
    for kind in ("chunk", "question", "concept"):
        yield Call("list_page_passages", {"kind": kind})
    yield Call("list_page_passages", status=404, at={"page_id": UNKNOWN_ID})
    yield Call("read_chunk_questions")
    yield Call("read_chunk_questions", status=404, at={"chunk_id": UNKNOWN_ID})
    yield Call("write_chunk_questions", {"questions": ["When do herons wait?"]})
    yield Call("write_chunk_questions", {"questions": [" "]}, 400)
    yield Call("read_page_summary")
    yield Call("read_artifact_summary", at={"artifact_id": ids.summarised_id})
    yield Call("read_artifact_summary", status=404)


def _search(ids: SimpleNamespace) -> Iterator[Call]:
    for mode in ("hybrid", "dense", "sparse"):
        yield from _both("search_pages", {"index": "plain", "query": "granite", "mode": mode})
    filtered = {"index": "plain", "q": "granite", "filter": {"year": 2019}}
    yield from _both("search_pages", filtered, 400)  # the plain index declares no year
    explained = {"index": "plain", "query": "granite", "explain": True, "verify": False}
    yield from _both("search_pages", explained)
    yield from _both("search_pages", {"index": "plain,full", "query": "granite"})
    yield from _both("search_pages", {"index": "plain"}, 400)
    yield from _both("search_pages", {"index": "nothing", "query": "granite"}, 404)
    late = {"index": "plain", "query": "granite", "min_revision": 10**9}
    yield Call("search_pages", late, 409)
    yield from _both("search_pages", {"index": "plain", "vector": [0.1] * 384})
    yield from _both("search_pages", {"index": "plain", "vector": [0.1] * 3}, 400)
    yield Call("embed_texts", {"input": "granite"})
    yield Call("embed_texts", {"input": ["granite", "chalk"], "input_type": "passage"})
    yield Call("embed_texts", {"input": []}, 400)
    for name in ("search_summaries", "search_questions", "search_hierarchical"):
        yield from _both(name, {"index": "full", "query": "granite cools slowly"})
        yield from _both(name, {"index": ["full"], "query": "granite", "explain": True})
        yield from _both(name, {"index": "plain", "query": "granite"}, 400)
    yield from _both("search_recursive", {"index": "full", "query": "granite cools slowly"})
    yield from _both("search_recursive", {"index": "plain", "query": "granite"}, 400)
    structure = {"index": "pharmacy", "structure": SMILES}
    yield from _both("search_structures", structure)
    yield from _both("search_structures", {**structure, "query": "kept dry"})
    picture = {"index": "gallery", "query": "red"}
    yield from _both("search_images", picture)
    yield from _both("search_images", {**picture, "with_text": False})
    yield Call(
        "count_field_values", {"filter": '{"conditions": "sore back"}'}, at={"index": "full"}
    )
    yield Call("count_field_values", {"filter": '{"colour": "red"}'}, 400, at={"index": "full"})
    yield Call("count_field_values", status=404, at={"index": "nothing"})
    yield Call("list_tools", at={"index": "full"})
    yield Call("call_tool", {"query": "granite"}, at={"index": "full"})
    condition = {"condition": "sore back", "limit": 3}
    yield Call("call_tool", condition, at={"index": "full", "name": "search_by_condition"})
    yield Call("call_tool", {"query": "granite"}, 404, at={"index": "full", "name": "nothing"})
    yield Call("call_tool", {"words": "granite"}, 400, at={"index": "full"})
    yield Call("find_similar_sources", {"window": 1, "min_similarity": -1})
    evidence = {"index": "evidence"}
    yield Call("find_similar_evidence", {"q": "heron"}, at=evidence)
    yield Call("find_similar_evidence", {"q": "heron"}, 400)
    urls = ["https://0.example/"]
    yield Call("find_related_evidence", {"query": "heron", "urls": urls}, at=evidence)


def _search_concepts(ids: SimpleNamespace) -> Iterator[Call]:
    wide = {"index": "knowledge", "query": "heron eats fish", "min_similarity": -1}
    for name in ("search_concepts", "search_relationships", "route_query", "blend_concepts"):
        yield from _both(name, wide)
        yield from _both(name, {"index": "knowledge", "query": "heron", "limit": 0}, 400)
    yield from _both("search_subgraph", wide)
    yield from _both("search_sources", {**wide, "include_concepts": True, "window": 1})
    for concept in (ids.concept_id, ids.near_concept_id):
        at = {"concept_id": concept}
        yield Call("read_concept", at=at)
        yield Call("list_instances", at=at)
        yield Call("read_evidence", {"query": "heron"}, at=at)
        yield Call("read_evidence_by_body", {}, at=at)
        yield Call("read_concept_context", {"window": 1}, at=at)
        yield Call("find_paths", {"like": "eats,feeds"}, at=at)
    both = f"{ids.concept_id},{ids.near_concept_id}"
    yield Call("find_shared", {"ids": both})
    yield Call("find_shared", {"ids": ids.concept_id}, 400)
    yield Call("read_concept", status=404, at={"concept_id": UNKNOWN_ID})
    yield Call("list_concepts", {"evidence": "some"}, at={"index": "knowledge"})
    yield Call("list_relationship_types", at={"index": "knowledge"})
    yield Call("list_relationships", {"concept": ids.concept_id}, at={"index": "knowledge"})
    yield Call("read_relationship_type")
    yield Call("read_relationship")
    yield Call("list_emergent", {"index": "knowledge"})
    yield Call("list_emergent", {"index": "knowledge", "min_similarity": -1})
    yield Call("list_emergent", {"index": "nothing"}, 404)


def _ask() -> Iterator[Call]:
    for index in ("plain", "asked"):
        question = {"index": index, "query": "When does the heron stand in the shallows?"}
        for name in ("ask", "ask_by_body"):
            yield Call(name, question)
            yield Call(name, question, accept=JSON)
            yield Call(name, {**question, "explain": True}, accept=JSON)
            yield Call(name, {**question, "why_not": UNKNOWN_ID}, accept=JSON)
    yield Call("ask_by_body", {"index": "nothing", "query": "When?"}, 404)
    yield Call("ask_by_body", {"index": "plain"}, 400)
    yield Call("list_pipelines")


def _read_indexes(ids: SimpleNamespace) -> Iterator[Call]:
    yield Call("v1_indexes_list")
    yield Call("v1_indexes_retrieve")
    yield Call("v1_indexes_retrieve", status=404, at={"index": "nothing"})
    yield Call("v1_indexes_verify_create", {})
    yield Call("v1_verify_create", {"repair": False})
    yield Call("plan_index", {"exact": True})
    yield Call("list_builds")
    yield Call("read_build")
    yield Call("read_build", status=404, at={"number": 9})
    yield Call("list_evaluations", {"index": "plain"})
    yield Call("read_evaluation")
    yield Call("read_evaluation_report")
    yield Call("read_evaluation", status=404, at={"run_id": UNKNOWN_ID})
    yield Call("list_judgements", {"verdict": "good"})


def _write(ids: SimpleNamespace) -> Iterator[Call]:
    yield Call("add_artifact", {"text": "The tide turns."}, 202)
    yield Call("add_artifact", {"text": "The tide turns."}, 200)
    yield Call("add_artifact", {"file": _make_file(), "title": "Notes"}, 202, media_type=FORM)
    yield Call("add_artifact", {"text": "One.", "pages": ["Two."]}, 400)
    yield Call("add_artifact", "<text/>", 415, media_type=NDJSON)
    lines = b'{"text": "One."}\n{"text": "One."}\n{"texts": 1}\nno JSON\n'
    yield Call("add_artifacts", lines, media_type=NDJSON)
    yield Call("update_artifact", {"title": "A note", "metadata": {"year": 2020}})
    yield Call("update_artifact", {"name": "A note"}, 400)
    yield Call("replace_content", {"text": "The heron left."}, 202)
    yield Call("replace_content", {"text": "The heron left."}, 200)
    yield Call("replace_content", {"file": _make_file("The heron came.")}, 202, media_type=FORM)
    yield Call("write_page_summary", {"text": "By hand."})
    at = {"artifact_id": ids.summarised_id}
    yield Call("write_artifact_summary", {"text": "By hand."}, at=at)
    yield Call("write_artifact_summary", {"text": None}, at=at)
    yield Call("write_artifact_summary", {"words": "By hand."}, 400, at=at)
    yield Call("delete_page_summary")
    yield Call("delete_page_summary", status=404)
    yield Call("delete_artifact_summary", at=at)
    item = {"url": "https://one.example/", "content": PASSAGE, "citation": {"title": "Tides"}}
    twin = {**item, "url": "https://two.example/"}
    edited = {**item, "content": "Boats leave the harbour before dawn."}
    for items in ([item, twin], [edited]):
        yield Call("add_evidence", {"items": items}, at={"index": "evidence"})
    yield Call("add_evidence", {"items": []}, 400, at={"index": "evidence"})
    yield Call("judge", {**JUDGEMENT, "node_id": ids.node_id}, 201)
    yield Call("judge", {**JUDGEMENT, "node_id": ids.node_id, "verdict": "bad"}, 200)
    yield Call("judge", {**JUDGEMENT, "node_id": UNKNOWN_ID}, 400)
    yield Call("judge", {**JUDGEMENT, "node_id": ids.node_id, "index": "nothing"}, 404)
    qrels = {"queries": {"q1": "heron"}, "qrels": {"q1": {"d0": 1}}}
    yield Call("evaluate", {"index": "plain", **qrels}, 202)
    yield Call("evaluate", {"index": "plain", "queries": {}}, 400)
    yield Call("regenerate", {"type": "chunk", "index": "plain"}, 202)
    yield Call("regenerate", {"type": "chunks"}, 400)
    yield Call("pause_build")
    yield Call("resume_build")
    yield Call("promote_build", {"force": True}, 202)
    yield Call("pause_build", status=409, at={"number": 1})
    yield Call("apply_spec", {"promote": False}, 202)
    yield Call("apply_spec", {"max_calls": 0}, 400)
    yield Call("cancel_build")
    yield Call("roll_back_index", status=409)
    yield Call("prune_index")
    yield Call("retry_failed", status=202)
    yield Call("read_spec")
    yield Call("write_spec", {"text": "titel: x"}, 422)
    yield Call("write_spec", {"text": "title: x"}, 409)
    yield Call("read_vectors", {"kind": "chunk", "ids": [ids.node_id]}, at={"number": 1})
    yield Call("read_vectors", {"kind": "image", "ids": [ids.node_id]}, 400, at={"number": 1})
    yield Call("read_vectors", {"kind": "chunk", "ids": []}, 400, at={"number": 1})


def _edit(ids: SimpleNamespace) -> Iterator[Call]:
    change = {"ids": [str(ids.artifact_id)], "title": "A note on herons", "unset": ["year"]}
    yield Call("list_edits")
    yield Call("list_edits", status=404, at={"index": "nothing"})
    yield Call("preview_edit", change)
    yield Call("preview_edit", {"ids": [UNKNOWN_ID], "delete": True})
    yield Call("preview_edit", {"match": {"words": "note"}, "add_groups": ["keepers"]})
    yield Call("preview_edit", {"match": {}}, 400)
    yield Call("edit_artifacts", change, 202)
    yield Call("edit_artifacts", {**change, "expected": 7}, 409)
    yield Call("read_edit")
    yield Call("undo_edit", status=202)
    yield Call("undo_edit", status=409)
    yield Call("undo_edit", status=404, at={"edit_id": UNKNOWN_ID})


def _write_concepts(ids: SimpleNamespace) -> Iterator[Call]:
    at = {"index": "knowledge"}
    yield Call("create_concept", {"label": "Egret", "search_terms": ["Egretta"]}, 201, at=at)
    yield Call("create_concept", {"label": "Egret"}, 409, at=at)
    yield Call("edit_concept", {"description": "A wading bird."})
    yield Call("add_instance", {"quote": "in the shallows", "source": ids.heron_source_id}, 201)
    yield Call("add_instance", {"quote": "in the shallows", "source": ids.heron_source_id}, 200)
    yield Call("add_instance", {"quote": "in the deep", "source": ids.heron_source_id}, 400)
    yield Call("create_relationship_type", {"name": "FEEDS"}, 201, at=at)
    yield Call("create_relationship_type", {"name": "FEEDS"}, 409, at=at)
    yield Call("edit_relationship_type", {"category": "food"})
    ends = {"source": ids.other_concept_id, "target": ids.concept_id, "type": ids.type_id}
    yield Call("relate_concepts", ends, 201, at=at)
    yield Call("relate_concepts", ends, 200, at=at)
    yield Call("dismiss_emergent")
    yield Call("accept_emergent", {"type": ids.type_id}, 201)
    yield Call("accept_emergent", {"type": UNKNOWN_ID}, 400)
    yield Call("accept_emergent", {"type": ids.type_id}, 404, at={"pair_id": UNKNOWN_ID})
    yield Call("merge_concepts", {"concepts": [ids.near_concept_id]})


def _remove(ids: SimpleNamespace) -> Iterator[Call]:
    yield Call("remove_instance", status=204)
    yield Call("remove_instance", status=404)
    yield Call("remove_relationship", status=204)
    yield Call("remove_relationship_type")
    yield Call("remove_concept")
    yield Call("take_back_judgement", status=204)
    yield Call("delete_evaluation", status=204)
    yield Call("remove_artifact", at={"artifact_id": ids.file_id})
    yield Call("remove_artifact", status=404, at={"artifact_id": ids.file_id})
    yield Call("v1_indexes_destroy", status=400, at={"index": "asked"})
    yield Call("v1_indexes_destroy", {"confirm": "asked"}, at={"index": "asked"})
    yield Call("v1_indexes_destroy", {"confirm": "nothing"}, 404, at={"index": "nothing"})
    yield Call("revoke_key", at={"key_id": ids.key_id})
    yield Call("revoke_key", status=404, at={"key_id": 999_999})


PASSAGE = "The tide turns at noon and boats wait for it in the harbour."
JUDGEMENT = {"index": "plain", "query": "shallows", "verdict": "good"}


def _make_file(text: str = "The lamp is lit at dusk.") -> SimpleUploadedFile:
    return SimpleUploadedFile("notes.txt", text.encode())
