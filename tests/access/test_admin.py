import pytest
from django.contrib.auth.models import Group, Permission
from django.urls import reverse
from django_otp.plugins.otp_totp.models import TOTPDevice

from access.grants import Grant, Scope
from access.models import GroupRights
from indexing.models import Index

pytestmark = pytest.mark.django_db


class TestGroupAdmin:
    def test_gives_a_group_rights_and_changes_them(self, admin_client):
        Index.objects.create(name="handbook")
        Index.objects.create(name="minutes")
        form = {
            "name": "harbour",
            "rights-TOTAL_FORMS": "1",
            "rights-INITIAL_FORMS": "0",
            "rights-0-scope": "write",
            "rights-0-indexes": "handbook\nminutes",
            "rights-0-groups": "red",
        }
        admin_client.post(reverse("admin:auth_group_add"), form)
        rights = GroupRights.objects.get(group__name="harbour")
        assert rights.scope == Scope.WRITE
        assert rights.grant == Grant(frozenset({"handbook", "minutes"}), frozenset({"red"}))

        url = reverse("admin:auth_group_change", args=[rights.group_id])
        assert "handbook\nminutes" in admin_client.get(url).content.decode()
        form |= {"rights-INITIAL_FORMS": "1", "rights-0-id": rights.pk, "rights-0-indexes": ""}
        admin_client.post(url, form | {"rights-0-group": rights.group_id})

        rights.refresh_from_db()
        assert rights.grant == Grant(groups=frozenset({"red"}))

    def test_gives_no_group_an_index_that_does_not_exist(self, admin_client):
        Index.objects.create(name="handbook")
        form = {
            "name": "harbour", "rights-TOTAL_FORMS": "1", "rights-INITIAL_FORMS": "0",
            "rights-0-scope": "write", "rights-0-indexes": "handbok",
        }  # fmt: skip

        answer = admin_client.post(reverse("admin:auth_group_add"), form)

        message = "There is no index named &#x27;handbok&#x27;; allowed: handbook."
        assert message in answer.content.decode()
        assert not GroupRights.objects.exists()


class TestStaff:
    """They have every permission of Django, and are no superusers."""

    @pytest.fixture
    def staff(self, client, django_user_model):
        user = django_user_model.objects.create_user("clerk", is_staff=True, password="as before")
        user.user_permissions.set(Permission.objects.all())
        user.groups.add(Group.objects.create(name="harbour"))
        client.force_login(user)
        return user

    def test_view_users_and_groups(self, client, staff):
        for model, row in (("user", staff), ("group", staff.groups.get())):
            assert (
                client.get(reverse(f"admin:auth_{model}_change", args=[row.pk])).status_code == 200
            )

    def test_give_nobody_rights(self, client, staff, admin_user):
        group = staff.groups.get()
        empty = {"rights-TOTAL_FORMS": "1", "rights-INITIAL_FORMS": "0"}
        rights = {"rights-0-scope": "manage", "rights-0-is_filled_from_claim": "on"}
        users = {"username": "clerk", "is_staff": "on", "is_superuser": "on", "is_active": "on"}
        password = {"password1": "a new Password 3", "password2": "a new Password 3"}
        permissions = {"permissions": [Permission.objects.first().pk]}
        deleting = {"action": "delete_selected", "_selected_action": [admin_user.pk], "post": "yes"}
        before = [repr(list(model.objects.values())) for model in (Group, GroupRights, type(staff))]

        for path, form in (
            (reverse("admin:auth_group_change", args=[group.pk]), {"name": "x", **empty, **rights}),
            (
                reverse("admin:auth_group_change", args=[group.pk]),
                {"name": "x", **permissions, **empty},
            ),
            (reverse("admin:auth_group_add"), {"name": "new", **empty, **rights}),
            (reverse("admin:auth_group_delete", args=[group.pk]), {"post": "yes"}),
            (reverse("admin:auth_user_change", args=[staff.pk]), users),
            (reverse("admin:auth_user_password_change", args=[admin_user.pk]), password),
            (reverse("admin:auth_user_add"), {"username": "new", **password}),
        ):
            assert client.post(path, form).status_code == 403, path
        client.post(reverse("admin:auth_user_changelist"), deleting)

        after = [repr(list(model.objects.values())) for model in (Group, GroupRights, type(staff))]
        assert after == before
        assert not group.permissions.exists()


class TestUserAdmin:
    def test_removes_a_second_factor(self, admin_client, admin_user):
        TOTPDevice.objects.create(user=admin_user, name="app")

        admin_client.post(
            reverse("admin:auth_user_changelist"),
            {"action": "remove_second_factor", "_selected_action": [admin_user.pk]},
        )

        assert not TOTPDevice.objects.exists()
