import pytest

from config.middleware import POLICY

PAGES = ["/", "/concepts/", "/pipelines/", "/admin/login/", "/api/v1/indexes/", "/nowhere"]


class TestContentSecurityPolicy:
    @pytest.mark.django_db
    @pytest.mark.parametrize("address", PAGES)
    def test_is_sent_with_every_answer(self, client, address):
        assert client.get(address)["Content-Security-Policy"] == POLICY

    @pytest.mark.django_db
    def test_allows_inline_styles_only_on_the_api_page(self, client):
        policy = client.get("/api/docs/")["Content-Security-Policy"]

        assert "style-src 'self' 'unsafe-inline'" in policy
        assert "script-src 'self';" in policy

    @pytest.mark.django_db
    @pytest.mark.parametrize("address", [*PAGES, "/api/docs/"])
    def test_is_met_by_pages_without_inline_scripts(self, client, address):
        page = client.get(address).content.decode()

        assert "<script>" not in page
        assert " onclick=" not in page
