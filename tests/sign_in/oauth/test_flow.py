"""How an application gets access, step by step, and what it may do then."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from access.models import ApiKey, Authorization, OpenIdIdentity
from tests.sign_in.oauth.asking import (
    ISSUER,
    REDIRECT,
    RESOURCE,
    enter,
    make_browser,
    make_client,
    read_return,
)

pytestmark = pytest.mark.django_db


def read_challenge(token: str = "", **environ: str) -> str:
    answer = enter(token, **environ)
    assert answer.status_code == 401
    return answer["WWW-Authenticate"]


class TestDiscovery:
    def test_begins_with_the_answer_401(self):
        expected = (
            f'Bearer resource_metadata="{ISSUER}/.well-known/oauth-protected-resource/mcp", '
            'scope="search write"'
        )

        assert read_challenge() == expected

    def test_names_the_authorization_server_at_root_and_path(self):
        at_root = make_client().get("/.well-known/oauth-protected-resource").json()

        assert at_root["resource"] == RESOURCE
        assert at_root["authorization_servers"] == [ISSUER]
        assert make_client().get("/.well-known/oauth-protected-resource/mcp").json() == at_root

    def test_describes_the_server_with_s256_only(self):
        found = make_client().get("/.well-known/oauth-authorization-server").json()

        assert found["issuer"] == ISSUER
        assert found["code_challenge_methods_supported"] == ["S256"]
        assert found["client_id_metadata_document_supported"] is True

    def test_is_switched_off_by_the_setting(self, settings):
        settings.STRATA_MCP_OAUTH = False

        assert read_challenge() == "Bearer"
        assert make_client().get("/.well-known/oauth-authorization-server").status_code == 404

    def test_is_off_over_plain_http(self):
        http = make_client()
        http.defaults["HTTP_HOST"] = "testserver"

        assert read_challenge(HTTP_HOST="testserver") == "Bearer"
        assert http.get("/.well-known/oauth-protected-resource").status_code == 404
        assert http.get("/oauth/authorize").status_code == 404

    def test_leaves_the_challenge_of_rest_as_it_was(self):
        assert make_client().get("/api/v1/indexes/")["WWW-Authenticate"] == "Bearer"


class TestRegistration:
    def test_gives_a_public_client_whatever_it_asks(self, agent):
        given = agent.register(token_endpoint_auth_method="client_secret_basic").json()

        assert given["token_endpoint_auth_method"] == "none"
        assert "client_secret" not in given

    @pytest.mark.parametrize(
        "changed",
        [
            {"redirect_uris": None},
            {"redirect_uris": []},
            {"redirect_uris": [REDIRECT] * 6},
            {"redirect_uris": [1]},
            {"client_name": "two\nlines"},
            {"client_name": 1},
        ],
    )
    def test_refuses_wrong_metadata(self, agent, changed):
        answer = agent.register(**changed)

        assert answer.status_code == 400
        assert answer.json()["error"] in {"invalid_redirect_uri", "invalid_client_metadata"}

    def test_refuses_what_is_no_json_object(self):
        for text in ("", "[]", "{", "\x00"):
            answer = make_client().post("/oauth/register", text, content_type="application/json")
            assert answer.json()["error"] == "invalid_client_metadata"


class TestConsent:
    def test_asks_a_stranger_to_sign_in_first(self, agent):
        answer = agent.open_consent(make_client())

        assert answer["Location"].startswith("/sign-in/?next=/oauth/authorize%3F")

    def test_names_the_application_and_where_the_answer_goes(self, agent, browser):
        page = agent.open_consent(browser).content.decode()

        assert "Allow Agent access?" in page
        assert REDIRECT in page
        assert 'name="may_write"' in page

    def test_shows_a_name_as_text(self, browser, agent):
        agent.client_id = agent.register(client_name="<script>x</script>").json()["client_id"]

        assert "<script>x" not in agent.open_consent(browser).content.decode()

    def test_returns_code_state_and_issuer(self, agent, browser):
        answer = agent.ask(browser)

        assert answer["Location"].startswith(f"{REDIRECT}?")
        returned = read_return(answer)
        assert set(returned) == {"code", "state", "iss"}
        assert (returned["state"], returned["iss"]) == ("s1", ISSUER)

    def test_returns_the_users_refusal(self, agent, browser):
        returned = read_return(agent.ask(browser, {}))

        assert (returned["error"], returned["state"]) == ("access_denied", "s1")
        assert not Authorization.objects.exists()

    def test_gives_nothing_of_a_user_without_rights(self, agent):
        browser = make_browser({"scope": "search"})
        User.objects.get().groups.clear()

        assert b"None of your groups has rights" in agent.open_consent(browser).content
        assert read_return(agent.ask(browser))["error"] == "access_denied"

    def test_takes_a_loopback_address_with_any_port(self, agent, browser):
        agent.uris = ["http://127.0.0.1/return"]
        agent.client_id = agent.register().json()["client_id"]

        answer = agent.ask(browser, redirect_uri="http://127.0.0.1:4567/return")

        assert answer["Location"].startswith("http://127.0.0.1:4567/return?code=")


class TestAccess:
    def test_has_the_chosen_scope(self, agent, browser):
        writing = agent.connect(browser)
        searching = agent.connect(browser, form={"allow": "yes"})

        assert enter(writing["access_token"]).scope == "write"
        assert enter(searching["access_token"]).scope == "search"
        assert (writing["scope"], searching["scope"]) == ("search write", "search")

    def test_follows_the_rights_of_the_user(self, agent, browser):
        token = agent.connect(browser)["access_token"]

        User.objects.get().groups.clear()

        assert enter(token).status_code == 403

    def test_ends_when_the_user_is_deactivated(self, agent, browser):
        token = agent.connect(browser)["access_token"]

        User.objects.update(is_active=False)

        assert 'error="invalid_token"' in read_challenge(token)

    def test_goes_on_for_keys(self):
        _, secret = ApiKey.issue("a key")

        assert enter(secret).scope == "manage"

    def test_is_renewed_by_the_refresh_token(self, agent, browser):
        first = agent.connect(browser)

        second = agent.refresh(first["refresh_token"]).json()

        assert enter(second["access_token"]).scope == "write"
        assert read_challenge(first["access_token"])

    def test_ends_with_the_session_of_a_provider(self, agent, browser):
        OpenIdIdentity.objects.create(issuer="i", subject="s", user=User.objects.get())

        agent.connect(browser)

        lasts = timedelta(seconds=settings.STRATA_OIDC_SESSION_SECONDS)
        assert Authorization.objects.get().expires_at <= timezone.now() + lasts


class TestAccountPage:
    def test_lists_applications_and_revokes_them(self, agent, browser):
        token = agent.connect(browser)["access_token"]
        page = browser.get("/account/").content.decode()
        assert "Agent: may search and change documents" in page

        path = f"/account/applications/{Authorization.objects.get().pk}/revoke/"
        assert make_browser().post(path).status_code == 404
        assert browser.post(path)["Location"] == "/account/"

        assert read_challenge(token)
        assert "Agent" not in browser.get("/account/").content.decode()

    def test_does_not_list_an_unused_code(self, agent, browser):
        agent.get_code(browser)

        assert "Agent" not in browser.get("/account/").content.decode()
