"""People over the API: added, changed and deactivated, and the link to set a password."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from rest_framework.test import APIClient

from access.grants import Scope
from access.models import GroupRights, OpenIdIdentity
from audit.models import AuditRow
from tests.clients import client_with_key

pytestmark = pytest.mark.django_db

PASSWORD = "seven herons in the harbour"
MANAGERS = {"scope": Scope.MANAGE}


def make_group(name: str, **rights: Any) -> Group:
    group = Group.objects.create(name=name)
    GroupRights.objects.create(group=group, **rights)
    return group


def make_manager(name: str) -> User:
    user = User.objects.create_user(name, password=PASSWORD)
    user.groups.add(
        Group.objects.filter(name="keepers").first() or make_group("keepers", **MANAGERS)
    )
    return user


def signed_in(user: User) -> APIClient:
    client = APIClient()
    client.force_login(user)
    return client


def add(client: APIClient, name: str = "ada@example.org", **given: Any) -> Any:
    return client.post("/api/v1/people/", {"name": name, **given}, format="json")


def change(client: APIClient, person: User, **given: Any) -> Any:
    return client.patch(f"/api/v1/people/{person.pk}/", given, format="json")


def make_link(client: APIClient, person: User) -> Any:
    return client.post(f"/api/v1/people/{person.pk}/password-link/")


def set_password(link: str, password: str = PASSWORD) -> Any:
    browser = Client()
    form = browser.get(link.removeprefix("http://testserver"), follow=True)
    address = form.redirect_chain[-1][0] if form.redirect_chain else link
    return browser.post(address, {"new_password1": password, "new_password2": password})


def can_sign_in(name: str, password: str = PASSWORD) -> bool:
    answer = Client().post("/sign-in/", {"username": name, "password": password})
    return answer.status_code == 302


class TestAdd:
    def test_gives_a_link_with_which_the_person_sets_a_password_once(self):
        make_group("editors", scope=Scope.WRITE)

        made = add(client_with_key(), groups=["editors"])

        assert (made.status_code, made.json()["groups"]) == (201, ["editors"])
        assert not User.objects.get().has_usable_password()
        link = made.json()["password_link"]
        assert set_password(link).status_code == 302
        assert can_sign_in("ada@example.org")
        assert "used before" in Client().get(link, follow=True).content.decode()
        assert set_password(link, "eleven lamps along the pier").status_code == 200
        assert can_sign_in("ada@example.org")

    def test_refuses_a_password_that_can_be_guessed(self):
        link = add(client_with_key()).json()["password_link"]

        assert set_password(link, "ada@example.org").status_code == 200
        assert not User.objects.get().has_usable_password()

    @pytest.mark.parametrize(
        ("field", "given"),
        [
            ("name", {"name": "ada"}),
            ("name", {"name": "ada lovelace"}),
            ("name", {"name": " "}),
            ("name", {"name": "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 150}),
            ("groups", {"name": "bob", "groups": ["editors", "nobody"]}),
        ],
    )
    def test_refuses_a_wrong_name_or_group(self, field, given):
        User.objects.create_user("ada")
        Group.objects.create(name="editors")

        refused = add(client_with_key(), **given)

        assert (refused.status_code, refused.json()["field"]) == (400, field)
        assert User.objects.count() == 1

    def test_leaves_a_row_in_the_audit_log_without_the_link(self):
        made = add(signed_in(make_manager("bob"))).json()

        row = AuditRow.objects.select_related("subject").get()
        assert (row.method, row.route, row.document) == ("POST", "/api/v1/people", str(made["id"]))
        assert row.name_and_address[0] == "bob"


class TestChange:
    def test_moves_a_person_to_other_groups_from_the_next_request(self):
        ada = User.objects.create_user("ada")
        ada.groups.add(make_group("editors", scope=Scope.WRITE))
        make_group("readers", scope=Scope.SEARCH, indexes=["plain"])
        client = signed_in(ada)

        changed = change(client_with_key(), ada, groups=["readers"])

        assert (changed.status_code, changed.json()["groups"]) == (200, ["readers"])
        assert client.get("/api/v1/people/").json()["code"] == "missing_scope"
        assert [*ada.groups.values_list("name", flat=True)] == ["readers"]

    def test_deactivates_and_activates(self):
        ada = User.objects.create_user("ada", password=PASSWORD)
        ada.groups.add(make_group("editors", scope=Scope.WRITE))
        client = signed_in(ada)
        assert client.get("/api/v1/indexes/").status_code == 200

        assert change(client_with_key(), ada, is_active=False).json()["is_active"] is False

        assert client.get("/api/v1/indexes/").status_code == 401
        assert not can_sign_in("ada")
        change(client_with_key(), ada, is_active=True)
        assert can_sign_in("ada")
        assert ada.groups.exists()

    @pytest.mark.parametrize("given", [{"groups": None}, {"is_active": None}, {"name": "eve"}])
    def test_refuses_other_changes(self, given):
        refused = change(client_with_key(), User.objects.create_user("ada"), **given)

        assert (refused.status_code, refused.json()["field"]) == (400, next(iter(given)))

    def test_of_nobody_is_unknown(self):
        assert change(client_with_key(), User(pk=999_999)).json()["code"] == "unknown_person"


class TestLastManager:
    @pytest.mark.parametrize("given", [{"is_active": False}, {"groups": []}])
    def test_cannot_lose_access(self, given):
        bob = make_manager("bob")
        User.objects.create_user("never signed in").groups.add(Group.objects.get())

        refused = change(signed_in(bob), bob, **given)

        assert (refused.status_code, refused.json()["code"]) == (409, "last_manager")
        bob.refresh_from_db()
        assert bob.is_active
        assert bob.groups.exists()

    def test_may_go_once_there_is_another(self):
        bob, _ = make_manager("bob"), make_manager("ada")

        assert change(signed_in(bob), bob, is_active=False).status_code == 200

    @pytest.mark.parametrize("rights", [{"indexes": ["plain"]}, {"groups": ["red"]}])
    def test_is_not_replaced_by_who_manages_a_part(self, rights):
        bob = make_manager("bob")
        ada = User.objects.create_user("ada", password=PASSWORD)
        ada.groups.add(make_group("some", scope=Scope.MANAGE, **rights))

        assert change(signed_in(bob), bob, is_active=False).status_code == 409


class TestSuperusersAndStaff:
    @pytest.mark.parametrize("rights", [{"is_superuser": True}, {"is_staff": True}])
    def test_are_changed_by_superusers_only(self, admin_user, rights):
        carol = User.objects.create_user("carol", **rights)

        bob = make_manager("bob")

        for client in (client_with_key(), signed_in(bob)):
            listed = client.get("/api/v1/people/").json()["results"]
            changeable = [each["name"] for each in listed if each["is_changeable"]]
            assert changeable == ["bob"]
            for refused in (change(client, carol, is_active=False), make_link(client, carol)):
                assert (refused.status_code, refused.json()["code"]) == (403, "superuser_needed")
        assert change(signed_in(admin_user), carol, is_active=False).status_code == 200


class TestPasswordLink:
    def test_replaces_a_password_and_ends_sessions(self):
        ada = User.objects.create_user("ada", password="an older password")
        ada.groups.add(make_group("editors", scope=Scope.WRITE))
        client = signed_in(ada)

        set_password(make_link(client_with_key(), ada).json()["password_link"])

        assert can_sign_in("ada")
        assert client.get("/api/v1/indexes/").status_code == 401

    def test_is_refused_for_people_of_a_provider(self):
        ada = User.objects.create_user("ada")
        OpenIdIdentity.objects.create(issuer="https://id.example", subject="ada", user=ada)

        refused = make_link(client_with_key(), ada)

        assert (refused.status_code, refused.json()["field"]) == (400, "id")
