"""Attacks on the authorization of applications. Each is refused, and a stolen secret that is used a
second time ends the access."""

from datetime import timedelta

import httpcore
import httpx
import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.utils import timezone

from access.authentication import MCP_HEADER
from access.models import Authorization
from access.usage_limits import MAX_METADATA_FETCHES
from sign_in.oauth import clients
from tests.sign_in.oauth.asking import REDIRECT, Agent, enter, is_refused, make_browser, make_client

pytestmark = pytest.mark.django_db

LONG = "x" * 300_000


def error_of(answer) -> str:
    assert answer.status_code == 400, answer.content
    return str(answer.json()["error"])


@pytest.fixture
def other() -> Agent:
    return Agent("https://other.example/return")


class TestErrors:
    """Each says in a short sentence what is wrong, whatever was sent."""

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"grant_type": LONG}, "grant_type must be authorization_code"),
            ({"grant_type": 'é"'}, "grant_type must be authorization_code"),
            ({"grant_type": None}, "grant_type must be authorization_code"),
            ({"client_id": None}, "Send the client_id"),
            ({"client_id": LONG}, "Send the client_id"),
            ({"client_secret": "x"}, "no client_secret"),
            ({"refresh_token": "unknown"}, "unknown, has expired or was used before"),
            ({"grant_type": "authorization_code", "code": LONG}, "unknown, has expired or was"),
            ({"resource": LONG}, "or left out"),
        ],
    )
    def test_of_tokens(self, agent, browser, changed, said):
        answer = agent.refresh(agent.connect(browser)["refresh_token"], **changed)

        assert error_of(answer)
        assert said in answer.json()["error_description"]
        assert len(answer.json()["error_description"]) < 200

    def test_of_revocation(self, agent):
        answer = agent.revoke("unknown", token_type_hint=LONG)

        assert "must be access_token or refresh_token" in answer.json()["error_description"]

    def test_of_the_consent_page(self, agent, browser):
        for name in agent.query().keys() - {"state"}:
            answer = agent.open_consent(browser, **{name: LONG})

            assert (answer.status_code, len(answer.content) < 3_000) == (400, True), name


