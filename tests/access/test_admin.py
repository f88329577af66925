import re

import pytest
from django.urls import reverse

from access.grants import Grant, Scope
from access.models import ApiKey

pytestmark = pytest.mark.django_db


class TestApiKeyAdmin:
    def test_revokes_selected_keys(self, admin_client):
        key = ApiKey.issue("importer")[0]

        answer = admin_client.post(
            reverse("admin:access_apikey_changelist"),
            {"action": "revoke", "_selected_action": [key.pk]},
            follow=True,
        )

        assert "1 key revoked." in answer.content.decode()
        assert not ApiKey.objects.active().exists()

    def test_shows_a_key_without_its_secret_or_hash(self, admin_client):
        key, secret = ApiKey.issue("importer")

        page = admin_client.get(reverse("admin:access_apikey_change", args=[key.pk]))

        assert key.prefix in page.content.decode()
        assert secret not in page.content.decode()
        assert key.digest not in page.content.decode()

    def test_makes_a_key_and_shows_its_secret_once(self, admin_client):
        given = {"name": "reader", "scope": "search", "indexes": "plain\nnot-yet\n", "groups": ""}

        answer = admin_client.post(reverse("admin:access_apikey_add"), given, follow=True)

        [secret] = re.findall(r"<code>(strata_[\w-]+)</code>", answer.content.decode())
        rights = ApiKey.find_by_secret(secret)
        assert (rights.name, rights.scope) == ("reader", Scope.SEARCH)
        assert rights.grant == Grant(indexes=frozenset({"plain", "not-yet"}))
        listed = admin_client.get(reverse("admin:access_apikey_changelist"))
        assert secret not in listed.content.decode()

    def test_refuses_a_name_that_an_active_key_has(self, admin_client):
        ApiKey.issue("reader")

        answer = admin_client.post(
            reverse("admin:access_apikey_add"), {"name": "reader", "scope": "search"}
        )

        assert "An active key" in answer.content.decode()
        assert ApiKey.objects.count() == 1
