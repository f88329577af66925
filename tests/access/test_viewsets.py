from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import Group

from access.grants import Grant, Scope
from access.models import ApiKey, GroupRights, OpenIdIdentity
from tests.clients import client_with_key

pytestmark = pytest.mark.django_db

LAST = datetime(2999, 1, 1, tzinfo=UTC)


def create(client, **given):
    return client.post("/api/v1/keys/", {"name": "new", **given}, format="json")


class TestCreate:
    def test_shows_the_secret_of_a_key_once(self):
        client = client_with_key()

        made = create(client, indexes=["plain"], scope="write")

        rights = ApiKey.find_by_secret(made.json()["secret"])
        assert (made.status_code, rights.scope) == (201, Scope.WRITE)
        assert rights.grant == Grant(indexes=frozenset({"plain"}))
        assert made.json()["secret"] not in client.get("/api/v1/keys/").content.decode()

    def test_gives_a_key_no_more_rights_than_its_creator(self):
        client = client_with_key(indexes=["a", "b"], groups=["red"], expires_at=LAST)

        rights = ApiKey.find_by_secret(create(client, indexes=["a"]).json()["secret"])
        assert rights.grant == Grant(frozenset({"a"}), frozenset({"red"}))
        assert ApiKey.objects.get(name="new").expires_at == LAST
        for field, given in (
            ("indexes", {"indexes": ["a", "c"]}),
            ("groups", {"groups": ["blue"]}),
            ("expires_at", {"expires_at": "3000-01-01T00:00:00Z"}),
        ):
            refused = create(client, name="more", **given)
            assert (refused.status_code, refused.json()["field"]) == (400, field)

    def test_does_not_say_that_a_hidden_key_has_the_name(self):
        ApiKey.issue("owner")
        client = client_with_key(indexes=["a"])

        refused = create(client, name="owner")

        assert refused.status_code == 400
        assert refused.json()["detail"] == "The key cannot have this name."
        assert "owner" not in client.get("/api/v1/keys/").content.decode()

    @pytest.mark.parametrize(
        "given", [{"groups": [" red"]}, {"scope": "all"}, {"indexes": "plain"}, {"name": " "}]
    )
    def test_refuses_invalid_rights(self, given):
        refused = create(client_with_key(), **given)

        assert (refused.status_code, refused.json()["code"]) == (400, "invalid")


class TestDestroy:
    def test_revokes_a_key_at_once(self):
        key, secret = ApiKey.issue("reader", indexes=["a"])

        revoked = client_with_key().delete(f"/api/v1/keys/{key.pk}/")

        assert revoked.json()["state"] == "revoked"
        assert ApiKey.find_by_secret(secret) is None

    def test_does_not_revoke_a_key_with_more_rights(self):
        key, secret = ApiKey.issue("owner")

        refused = client_with_key(indexes=["a"]).delete(f"/api/v1/keys/{key.pk}/")

        assert refused.json()["code"] == "unknown_key_id"
        assert ApiKey.find_by_secret(secret) is not None


class TestPeople:
    def test_are_listed_with_their_groups_and_the_rights_of_these(self, django_user_model):
        editors = Group.objects.create(name="editors")
        GroupRights.objects.create(group=editors, scope="write", indexes=["plain"])
        Group.objects.create(name="idle")
        ada = django_user_model.objects.create_user("ada", is_active=False)
        ada.groups.add(editors)
        bob = django_user_model.objects.create_superuser("bob")
        OpenIdIdentity.objects.create(issuer="https://id.example", subject="bob", user=bob)

        answer = client_with_key().get("/api/v1/people/").json()

        shown = ("name", "groups", "is_active", "is_superuser", "uses_provider")
        assert [[each[name] for name in shown] for each in answer["results"]] == [
            ["ada", ["editors"], False, False, False],
            ["bob", [], True, True, True],
        ]
        assert [(each["name"], each["scope"], each["indexes"]) for each in answer["groups"]] == [
            ("editors", "write", ["plain"]),
            ("idle", None, None),
        ]

    def test_are_only_for_those_who_see_everything(self):
        for rights in ({"indexes": ["plain"]}, {"groups": ["red"]}, {"scope": Scope.WRITE}):
            assert client_with_key(**rights).get("/api/v1/people/").status_code == 403