class TestAuthorizationRequest:
    """Refused on a page: nothing is sent to the redirect URI, which an attacker may have
    registered, so there is no open redirect."""

    @pytest.mark.parametrize(
        ("changed", "reason"),
        [
            ({"code_challenge": None}, "A code_challenge with the method S256"),
            ({"code_challenge": None, "code_challenge_method": None}, "with the method S256"),
            ({"code_challenge_method": "plain"}, "with the method S256"),
            ({"code_challenge_method": None}, "with the method S256"),  # it means plain
            ({"code_challenge": "short"}, "Invalid"),
            ({"redirect_uri": "https://evil.example/return"}, "has not registered"),
            ({"redirect_uri": f"{REDIRECT}/more"}, "has not registered"),
            ({"redirect_uri": f"{REDIRECT}?x=1"}, "has not registered"),
            ({"redirect_uri": f"{REDIRECT}#x"}, "has not registered"),
            ({"redirect_uri": "https://agent.example@evil.example/return"}, "has not registered"),
            ({"redirect_uri": "http://agent.example/return"}, "has not registered"),
            ({"redirect_uri": "https://agent.example:444/return"}, "has not registered"),
            ({"redirect_uri": "//evil.example"}, "has not registered"),
            ({"redirect_uri": "http://agent.example:80/return"}, "has not registered"),
            ({"redirect_uri": "javascript:alert(1)"}, "has not registered"),
            ({"redirect_uri": 'https://é"\\'}, "has not registered"),
            ({"redirect_uri": None}, "has not registered"),
            ({"client_id": None}, "client_id"),
            ({"client_id": "unknown"}, "has not given this client_id"),
            ({"client_id": "\x00é"}, "has not given this client_id"),
            ({"resource": "https://evil.example/mcp"}, "The resource must be"),
            ({"resource": "http://localhost/"}, "The resource must be"),
            ({"scope": "manage"}, "scope"),
            ({"scope": "search everything"}, "scope"),
            ({"response_type": "token"}, "response_type must be code."),
            ({"response_type": 'é"'}, "characters that are not allowed"),
            ({"response_type": None}, "response_type must be code."),
        ],
    )
    def test_is_refused_without_a_redirect(self, agent, browser, changed, reason):
        for answer in (agent.open_consent(browser, **changed), agent.ask(browser, **changed)):
            assert answer.status_code == 400
            assert reason in answer.content.decode()

        assert not Authorization.objects.exists()

    @pytest.mark.parametrize(
        "name", ["client_id", "redirect_uri", "scope", "state", "resource", "code_challenge"]
    )
    def test_is_refused_with_a_parameter_twice(self, agent, browser, name):
        query = {each: [value] for each, value in agent.query().items()}
        query[name].append("https://evil.example/return")

        answer = browser.post("/oauth/authorize", {"allow": "yes"}, query_params=query)

        assert answer.status_code == 400

    def test_is_refused_with_a_parameter_in_the_form(self, agent, browser):
        form = {"allow": "yes", "redirect_uri": "https://evil.example/return"}

        assert agent.ask(browser, form).status_code == 400

    def test_is_refused_with_a_forged_client_id(self, agent, browser):
        uri = "https://evil.example/return"
        forged = signing.dumps(["Agent", uri], key="guessed", salt=clients.SALT, compress=True)

        answer = agent.ask(browser, client_id=forged, redirect_uri=uri)

        assert answer.status_code == 400

    def test_is_refused_with_another_signed_text_as_client_id(self, agent, browser):
        uri = "https://evil.example/return"
        signed = signing.dumps(["Agent", uri], salt="another use of the key")

        assert agent.ask(browser, client_id=signed, redirect_uri=uri).status_code == 400

    def test_is_refused_to_another_site_that_forges_the_consent(self, agent, browser):
        strict = Client(enforce_csrf_checks=True, HTTP_HOST="localhost")
        strict.force_login(User.objects.get())

        answer = agent.ask(strict)

        assert answer.status_code == 403
        assert not Authorization.objects.exists()

    def test_is_not_answered_by_a_visit_alone(self, agent, browser):
        answer = browser.get("/oauth/authorize", {**agent.query(), "allow": "yes"})

        assert answer.status_code == 200
        assert not Authorization.objects.exists()

    def test_cannot_be_framed(self, agent, browser):
        answer = agent.open_consent(browser)

        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
        assert answer["X-Frame-Options"] == "DENY"

    def test_needs_a_session_not_a_key(self, agent):
        assert agent.ask(make_client("strata_key"))["Location"].startswith("/sign-in/")


class TestRegistration:
    def test_refuses_deep_json(self, agent):
        deep = "[" * 50_000

        answer = agent.http.post("/oauth/register", deep, content_type="application/json")

        assert error_of(answer) == "invalid_client_metadata"

    @pytest.mark.parametrize(
        "uri",
        [
            "http://evil.example/return",
            "http://127.0.0.1.evil.example/return",
            "http://localhost@evil.example/return",
            "https://user@agent.example/return",
            "https://agent.example/return#fragment",
            "https://agent.example\\@evil.example/",
            "https://agent.example/ return",
            "https://",
            "javascript:alert(1)",
            "data:text/html,x",
            "agent://return",
            "//evil.example",
            "/return",
            f"https://agent.example/{'x' * 500}",
            "https://agent.example/\r\nSet-Cookie: x",
        ],
    )
    def test_refuses_a_redirect_uri(self, agent, uri):
        assert error_of(agent.register(redirect_uris=[REDIRECT, uri])) == "invalid_redirect_uri"


