import pytest
from django.contrib.auth.models import Group, User
from django.utils import timezone
from rest_framework.test import APIClient

from access.models import ApiKey, GroupRights
from core import running_server
from indexing.models import Index
from tests.clients import session_with_rights
from tests.factories import give

pytestmark = pytest.mark.django_db

URL = "/api/v1/artifacts/1c9f9a8e-0000-4000-8000-000000000000/"  # answers 404 to who may ask


@pytest.fixture
def client() -> APIClient:
    return APIClient()


def ask(client: APIClient, authorization: str):
    return client.get(URL, headers={"Authorization": authorization})


class TestKeyAuthentication:
    def test_accepts_a_key(self, client):
        secret = ApiKey.issue("tests")[1]

        assert ask(client, f"Bearer {secret}").status_code == 404

    def test_reads_the_scheme_in_any_case(self, client):
        secret = ApiKey.issue("tests")[1]

        assert ask(client, f"bEARER  {secret} ").status_code == 404

    @pytest.mark.parametrize("authorization", [None, "Basic YTpi", "strata_without_a_scheme"])
    def test_requires_a_key(self, client, authorization):
        answer = ask(client, authorization) if authorization else client.get(URL)

        assert answer.status_code == 401
        assert answer["WWW-Authenticate"] == "Bearer"
        assert answer.json()["code"] == "not_authenticated"

    @pytest.mark.parametrize(
        "authorization", ["Bearer", "Bearer ", "Bearer nonsense", "Bearer ÿ\x80", "Bearer a b c"]
    )
    def test_refuses_an_unknown_key(self, client, authorization):
        ApiKey.issue("tests")

        answer = ask(client, authorization)

        assert answer.status_code == 401
        assert answer["WWW-Authenticate"] == "Bearer"
        assert answer.json()["code"] == "unknown_key"

    def test_refuses_a_revoked_key(self, client):
        key, secret = ApiKey.issue("tests")
        key.revoked_at = timezone.now()
        key.save()

        assert ask(client, f"Bearer {secret}").json()["code"] == "unknown_key"

    def test_refuses_a_hash_in_place_of_a_secret(self, client):
        key, _ = ApiKey.issue("tests")

        assert ask(client, f"Bearer {key.digest}").status_code == 401

    def test_takes_one_database_query(self, client, django_assert_num_queries):
        ApiKey.issue("tests")

        with django_assert_num_queries(1):
            ask(client, "Bearer nonsense")

    def test_accepts_the_running_servers_own_key_while_it_runs(self, client, settings, tmp_path):
        settings.STRATA_DATA_DIR = tmp_path
        with running_server.registered_server("http://127.0.0.1:1") as secret:
            assert ask(client, f"Bearer {secret}").status_code == 404

        assert ask(client, f"Bearer {secret}").status_code == 401

    def test_accepts_the_session_of_a_superuser(self, client, django_user_model):
        client.force_login(django_user_model.objects.create_superuser("admin"))

        assert client.get(URL).status_code == 404

    def test_requires_a_csrf_token_from_sessions(self, django_user_model):
        client = APIClient(enforce_csrf_checks=True)
        client.force_login(django_user_model.objects.create_user("reader"))

        answer = client.delete(URL)

        assert answer.status_code == 403
        assert answer.json()["code"] == "permission_denied"


class TestSessionAuthentication:
    def test_grants_the_rights_of_the_users_groups(self):
        client = session_with_rights({"scope": "search", "indexes": ["a"], "groups": ["red"]})

        assert client.get(URL).status_code == 404
        assert client.delete(URL).json()["code"] == "missing_scope"

    def test_grants_a_scope_only_in_the_indexes_of_its_group(self, build):
        readable = give("The heron stands.", index="plain")
        writable = give("The heron stands.", index="knowledge")
        client = session_with_rights(
            {"scope": "search", "indexes": ["plain"]}, {"scope": "write", "indexes": ["knowledge"]}
        )

        for document in (readable, writable):
            assert client.get(f"/api/v1/artifacts/{document.pk}/").status_code == 200
        refused = client.patch(f"/api/v1/artifacts/{readable.pk}/", {"title": "x"}, format="json")
        missing = client.patch(URL, {"title": "x"}, format="json")
        assert refused.status_code == 404
        assert refused.json()["code"] == missing.json()["code"] == "unknown_artifact"
        changed = client.patch(f"/api/v1/artifacts/{writable.pk}/", {"title": "x"}, format="json")
        assert changed.status_code == 200

    @pytest.mark.parametrize(
        "change",
        [
            lambda: GroupRights.objects.update(indexes=["other"]),
            lambda: GroupRights.objects.all().delete(),
            lambda: User.objects.get().groups.clear(),
            lambda: Group.objects.all().delete(),
            lambda: User.objects.update(is_active=False),
            lambda: User.objects.all().delete(),
        ],
        ids=["rights changed", "rights removed", "left", "group removed", "deactivated", "removed"],
    )
    def test_applies_a_change_of_rights_to_the_next_request(self, change):
        Index.objects.create(name="plain")
        client = session_with_rights({"scope": "search", "indexes": ["plain"]})
        assert client.get("/api/v1/indexes/plain/artifacts/").status_code == 200

        change()

        assert client.get("/api/v1/indexes/plain/artifacts/").status_code in {401, 403, 404}

    def test_reads_the_rights_in_one_query(self, django_assert_num_queries):
        client = session_with_rights({"scope": "search"}, {"scope": "write"})

        with django_assert_num_queries(3):  # the session, the user, the rights
            refused = client.get("/api/v1/search/pages")

        assert refused.json()["field"] == "query"

    def test_requires_a_csrf_token_for_writes(self):
        client = session_with_rights({"scope": "manage"})
        client.handler.enforce_csrf_checks = True

        refused = client.post("/api/v1/keys/", {"name": "new"}, format="json")
        token = client.get("/").cookies["csrftoken"].value
        made = client.post(
            "/api/v1/keys/", {"name": "new"}, format="json", headers={"X-CSRFToken": token}
        )

        assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")
        assert made.status_code == 201

    def test_creates_keys_with_no_more_rights_than_the_user(self):
        client = session_with_rights({"scope": "manage", "indexes": ["a"], "groups": ["red"]})

        made = client.post("/api/v1/keys/", {"name": "new"}, format="json").json()

        assert (made["indexes"], made["groups"]) == (["a"], ["red"])
        refused = client.post("/api/v1/keys/", {"name": "x", "indexes": ["b"]}, format="json")
        assert refused.status_code == 400
