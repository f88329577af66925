"""Every route × every role: who is let in, and what keys for other indexes see. The routes are read
from the URL configuration, so that a route without a rule fails."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.utils import timezone
from rest_framework.test import APIClient

from access import usage_limits
from access.grants import Grant, Scope
from access.models import ApiKey
from access.permissions import HasScope, get_required_scope
from concepts.retrievers import ConceptRetriever
from core.exceptions import InvalidInput
from indexing import tasks
from indexing.models import Index, IndexBuild
from mcp_server import resources
from mcp_server.operations import get_operation
from mcp_server.tools import DECLARED_OPERATIONS, DECLARED_SCOPE, TOOLS
from retrieval.retrievers import ChunkRetriever, HierarchicalRetriever
from tests.access.routes import Route, list_routes
from tests.asking_mcp import (
    answer_in_this_thread,
    call_tool,
    list_tool_names,
    read_structured,
)
from tests.clients import session_with_rights
from tests.factories import load_index
from tests.written import make_build

pytestmark = pytest.mark.django_db

# Pages without data, the health checks, and the description of the API.
OPEN = {
    "",
    "health/live",
    "health/ready",
    "add/",
    "concepts/",
    "sources/",
    "documents/",
    "documents/<uuid:artifact_id>/",
    "indexes/",
    "work/",
    "keys/",
    "settings/",
    "api/schema/",
    "api/docs/",
    "sign-in/",
    "set-password/<uidb64>/<token>/",
}
# The login of the admin leads to the sign-in, and so do pages that need a user.
PAGES_OF_USERS = {
    "account/", "account/password/", "account/second-factor/", "account/sign-out/", "admin/login/",
    "account/applications/<key_id:authorization_id>/revoke/",
}  # fmt: skip
# There is nothing here without settings for a provider.
PAGES_OF_OPENID = {"sign-in/openid/", "sign-in/openid/return/"}
# By these, applications get access. There is nothing here over plain http, as these tests ask;
# tests/sign_in/oauth/ ask as over https.
PAGES_OF_APPLICATIONS = {
    ".well-known/oauth-protected-resource", ".well-known/oauth-protected-resource/<path:resource>",
    ".well-known/oauth-authorization-server",
    ".well-known/oauth-authorization-server/<path:issuer_path>",
    "oauth/authorize", "oauth/register", "oauth/token", "oauth/revoke",
}  # fmt: skip
# The page that draws the query pipelines redirects to the login of the admin.
PAGES_OF_SUPERUSERS = {"pipelines/"}
# Sessions of browsers are not accepted there.
ONLY_FOR_KEYS = re.compile(r"mcp/?$|v1/")
# Their errors have the forms of OpenAI and of Dify.
GUESTS = re.compile(r"v1/")
MANAGING = re.compile(
    r"(GET|POST) api/v1/keys|DELETE api/v1/keys|.* api/v1/(verify|reconcile|regenerate|work)\b"
    r"|.* api/v1/(audit|people|webhooks)\b"
    r"|DELETE api/v1/indexes/<index>/$|POST api/v1/indexes/<index>/(builds|verify)/"
    r"|.*/(plan|rollback|prune|spec)/$|.*/document-sources\b"
)
SEARCHES = re.compile(
    r"api/v1/(search/|ask\b|indexes/<str:index>/(tools/|evidence/related|embed)"
    r"|concepts/<uuid:concept_id>/evidence)|mcp/?$|v1/"
)
# Read by those who look after documents.
FOR_WRITERS = re.compile(
    r"api/v1/(artifacts/[^ ]*/unseen|(indexes/<str:index>/)?edits(/<uuid:edit_id>)?)/?$"
)
# About an index as a whole, not about single documents.
WHOLE_INDEX = re.compile(
    r".* api/v1/(verify|reconcile|regenerate|evaluations|work)\b|DELETE api/v1/indexes/<index>/$"
    r"|.* api/v1/indexes/[^ ]*/(verify|plan|rollback|prune|builds|spec|retry)\b|GET metrics$"
    r"|.* api/v1/indexes/[^ ]*/document-sources\b"
    r"|.* api/v1/(audit|people|webhooks)\b"
)
PUBLIC_SEARCHES = re.compile(
    r"(GET|POST) (api/v1/(search/|indexes/<str:index>/(tools/|facets))|mcp)"
)
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"
UNKNOWN = {
    "number": 999_999, "key_id": 999_999, "page_index": 0, "name": "nothing", "index": "nothing",
    "model": "nothing", "subject": 999_999, "person_id": 999_999, "delivery_id": UNKNOWN_ID,
}  # fmt: skip
NARROW = {"scope": Scope.MANAGE, "indexes": ["other"]}
PAGES = OPEN | PAGES_OF_SUPERUSERS | PAGES_OF_USERS | PAGES_OF_OPENID | PAGES_OF_APPLICATIONS
ROUTES = [route for route in list_routes() if route.path not in PAGES]
ROUTES_OF_SESSIONS = [route for route in ROUTES if not ONLY_FOR_KEYS.match(route.path)]

ROUTES_OF_INDEXES = [
    route for route in ROUTES if "index" in route.parameters and not GUESTS.match(route.path)
]


def expected_scope(route: Route) -> Scope:
    if MANAGING.match(str(route)):
        return Scope.MANAGE
    if FOR_WRITERS.match(route.path):
        return Scope.WRITE
    if route.method == "get" or SEARCHES.match(route.path):
        return Scope.SEARCH
    return Scope.WRITE


def ask(client: APIClient, route: Route, values: dict[str, Any] | None = None, given: Any = None):
    """Send a request of the route; of what is unknown, unless ``values`` name something."""
    known = {**dict.fromkeys(route.parameters, UNKNOWN_ID), **UNKNOWN, **(values or {})}
    send = getattr(client, route.method)
    if route.method == "get":
        return send(route.url(known), given or {})
    return send(route.url(known), given or {}, format="json")


def read_refusal(response: Any) -> tuple[int, str]:
    """The status and the code of an error, translated where it has the form of others."""
    content = response.json()
    if "error" in content:
        code = content["error"]["code"]
        return response.status_code, "unknown_key" if code == "invalid_api_key" else code
    of_dify = {1001: (401, "not_authenticated"), 1002: (401, "unknown_key")}
    of_dify[429] = 429, "too_many_requests"
    given = content.get("error_code")
    return of_dify.get(given, (response.status_code, content.get("code", "")))


def with_key(name: str, **rights: Any) -> APIClient:
    return with_secret(ApiKey.issue(name, **rights)[1])


def with_secret(secret: str) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client


def with_session(user: Any) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *names: None)
    monkeypatch.setattr(tasks.reconcile_indexes, "delay", lambda: None)
    answer_in_this_thread(monkeypatch)


@pytest.fixture(scope="module")
def build(shared_store) -> IndexBuild:
    """The live build of the plain index. No test writes to the store."""
    return load_index("plain")


@pytest.fixture
def public_index() -> Index:
    return Index.objects.create(name="open", is_public=True)


class TestRules:
    def test_require_a_permission_class_and_a_scope_of_every_api_route(self):
        wrong = [
            f"{route}: {route.view and route.view.__name__} declares no scope"
            for route in ROUTES
            if route.view is None
            or HasScope not in route.view.permission_classes
            or get_required_scope(route.view, route.operation) != expected_scope(route)
        ]

        assert not wrong, "\n".join(wrong)

    def test_refuse_an_operation_without_a_scope_to_every_key(self, monkeypatch):
        route = next(route for route in ROUTES if route.path == "api/v1/pipelines/")
        monkeypatch.delattr(route.view, "scopes")

        response = ask(with_key("manager"), route)

        assert (response.status_code, response.json()["code"]) == (403, "missing_scope")


def make_strangers() -> dict[str, APIClient]:
    revoked, secret = ApiKey.issue("revoked")
    ApiKey.objects.filter(pk=revoked.pk).revoke()
    expired, other_secret = ApiKey.issue("expired")
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    return {
        "none": APIClient(),
        "unknown": with_secret("strata_nonsense"),
        "revoked": with_secret(secret),
        "expired": with_secret(other_secret),
    }


class TestRoles:
    @pytest.mark.parametrize("role", ["none", "unknown", "revoked", "expired"])
    def test_every_route_refuses_a_missing_or_invalid_key(self, role):
        client = make_strangers()[role]

        answers = {str(route): ask(client, route) for route in ROUTES}

        code = "not_authenticated" if role == "none" else "unknown_key"
        opened = {
            name: response.status_code
            for name, response in answers.items()
            if read_refusal(response) != (401, code)
        }
        assert not opened

    @pytest.mark.parametrize("scope", list(Scope))
    def test_a_key_may_use_what_its_scope_includes(self, scope, shared_store):
        client = with_key(scope, scope=scope)

        wrong = []
        for route in ROUTES:
            response = ask(client, route)
            is_refused = response.status_code in {401, 403}
            if is_refused == scope.includes(expected_scope(route)):
                wrong.append(f"{route}: {response.status_code}")
            if is_refused:
                problem = response.json()
                assert problem["code"] == "missing_scope"
                assert f"the scope {expected_scope(route)};" in problem["detail"]

        assert not wrong, "\n".join(wrong)

    @pytest.mark.parametrize("scope", list(Scope))
    def test_a_session_may_use_what_the_scope_of_a_group_includes(self, scope, shared_store):
        client = session_with_rights({"scope": scope})

        wrong = []
        for route in ROUTES_OF_SESSIONS:
            response = ask(client, route)
            is_refused = response.status_code in {401, 403}
            if is_refused == scope.includes(expected_scope(route)):
                wrong.append(f"{route}: {response.status_code}")
            if is_refused:
                assert response.json() == {
                    "code": "missing_scope",
                    "detail": f"This operation needs the scope {expected_scope(route)}; your "
                    f"groups have the scope {scope}.",
                }

        assert not wrong, "\n".join(wrong)

    def test_a_group_without_rights_may_use_nothing(self, django_user_model, public_index):
        user = django_user_model.objects.create_user("clerk")
        user.groups.add(Group.objects.create(name="without rights"))

        answers = {ask(with_session(user), route).json()["code"] for route in ROUTES_OF_SESSIONS}

        assert answers == {"missing_scope"}

    def test_a_key_for_groups_may_not_use_routes_about_a_whole_index(self, shared_store):
        client = with_key("harbour", groups=["harbour"])

        answers = {str(route): ask(client, route) for route in ROUTES}

        refused = {
            name
            for name, response in answers.items()
            if response.status_code == 403 and response.json()["code"] == "needs_all_documents"
        }
        assert refused == {name for name in answers if WHOLE_INDEX.match(name)}
        assert {
            each.status_code for name, each in answers.items() if name not in refused
        }.isdisjoint({401, 403})

    def test_a_key_over_its_limit_may_do_nothing(self, settings, monkeypatch):
        settings.STRATA_KEY_REQUESTS_PER_MINUTE = 1
        monkeypatch.setattr(usage_limits.time, "time", lambda: 1e9)
        monkeypatch.setattr(usage_limits, "_permits", usage_limits._Permits())
        cache.clear()
        client = with_key("greedy")
        ask(client, ROUTES[0])

        answers = {str(route): ask(client, route) for route in ROUTES}

        allowed = {
            name: response.status_code
            for name, response in answers.items()
            if read_refusal(response) != (429, "too_many_requests")
            or int(response.headers["Retry-After"]) < 1
        }
        assert not allowed

    def test_staff_without_permissions_may_do_nothing(self, django_user_model, public_index):
        client = with_session(django_user_model.objects.create_user("clerk", is_staff=True))

        answers = {str(route): ask(client, route).status_code for route in ROUTES_OF_SESSIONS}

        assert set(answers.values()) == {403}, answers
        assert ask(client, Route("pipelines/", "get", None, "")).status_code == 302

    def test_pages_are_public_or_redirect_to_the_sign_in(self):
        answers = {
            path: APIClient().get(
                "/" + re.sub("<key_id:.*>", "1", path.replace("<uuid:artifact_id>", UNKNOWN_ID))
            )
            for path in PAGES - {"health/ready"}
        }

        opened = {path for path, answer in answers.items() if answer.status_code == 200}
        assert opened == OPEN - {"health/ready"}
        for path in PAGES_OF_USERS - {"account/sign-out/"}:
            assert answers[path]["Location"].startswith("/sign-in/"), path
        assert answers["account/sign-out/"].status_code == 405
        assert {answers[path].status_code for path in PAGES_OF_OPENID | PAGES_OF_APPLICATIONS} == {
            404
        }

    def test_a_superuser_may_do_everything(self, admin_user, shared_store):
        client = with_session(admin_user)

        refused = [
            route for route in ROUTES_OF_SESSIONS if ask(client, route).status_code in {401, 403}
        ]

        assert not refused
        assert ask(client, Route("pipelines/", "get", None, "")).status_code == 200

    def test_without_a_key_only_searches_of_a_public_index_are_allowed(self, public_index):
        opened = {
            str(route) for route in ROUTES if ask(APIClient(), route).status_code not in {401, 403}
        }

        assert opened == {str(route) for route in ROUTES if PUBLIC_SEARCHES.match(str(route))}

    def test_a_wrong_key_is_refused_for_a_public_index_too(self, public_index):
        response = with_secret("nonsense").get("/api/v1/search/pages?index=open&q=heron")

        assert response.status_code == 401


def find_route(operation_id: str) -> Route:
    operation = get_operation(operation_id)
    [route] = [
        route
        for route in ROUTES
        if route.method == operation.method.lower()
        and "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route.path) == operation.path
    ]
    return route


def make_arguments(schema: dict[str, Any]) -> dict[str, Any]:
    """The required arguments of the tool, naming objects that do not exist."""
    known = {"index": "nothing", "query": "heron", "like": "eats", "items": []}
    return {name: known.get(name, UNKNOWN_ID) for name in schema["required"]}


PUBLIC_TOOLS = {"search", "search_concepts", "list_values"}


class TestMcpTools:
    """Tools send requests to REST, so that a wrong scope in the table would hide a tool or show one
    that is refused."""

    def test_require_the_scope_of_their_operations(self):
        scopes = {name: (tool.scope, tool.operations) for name, tool in TOOLS.items()}
        scopes["of specs"] = (DECLARED_SCOPE, DECLARED_OPERATIONS)
        scopes["resources"] = (Scope.SEARCH, resources.OPERATIONS)

        wrong = [
            f"{name}: {scope} instead of {expected_scope(find_route(operation))} of {operation}"
            for name, (scope, operations) in scopes.items()
            for operation in operations
            if scope != expected_scope(find_route(operation))
        ]

        assert not wrong, "\n".join(wrong)

    def test_are_public_if_all_their_operations_are(self):
        public = {
            name
            for name, tool in TOOLS.items()
            if all(PUBLIC_SEARCHES.match(str(find_route(each))) for each in tool.operations)
        }

        assert {name for name, tool in TOOLS.items() if tool.is_public} == public

    @pytest.mark.parametrize("scope", list(Scope))
    def test_are_listed_and_allowed_for_keys_whose_scope_includes_theirs(self, scope, shared_store):
        client = with_key(scope, scope=scope)

        opened = {
            name
            for name, tool in TOOLS.items()
            if read_structured(client, name, **make_arguments(tool.make_schema())).get("code")
            != "missing_scope"
        }  # fmt: skip

        assert opened == {name for name, tool in TOOLS.items() if scope.includes(tool.scope)}
        assert set(list_tool_names(client)) == opened

    def test_without_a_key_are_only_searches(self, public_index):
        client = APIClient()

        opened = {
            name
            for name, tool in TOOLS.items()
            if read_structured(client, name, **make_arguments(tool.make_schema())).get("code")
            != "not_authenticated"
        }  # fmt: skip

        assert opened == set(list_tool_names(client)) == PUBLIC_TOOLS

    def test_do_not_accept_a_session_as_a_key(self, admin_user, public_index):
        client = with_session(admin_user)

        assert set(list_tool_names(client)) == PUBLIC_TOOLS

    def test_of_another_index_are_unknown(self, build):
        client = with_key("other", indexes=["other"])

        for name in ("search", "ask", "add_document", "plain__search_notes"):
            given = make_arguments(TOOLS[name].make_schema()) if name in TOOLS else {}
            answer = call_tool(client, name, **given | ({"index": "plain"} if given else {}))

            problem = answer["structuredContent"]
            assert (answer["isError"], problem["code"]) == (True, "unknown_index"), name
            assert problem["detail"] == "There is no index named 'plain'."
            assert "plain" not in problem["allowed"]


class TestNameOfAnotherIndex:
    """A key for another index gets, word for word, the answer for what does not exist."""

    @pytest.fixture
    def client(self) -> APIClient:
        return with_key("other", indexes=["other"])

    @pytest.mark.parametrize("route", ROUTES_OF_INDEXES, ids=str)
    def test_is_unknown_in_a_path(self, client, route, build):
        response, missing = ask(client, route, {"index": "plain"}), ask(client, route)

        assert (response.status_code, response.json()["code"]) == (404, "unknown_index")
        assert response.json() == missing.json() | {
            "detail": missing.json()["detail"].replace("nothing", "plain")
        }
        assert response.json()["allowed"] == ["other"]

    def test_is_unknown_in_a_path_to_a_session(self, client, build):
        session = session_with_rights(NARROW)
        for route in ROUTES_OF_INDEXES:
            of_key, of_session = (
                ask(each, route, {"index": "plain"}) for each in (client, session)
            )
            assert (of_session.status_code, of_session.json()) == (404, of_key.json()), route

    def test_is_unknown_in_a_body_or_query_string(self, client, build):
        bodies = {
            "search/pages": {"query": "heron"},
            "search/structures": {"structure": "no structure"},
            "ask": {"query": "heron"},
            "evaluations/": {},
            "judgements/": {"query": "q", "verdict": "good", "artifact_id": UNKNOWN_ID},
            "regenerate/": {"type": "chunk"},
        }
        for path, body in bodies.items():
            shown, missing = (
                client.post(f"/api/v1/{path}", {**body, "index": index}, format="json")
                for index in ("plain", "nothing")
            )

            problem = shown.json()
            assert (shown.status_code, problem["code"]) == (404, "unknown_index"), path
            assert problem["detail"] == missing.json()["detail"].replace("nothing", "plain")
            assert "plain" not in problem.get("allowed", [])

    def test_is_not_in_the_errors_of_ask(self, build, monkeypatch):
        answer_in_this_thread(monkeypatch)
        make_build("digest", chunks={"embed": False}, page_summaries=True)
        client = with_key("digest", indexes=["digest"], scope=Scope.SEARCH)

        body = {"index": "digest", "query": "heron"}
        headers = {"Accept": "application/json"}
        problem = client.post("/api/v1/ask", body, format="json", headers=headers).json()

        assert problem["detail"] == "The index digest holds no chunks."
        assert problem["allowed"] == []

    @pytest.mark.parametrize("retriever", [ChunkRetriever, HierarchicalRetriever, ConceptRetriever])
    def test_is_not_in_the_errors_of_a_retriever(self, build, retriever):
        make_build("digest", chunks={"embed": False}, images={"dimension": 8})
        make_build("whole", page_summaries=True, concepts=True)

        with pytest.raises(InvalidInput) as caught:
            retriever("digest", grant=Grant(indexes=frozenset({"digest"}))).search("heron")

        assert caught.value.allowed == []

    def test_is_unknown_to_a_key_with_several_indexes(self, build):
        client = with_key("several", indexes=["plain", "not-yet"], scope=Scope.SEARCH)

        assert client.get("/api/v1/search/pages?index=plain&q=heron").status_code == 200
        assert client.get("/api/v1/search/pages?index=knowledge&q=heron").status_code == 404
        assert client.get("/api/v1/search/pages?index=not-yet&q=heron").status_code == 404

    def test_must_be_given_for_a_regeneration(self, client, build):
        response = client.post("/api/v1/regenerate/", {"type": "chunk"}, format="json")

        assert (response.status_code, response.json()["field"]) == (400, "index")