class TestCode:
    def test_replayed_is_refused_and_ends_the_access(self, agent, browser):
        code = agent.get_code(browser)
        tokens = agent.redeem(code).json()

        assert error_of(agent.redeem(code)) == "invalid_grant"
        assert is_refused(tokens["access_token"])
        assert error_of(agent.refresh(tokens["refresh_token"])) == "invalid_grant"

    @pytest.mark.parametrize(
        ("changed", "error"),
        [
            ({"code_verifier": "w" * 43}, "invalid_grant"),
            ({"code_verifier": None}, "invalid_request"),
            ({"code_verifier": ""}, "invalid_request"),
            ({"code_verifier": "v"}, "invalid_request"),
            ({"redirect_uri": "https://evil.example/return"}, "invalid_grant"),
            ({"redirect_uri": None}, "invalid_grant"),
            ({"resource": "https://evil.example/mcp"}, "invalid_target"),
            ({"client_id": None}, "invalid_client"),
            ({"client_id": "unknown"}, "invalid_client"),
            ({"client_id": "https://evil.example/agent"}, "invalid_grant"),
            ({"client_secret": "secret"}, "invalid_client"),
            ({"code": None}, "invalid_request"),
            ({"code": "\x00"}, "invalid_grant"),
            ({"grant_type": "password"}, "unsupported_grant_type"),
            ({"grant_type": "client_credentials"}, "unsupported_grant_type"),
            ({"grant_type": None}, "unsupported_grant_type"),
        ],
    )
    def test_is_refused(self, agent, browser, changed, error):
        code = agent.get_code(browser)

        assert error_of(agent.redeem(code, **changed)) == error
        assert not Authorization.objects.exclude(access_digest="").exists()

    def test_is_refused_with_the_challenge_as_verifier(self, agent, browser):
        challenge = agent.query()["code_challenge"]

        assert error_of(agent.redeem(agent.get_code(browser), code_verifier=challenge)) == (
            "invalid_grant"
        )

    def test_of_another_application_is_refused(self, agent, other, browser):
        code = agent.get_code(browser)

        assert error_of(other.redeem(code)) == "invalid_grant"
        assert error_of(other.redeem(code, redirect_uri=REDIRECT)) == "invalid_grant"

    def test_is_refused_after_a_minute(self, agent, browser):
        code = agent.get_code(browser)
        Authorization.objects.update(expires_at=timezone.now())

        assert error_of(agent.redeem(code)) == "invalid_grant"

    def test_is_no_refresh_token_for_which_no_verifier_is_needed(self, agent, browser):
        code = agent.get_code(browser)

        assert error_of(agent.refresh(code)) == "invalid_grant"
        renamed = code.replace("strata-code-", "strata-refresh-")
        assert error_of(agent.refresh(renamed)) == "invalid_grant"

    def test_is_no_access_token(self, agent, browser):
        code = agent.get_code(browser)

        assert is_refused(code)
        assert is_refused(code.replace("strata-code-", "strata-access-"))

    def test_that_two_requests_use_at_once_ends_the_access(self, agent, browser, monkeypatch):
        issue_tokens = Authorization.issue_tokens

        def come_second(authorization):
            issue_tokens(Authorization.objects.get())
            return issue_tokens(authorization)

        monkeypatch.setattr(Authorization, "issue_tokens", come_second)

        assert error_of(agent.redeem(agent.get_code(browser))) == "invalid_grant"
        assert not Authorization.objects.exists()

    def test_is_given_to_one_host_name_only(self, agent, browser):
        code = agent.get_code(browser)
        agent.http.defaults["HTTP_HOST"] = "127.0.0.1"

        assert error_of(agent.redeem(code, resource=None)) == "invalid_grant"


class TestAccessToken:
    def test_of_another_host_name_is_refused(self, agent, browser):
        token = agent.connect(browser)["access_token"]

        assert is_refused(token, HTTP_HOST="127.0.0.1")

    def test_for_another_service_is_refused(self, agent, browser):
        token = agent.connect(browser)["access_token"]
        Authorization.objects.update(resource="https://elsewhere.example/mcp")

        assert is_refused(token)

    def test_is_refused_by_rest(self, agent, browser):
        client = make_client(agent.connect(browser)["access_token"])

        assert client.get("/api/v1/indexes/").status_code == 401
        for guessed in ("", "true", "é"):
            answer = client.get("/api/v1/indexes/", headers={MCP_HEADER: guessed})
            assert answer.status_code == 401

    def test_is_refused_once_it_has_expired(self, agent, browser):
        token = agent.connect(browser)["access_token"]
        Authorization.objects.update(access_expires_at=timezone.now() - timedelta(seconds=1))

        assert is_refused(token)

    def test_is_refused_once_the_authorization_has_expired(self, agent, browser):
        tokens = agent.connect(browser)
        Authorization.objects.update(expires_at=timezone.now())

        assert is_refused(tokens["access_token"])
        assert error_of(agent.refresh(tokens["refresh_token"])) == "invalid_grant"

    @pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
    def test_is_refused_once_one_of_the_tokens_is_revoked(self, agent, browser, kind):
        tokens = agent.connect(browser)

        assert agent.revoke(tokens[kind]).status_code == 200

        assert is_refused(tokens["access_token"])
        assert error_of(agent.refresh(tokens["refresh_token"])) == "invalid_grant"

    def test_is_not_revoked_by_another_application(self, agent, other, browser):
        token = agent.connect(browser)["access_token"]

        assert error_of(other.revoke(token)) == "invalid_grant"
        assert not is_refused(token)

    def test_that_is_changed_is_refused(self, agent, browser):
        token = agent.connect(browser)["access_token"]

        assert is_refused(token[:-1] + ("a" if token[-1] != "a" else "b"))
        assert is_refused(token + "é")
        assert not is_refused(token)

    def test_in_the_address_is_refused(self, agent, browser):
        token = agent.connect(browser)["access_token"]

        assert enter(path=f"/mcp?access_token={token}").status_code == 401

    def test_is_not_stored(self, agent, browser):
        tokens = agent.connect(browser)
        row = str(Authorization.objects.values().get())

        assert tokens["access_token"] not in row
        assert tokens["refresh_token"] not in row


