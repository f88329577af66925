"""No tenant ever reads a word of another.

``STRATA_CANARY_QUERIES`` asks more than a thousand questions.
"""

import os
import random
from unittest import mock
from weakref import WeakKeyDictionary

import pytest

from access.grants import Grant
from answers.questions import values
from documents.models import Artifact
from evidence.models import EvidenceReference
from retrieval.visible_points import GROUPS_FIELD, VisiblePoints
from tests.asking_mcp import STRUCTURED
from tests.clients import session_with_rights
from tests.tenants.conftest import NAMES, TENANTS, canary
from tests.tenants.reads import (
    LOOK_UPS,
    UNKNOWN_ID,
    find_leaks,
    list_all_requests,
    list_mcp_requests,
    make_random_request,
    read_body,
    send,
)

# Searches of points with a document.
POINT_SEARCHES = {
    f"search/{name}"
    for name in ("pages", "summaries", "questions", "hierarchical", "structures", "images")
}
ROW_CHECK = "retrieval.search.hit_checks.includes_stored_groups"
QUERY_COUNT = int(os.environ.get("STRATA_CANARY_QUERIES", "1000"))


def find_all_leaks(tenants, name="red", list_requests=list_all_requests):
    """Yield the leaks of every face to this tenant."""
    client = tenants.client(name)
    for request in list_requests(tenants):
        yield from find_leaks(tenants, name, request, send(client, request))


class TestEveryInterface:
    @pytest.mark.parametrize("name", NAMES)
    def test_shows_a_tenant_only_what_it_may_see(self, tenants, name):
        assert list(find_all_leaks(tenants, name)) == []
        assert list(find_all_leaks(tenants, name, list_mcp_requests)) == []

    def test_shows_a_user_only_what_their_groups_may_see(self, tenants):
        client = session_with_rights(
            {"scope": "write", "groups": ["red"]}, {"scope": "write", "indexes": ["full"]}
        )

        seen, leaks = "", []
        for request in list_all_requests(tenants):
            response = send(client, request)
            seen += read_body(response)
            leaks += find_leaks(tenants, "red", request, response)

        assert leaks == []
        assert canary("red") in seen

    def test_shows_a_tenant_its_own_and_public_documents(self, tenants):
        client = tenants.client("red")
        seen = "".join(read_body(send(client, request)) for request in list_all_requests(tenants))

        for tenant in ("red", ""):
            for names, ids in tenants.ids[tenant].items():
                if names in {"artifact_id", "concept_id", "relationship_id", "type_id"}:
                    assert all(id in seen for id in ids), (tenant, names)
        # The concept that both tenants quote is hidden from both.
        assert tenants.ids["red"]["unshared_id"][0] not in seen
        self.check_own_things_over_mcp(tenants, client)

    def check_own_things_over_mcp(self, tenants, client):
        shown = {}
        for request in list_mcp_requests(tenants):
            if request.sought_tenant in (None, "red"):
                answer = read_body(send(client, request))
                assert '"error":{' not in answer, request
                assert '"isError":true' not in answer, request
                shown[str(request)] = canary("red") in answer
        # All but the lists of indexes, tools and templates, and vectors, have a word of it, those
        # that show ids and not titles in the structured content.
        silent = [
            request
            for request, is_shown in shown.items()
            if not is_shown and ("arguments" not in request or STRUCTURED in request)
        ]
        assert len(shown) - len(silent) > 20
        assert all("list" in request or "'embed'" in request for request in silent), silent

    def test_shows_an_administrator_everything(self, tenants):
        client = tenants.client("administrator")
        seen = "".join(read_body(send(client, request)) for request in list_all_requests(tenants))

        assert all(canary(tenant) in seen for tenant in TENANTS)
        assert tenants.ids["red"]["unshared_id"][0] in seen

    def test_does_not_distinguish_hidden_and_missing_objects(self, tenants):
        client = tenants.client("red")
        for path, given in LOOK_UPS.items():
            name = path[path.index("{") + 1 : path.index("}")]
            hidden_id = tenants.ids["blue"][name][0]
            hidden, missing = (
                client.get(f"/api/v1/{path.format(**{name: each})}", given)
                for each in (hidden_id, UNKNOWN_ID)
            )

            assert (hidden.status_code, missing.status_code) == (404, 404), path
            assert read_body(hidden).replace(hidden_id, UNKNOWN_ID) == read_body(missing), path

    def test_counts_only_what_a_tenant_may_see(self, tenants):
        counts = {
            name: tenants.client(name).get("/api/v1/indexes/full/").json()
            for name in (*NAMES, "administrator")
        }

        assert {name: count["artifacts"] for name, count in counts.items()} == {
            "red": 8, "blue": 8, "nobody": 4, "administrator": 12,
        }  # fmt: skip
        assert (
            counts["red"]["nodes"]["synced"] * 3 == counts["administrator"]["nodes"]["synced"] * 2
        )


class TestRandomQueries:
    def test_show_nothing_of_other_tenants(self, tenants):
        source = random.Random(22)
        clients = {name: tenants.client(name) for name in NAMES}

        leaks = []
        for _ in range(QUERY_COUNT):
            name = source.choice(NAMES)
            request = make_random_request(tenants, source)
            leaks += find_leaks(tenants, name, request, send(clients[name], request))

        assert leaks == []


