"""The ids of another index's objects are unknown to keys and sessions, and are not listed."""

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from access.models import ApiKey
from documents.models import Artifact
from tests.access.routes import Route
from tests.access.test_matrix import NARROW, ROUTES, UNKNOWN, ask, with_key
from tests.clients import session_with_rights
from tests.openapi.conftest import filled_service, replace_models

pytestmark = pytest.mark.django_db

BODIES: dict[str, Any] = {
    "content": {"pages": ["other"]},
    "add_quote": {"quote": "heron"},
    "patch": {"text": "other"},
}


@pytest.fixture(scope="module")
def filled(shared_store, pair, tmp_path_factory) -> Iterator[SimpleNamespace]:
    """Filled once for all tests, which write nothing to the store."""
    with pytest.MonkeyPatch.context() as patched:
        replace_models(pair, patched)
        with filled_service(tmp_path_factory.mktemp("service"), patched) as ids:
            yield ids


class TestIdsOfAnotherIndex:
    def make_body(self, route: Route, ids: dict[str, Any]) -> Any:
        if route.operation == "partial_update":
            name = {"artifact_id": "title", "concept_id": "label", "type_id": "name"}
            return {name[route.parameters[0]]: "other"}
        if route.operation == "merge":
            return {"concepts": [str(ids["other_concept_id"])]}
        if route.path.rstrip("/").endswith("accept"):
            return {"type": str(ids["type_id"])}
        if route.path.rstrip("/").endswith("paths"):
            return {"like": "eats"}
        if route.path.rstrip("/").endswith("questions") and route.operation == "patch":
            return {"questions": ["other"]}
        return BODIES.get(route.operation)

    def test_are_unknown(self, filled):
        ids = {**vars(filled), "key_id": ApiKey.issue("victim", indexes=["plain"])[0].pk}
        ids["artifact_id"] = ids["summarised_id"]
        owner, session = with_key("owner"), session_with_rights(NARROW)
        client = with_key("other key", indexes=["other"])
        before = Artifact.objects.count()
        routes = [route for route in ROUTES if {*route.parameters} - {*UNKNOWN} or
                  route.parameters == ["key_id"]]  # fmt: skip

        shown, opened = [], set()
        for route in routes:
            body = self.make_body(route, ids)
            missing = ask(client, route, None, body)
            other = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", missing.content.decode())
            for each in (client, session):
                real = ask(each, route, ids, body)
                same = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "ID", real.content.decode())
                if real.status_code != 404 or same != other:
                    shown.append(f"{route}: {real.status_code} {same} instead of {other}")
            if route.method == "get" and ask(owner, route, ids, body).status_code == 200:
                opened |= {*route.parameters}

        assert not shown, "\n".join(shown)
        assert Artifact.objects.count() == before
        assert ApiKey.objects.active().filter(pk=ids["key_id"]).exists()
        # What the owner sees proves that the ids are right.
        assert opened >= {
            "artifact_id",
            "page_id",
            "chunk_id",
            "source_id",
            "concept_id",
            "type_id",
            "relationship_id",
            "run_id",
            "edit_id",
        }

    @pytest.mark.parametrize("path", ["indexes/", "evaluations/", "judgements/", "keys/"])
    def test_are_not_listed(self, filled, path):
        client, owner = with_key("other", indexes=["other"]), with_key("owner")

        hidden, listed = (each.get(f"/api/v1/{path}").json() for each in (client, owner))

        # The key itself is one that it may list.
        assert hidden["count"] == len(hidden["results"]) == (1 if path == "keys/" else 0)
        assert listed["count"] > hidden["count"]

    def test_are_not_in_the_reports_of_verify(self, filled):
        reports = with_key("other", indexes=["evidence"]).post("/api/v1/verify/").json()["reports"]

        assert {report["index"] for report in reports} == {"evidence"}