class TestRefreshToken:
    def test_used_again_is_refused_and_ends_the_access(self, agent, browser):
        stolen = agent.connect(browser)["refresh_token"]
        tokens = agent.refresh(stolen).json()

        assert error_of(agent.refresh(stolen)) == "invalid_grant"
        assert is_refused(tokens["access_token"])
        assert error_of(agent.refresh(tokens["refresh_token"])) == "invalid_grant"

    def test_of_another_application_is_refused(self, agent, other, browser):
        token = agent.connect(browser)["refresh_token"]

        assert error_of(other.refresh(token)) == "invalid_grant"

    @pytest.mark.parametrize("scope", ["search write", "manage", "search manage"])
    def test_does_not_give_a_larger_scope(self, agent, browser, scope):
        tokens = agent.connect(browser, form={"allow": "yes"})

        assert error_of(agent.refresh(tokens["refresh_token"], scope=scope)) == "invalid_scope"

    def test_does_not_give_tokens_for_another_service(self, agent, browser):
        token = agent.connect(browser)["refresh_token"]

        answer = agent.refresh(token, resource="https://evil.example/mcp")

        assert error_of(answer) == "invalid_target"

    def test_is_no_access_token(self, agent, browser):
        assert is_refused(agent.connect(browser)["refresh_token"])


class TestScope:
    def test_is_no_larger_than_the_rights_of_the_user(self, agent):
        tokens = agent.connect(make_browser({"scope": "search"}))

        assert tokens["scope"] == "search"
        assert enter(tokens["access_token"]).scope == "search"

    def test_is_no_larger_than_what_was_asked(self, agent, browser):
        assert agent.connect(browser, scope="search")["scope"] == "search"
        assert agent.connect(browser, scope=None)["scope"] == "search"

    def test_of_a_superuser_does_not_include_managing(self, agent, browser):
        User.objects.update(is_superuser=True)

        assert enter(agent.connect(browser)["access_token"]).scope == "write"

    def test_shrinks_with_the_rights_of_the_user(self, agent, browser):
        token = agent.connect(browser)["access_token"]

        User.objects.get().groups.get().rights.delete()

        assert enter(token).status_code == 403


URL = "https://app.example/agent.json"


def _document(**changed: object) -> httpx.Response:
    document = {"client_id": URL, "client_name": "App", "redirect_uris": [REDIRECT]}
    return httpx.Response(200, json={**document, **changed})


