"""Tools called with the token of an application."""

import pytest

from tests.asking_mcp import answer_in_this_thread, call_tool, list_tool_names, read_structured
from tests.sign_in.oauth.asking import Agent, make_browser, make_client

BEHIND_PROXY = {"HTTP_HOST": "strata.example", "HTTP_X_FORWARDED_PROTO": "https"}

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _in_this_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_in_this_thread(monkeypatch)


class TestTools:
    def test_are_those_of_the_token(self):
        client = make_client(Agent().connect(make_browser({"scope": "search"}))["access_token"])

        assert "add_document" not in list_tool_names(client)
        assert read_structured(client, "list_indexes")["results"] == []

    def test_are_refused_by_scope(self):
        client = make_client(Agent().connect(make_browser(), form={"allow": "yes"})["access_token"])

        result = call_tool(client, "add_document", index="plain", text="x")

        assert result["isError"]
        assert result["structuredContent"]["code"] == "missing_scope"
        assert "you allowed the application search only" in result["structuredContent"]["detail"]


class TestBehindAProxy:
    def test_everything_has_the_address_of_the_proxy(self, settings):
        settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
        settings.ALLOWED_HOSTS = ["strata.example"]
        browser = make_browser()
        browser.defaults |= BEHIND_PROXY
        agent = Agent(defaults=BEHIND_PROXY)
        resource = "https://strata.example/mcp"

        code = agent.get_code(browser, resource=resource)
        tokens = agent.redeem(code, resource=resource).json()
        client = make_client(tokens["access_token"])
        client.defaults |= BEHIND_PROXY

        found = client.get("/.well-known/oauth-protected-resource").json()
        assert found["resource"] == resource
        assert read_structured(client, "list_indexes")["results"] == []
