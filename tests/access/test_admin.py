import pytest
from django.urls import reverse

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

    def test_does_not_make_keys(self, admin_client):
        assert admin_client.get(reverse("admin:access_apikey_add")).status_code == 403