class TestChangedGroups:
    """Until the payloads are written again, the old and the new groups must both allow it."""

    def test_hide_documents_at_once(self, tenants):
        Artifact.objects.filter(groups=["red"]).update(groups=["blue"])
        EvidenceReference.objects.filter(groups=["red"]).update(groups=["blue"])
        client = tenants.client("red")

        leaks = []
        for request in list_all_requests(tenants):
            leaks += find_leaks(tenants, "nobody", request, send(client, request))

        assert leaks == []

    def test_do_not_show_points_before_their_payload_is_updated(self, tenants):
        Artifact.objects.filter(groups=["red"]).update(groups=["blue"])
        client = tenants.client("blue")

        for request in list_all_requests(tenants):
            if request.path in POINT_SEARCHES:
                assert canary("red") not in read_body(send(client, request)), request


# Each is one place where a condition is applied; without it the sweep must find a leak.
SHOW_ALL = {
    "artifacts": ("documents.models.is_visible", "q"),
    "grants of artifacts": ("access.grants.Grant.includes_groups", "yes"),
    "concepts": ("concepts.models.ConceptQuerySet.visible_to", "rows"),
    "relationships": ("concepts.models.RelationshipQuerySet.visible_to", "rows"),
    "relationship types": ("concepts.models.RelationshipTypeQuerySet.visible_to", "rows"),
    "emergent pairs": ("concepts.models.EmergentPairQuerySet.visible_to", "rows"),
    "judgements": ("evaluation.viewsets.is_visible", "q"),
    "summaries": ("summaries.viewsets.is_visible", "q"),
    "explanations": ("answers.pipelines.explaining.is_visible", "q"),
    "references of findings": ("evidence.models.is_visible", "q"),
}


def show_all(place: str, kind: str):
    from django.db.models import Q

    replacements = {
        "q": lambda grant, path="": Q(),
        "yes": lambda grant, groups: True,
        "rows": lambda rows, grant: rows,
    }
    return mock.patch(place, replacements[kind])


class TestMutations:
    def test_of_every_check_are_detected(self, tenants):
        unnoticed = []
        for name, (place, kind) in SHOW_ALL.items():
            with show_all(place, kind):
                if next(find_all_leaks(tenants), None) is None:
                    unnoticed.append(name)

        assert unnoticed == []
        with show_all(*SHOW_ALL["artifacts"]):
            leaks = list(find_all_leaks(tenants, list_requests=list_mcp_requests))
        for place in ("resources/list", "resources/read"):
            assert any(place in leak for leak in leaks), place

    def test_of_the_store_condition_leave_the_row_check_to_hide_documents(self, tenants):
        with mock.patch.object(VisiblePoints, "_restrict", lambda points, filter: filter):
            leaks = [leak for leak in find_all_leaks(tenants) if "search/" in leak]

        assert leaks == []

    def test_of_the_row_check_leave_the_store_condition_to_hide_documents(self, tenants):
        with mock.patch(ROW_CHECK, return_value=True):
            assert list(find_all_leaks(tenants)) == []

    def test_of_both_are_detected(self, tenants):
        with (
            mock.patch.object(VisiblePoints, "_restrict", lambda points, filter: filter),
            mock.patch(ROW_CHECK, return_value=True),
        ):
            leaks = list(find_all_leaks(tenants))

        for search in ("pages", "summaries", "questions", "hierarchical", "sources"):
            assert any(f"search/{search}" in leak for leak in leaks), search


class TestRequestsToTheStore:
    """Every query of a restricted grant has the condition, for every method of the store."""

    def record(self, tenants, monkeypatch, name):
        from indexing.stores import get_store

        # The values that earlier tests have read would not be asked for again.
        monkeypatch.setattr(values, "_cache", WeakKeyDictionary())
        store = get_store()
        filters = []
        search_many, count, facet = store.search_many, store.count, store.facet

        def recording_search_many(requests):
            filters.extend(("search", query.filter) for _, query in requests)
            return search_many(requests)

        def recording_count(collection, filter=None):
            filters.append(("count", filter))
            return count(collection, filter)

        def recording_facet(collection, field, *, limit, filter=None):
            filters.append(("facet", filter))
            return facet(collection, field, limit=limit, filter=filter)

        monkeypatch.setattr(store, "search_many", recording_search_many)
        monkeypatch.setattr(store, "count", recording_count)
        monkeypatch.setattr(store, "facet", recording_facet)
        client = tenants.client(name)
        for request in list_all_requests(tenants):
            send(client, request)
        return filters

    def test_contain_the_condition_on_groups(self, tenants, monkeypatch):
        condition = VisiblePoints(Grant(groups=frozenset({"red"})))._restrict(None)

        filters = self.record(tenants, monkeypatch, "red")

        assert {kind for kind, _ in filters} >= {"search", "facet"}
        for kind, filter in filters:
            assert filter == condition or condition in getattr(filter, "filters", ()), kind

    def test_contain_no_condition_for_an_administrator(self, tenants, monkeypatch):
        filters = self.record(tenants, monkeypatch, "administrator")

        assert filters
        assert not any(GROUPS_FIELD in repr(filter) for _, filter in filters)
