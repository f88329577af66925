import pytest

from config.content_security import POLICY

PAGES = ["/", "/concepts/", "/pipelines/", "/admin/login/", "/api/v1/indexes/", "/nowhere"]


class TestContentSecurityPolicy:
    @pytest.mark.django_db
    @pytest.mark.parametrize("address", PAGES)
    def test_is_sent_with_every_answer(self, client, address):
        assert client.get(address)["Content-Security-Policy"] == POLICY

    @pytest.mark.django_db
    def test_lets_only_the_page_of_the_api_have_styles_of_its_own(self, client):
        policy = client.get("/api/docs/")["Content-Security-Policy"]

        assert "style-src 'self' 'unsafe-inline'" in policy
        assert "script-src 'self';" in policy

    @pytest.mark.django_db
    @pytest.mark.parametrize("address", [*PAGES, "/api/docs/"])
    def test_finds_no_script_in_a_page(self, client, address):
        page = client.get(address).content.decode()

        assert "<script>" not in page
        assert " onclick=" not in page