class TestMetadataDocument:
    def serve(self, monkeypatch, answer: httpx.Response | Exception) -> list[str]:
        asked: list[str] = []

        def send(request: httpx.Request) -> httpx.Response:
            asked.append(str(request.url))
            if isinstance(answer, Exception):
                raise answer
            return answer

        transport = httpx.MockTransport(send)
        monkeypatch.setattr(clients, "make_client", lambda **_: httpx.Client(transport=transport))
        return asked

    def test_gives_access_as_a_registration_does(self, agent, browser, monkeypatch):
        self.serve(monkeypatch, _document())
        agent.client_id = URL

        page = agent.open_consent(browser).content.decode()
        tokens = agent.connect(browser)

        assert f"described at <code>{URL}</code>" in page
        assert not is_refused(tokens["access_token"])
        assert agent.refresh(tokens["refresh_token"]).status_code == 200

    @pytest.mark.parametrize(
        "answer",
        [
            httpx.Response(404),
            httpx.Response(302, headers={"Location": "http://127.0.0.1/"}),
            httpx.Response(200, text="<html>"),
            httpx.Response(200, text="[]"),
            _document(client_id="https://other.example/agent.json"),
            httpx.Response(200, text=" " * (clients.MAX_DOCUMENT_BYTES + 1)),
            httpx.ConnectError("no route"),
        ],
        ids=["missing", "redirect", "html", "list", "other", "long", "unreachable"],
    )
    def test_is_refused(self, agent, browser, monkeypatch, answer):
        self.serve(monkeypatch, answer)

        assert agent.open_consent(browser, client_id=URL).status_code == 400

    def test_is_refused_with_a_redirect_uri_of_another_host(self, agent, browser, monkeypatch):
        self.serve(monkeypatch, _document(redirect_uris=["http://evil.example/"]))

        assert agent.open_consent(browser, client_id=URL).status_code == 400

    @pytest.mark.parametrize(
        "url", ["https://app.example", "https://app.example/", "https://app.example/../x",
                "https://user@app.example/agent.json", "https://app.example/agent.json#x"]
    )  # fmt: skip
    def test_is_not_fetched_from_an_address_that_is_not_allowed(
        self, agent, browser, monkeypatch, url
    ):
        asked = self.serve(monkeypatch, _document())

        assert agent.open_consent(browser, client_id=url).status_code == 400
        assert asked == []

    def test_is_not_fetched_for_a_stranger_or_an_application(self, agent, monkeypatch):
        asked = self.serve(monkeypatch, _document())

        agent.open_consent(make_client(), client_id=URL)
        agent.redeem("x", client_id=URL)
        agent.revoke("x", client_id=URL)

        assert asked == []

    @pytest.mark.parametrize(
        "url",
        ["https://app.example:22/agent.json", "https://app.example:99999/agent.json",
         "https://app.example:/agent.json"],
    )  # fmt: skip
    def test_is_not_fetched_from_another_port(self, agent, browser, monkeypatch, url):
        asked = self.serve(monkeypatch, _document(client_id=url))

        assert agent.open_consent(browser, client_id=url).status_code == 400
        assert asked == []

    @pytest.mark.parametrize("host", ["a" * 70 + ".example", "a..example", "-", "1.2.3.4.5"])
    def test_is_refused_from_what_is_no_host(self, agent, browser, host):
        answer = agent.open_consent(browser, client_id=f"https://{host}/agent.json")

        assert answer.status_code == 400

    def test_is_refused_if_it_is_deep_json(self, agent, browser, monkeypatch):
        self.serve(monkeypatch, httpx.Response(200, text="[" * clients.MAX_DOCUMENT_BYTES))

        assert agent.open_consent(browser, client_id=URL).status_code == 400

    def test_is_not_fetched_from_a_private_host_of_the_operator(
        self, agent, browser, settings, monkeypatch
    ):
        settings.STRATA_PRIVATE_HOSTS = ["localhost"]
        reached: list[str] = []

        def connect(backend, host, *args, **options):
            reached.append(host)
            raise httpcore.ConnectError

        monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)

        answer = agent.open_consent(browser, client_id="https://localhost/agent.json")

        assert (answer.status_code, reached) == (400, [])

    def test_is_fetched_for_a_user_a_few_times_in_a_minute(self, agent, browser, monkeypatch):
        asked = self.serve(monkeypatch, _document())
        count = 2 * MAX_METADATA_FETCHES  # a minute may end meanwhile

        answers = [agent.open_consent(browser, client_id=URL) for _ in range(count + 1)]

        statuses = [answer.status_code for answer in answers]
        assert set(statuses) == {200, 429}
        assert len(asked) == statuses.count(200)
        refused = answers[statuses.index(429)]
        assert int(refused["Retry-After"]) <= 60
        assert agent.open_consent(browser).status_code == 200  # of one that has registered

    def test_is_not_fetched_from_a_private_address(self, agent, browser):
        answer = agent.open_consent(browser, client_id="https://10.0.0.1/agent.json")

        assert answer.status_code == 400
        assert b"cannot be fetched" in answer.content
