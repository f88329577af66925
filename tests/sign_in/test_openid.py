"""Sign-ins with an OpenID provider on loopback, which is a package of its own."""

import importlib
import warnings
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import httpx
import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from joserfc.jwk import RSAKey

from access.models import GroupRights, OpenIdIdentity
from sign_in import people

with warnings.catch_warnings():
    # The package still calls what Authlib no longer recommends; Authlib sets a filter of its own.
    importlib.import_module("authlib.deprecate")
    warnings.simplefilter("ignore")
    import oidc_provider_mock
    from oidc_provider_mock import _app as provider_app

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.filterwarnings("ignore:get_jwt_config:DeprecationWarning"),
]

START = "/sign-in/openid/"
CLIENT_ID = "strata-of-the-tests"


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    with oidc_provider_mock.run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def openid(issuer, settings) -> str:
    settings.STRATA_OIDC_ISSUER = issuer
    settings.STRATA_OIDC_CLIENT_ID = CLIENT_ID
    settings.STRATA_OIDC_CLIENT_SECRET = "secret"
    return issuer


def describe(issuer: str, subject: str, **claims: Any) -> None:
    """What the provider says of a person."""
    httpx.put(f"{issuer}/users/{quote(subject)}", json=claims).raise_for_status()


def start(client: Client, next: str = "/concepts/") -> str:
    """The address of the provider to which a sign-in leads."""
    response = client.get(START, {"next": next})
    assert response.status_code == 302
    return response["Location"]


def come_back(client: Client, address: str, subject: str) -> Any:
    """Say at the provider who one is, and follow its redirect."""
    answer = httpx.post(address, data={"sub": subject})
    assert answer.status_code == 302, answer.text
    location = urlsplit(answer.headers["Location"])
    assert location.path == "/sign-in/openid/return/"
    return client.get(f"{location.path}?{location.query}")


def sign_in(client: Client, subject: str) -> Any:
    return come_back(client, start(client), subject)


def assert_refused(client: Client, response: Any, caplog: Any, reason: str) -> None:
    assert reason in caplog.text
    assert response.status_code == 403
    assert b'role="alert">The answer of the OpenID provider is not valid.' in response.content
    assert "_auth_user_id" not in client.session
    assert not User.objects.exists()


class TestSignIn:
    def test_creates_a_user_and_redirects_to_the_requested_page(self, openid, client):
        describe(openid, "1", preferred_username="alice", email="alice@example.org")

        response = sign_in(client, "1")

        assert (response.status_code, response["Location"]) == (302, "/concepts/")
        user = User.objects.get(pk=client.session["_auth_user_id"])
        assert (user.username, user.email) == ("alice", "alice@example.org")
        assert not any([user.is_staff, user.is_superuser, user.has_usable_password()])

    def test_recognises_a_user_by_the_subject(self, openid, client):
        describe(openid, "1", preferred_username="alice")
        sign_in(client, "1")
        describe(openid, "1", preferred_username="renamed")

        sign_in(Client(), "1")

        assert [user.username for user in User.objects.all()] == ["alice"]

    def test_creates_a_new_user_if_the_name_belongs_to_another(self, openid, client):
        admin = User.objects.create_superuser("admin", "admin@example.org")
        describe(openid, "2", preferred_username="admin", email="admin@example.org")

        sign_in(client, "2")

        user = OpenIdIdentity.objects.get(subject="2").user
        assert (user.username, user.is_superuser) == ("admin-2", False)
        assert client.session["_auth_user_id"] == str(user.pk) != str(admin.pk)

    def test_ignores_names_and_emails_that_cannot_be_stored(self, openid, client):
        describe(openid, "1", preferred_username="a\0", email="b\n@example.org")

        sign_in(client, "1")

        user = User.objects.get()
        assert (user.username, user.email) == ("1", "")

    def test_reports_a_conflict_with_a_simultaneous_sign_in(self, openid, client, monkeypatch):
        User.objects.create_user("alice")
        monkeypatch.setattr(people, "_choose_name", lambda claims: "alice")

        response = sign_in(client, "1")

        assert response.status_code == 403
        assert b"Two sign-ins made a user at the same moment. Sign in again." in response.content

    def test_refuses_a_deactivated_user(self, openid, client):
        sign_in(client, "1")
        User.objects.update(is_active=False)

        response = sign_in(Client(), "1")

        assert response.status_code == 403
        assert b"This user has been deactivated." in response.content

    def test_reports_a_refusal_at_the_provider(self, openid, client):
        answer = httpx.post(start(client), data={"action": "deny"})
        location = urlsplit(answer.headers["Location"])

        response = client.get(f"{location.path}?{location.query}")

        assert response.status_code == 403
        assert b"The OpenID provider refused the sign-in." in response.content

    def test_that_is_unfinished_does_not_shorten_a_password_session(self, openid, client):
        User.objects.create_user("alice", password="seven herons in the harbour")
        start(client)
        assert client.session.get_expiry_age() <= 900

        client.post("/sign-in/", {"username": "alice", "password": "seven herons in the harbour"})

        assert "_auth_user_id" in client.session
        assert client.session.get_expiry_age() > 12 * 3_600

    def test_does_not_redirect_to_other_sites(self, openid, client):
        response = come_back(client, start(client, "https://elsewhere.example/"), "1")

        assert response["Location"] == "/"

    def test_expires_within_twelve_hours(self, openid, client):
        sign_in(client, "1")

        assert client.session.get_expiry_age() <= 12 * 3_600

    def test_sends_a_state_a_nonce_and_a_hashed_verifier(self, openid, client):
        query = parse_qs(urlsplit(start(client)).query)

        assert query["code_challenge_method"] == ["S256"]
        assert all(len(query[name][0]) >= 20 for name in ("state", "nonce", "code_challenge"))
        assert query["redirect_uri"] == ["http://testserver/sign-in/openid/return/"]

    def test_is_not_offered_without_settings(self, client):
        assert client.get(START).status_code == 404
        assert client.get(f"{START}return/").status_code == 404
        assert b"organisation" not in client.get("/sign-in/").content

    def test_is_offered_with_settings(self, openid, client):
        assert b"Sign in with your organisation" in client.get("/sign-in/").content
        assert b"/sign-in/?next=/" in client.get("/").content


class TestGroups:
    @pytest.fixture(autouse=True)
    def groups(self) -> None:
        for name, is_filled in {"readers": True, "writers": True, "by hand": False}.items():
            group = Group.objects.create(name=name)
            GroupRights.objects.create(group=group, is_filled_from_claim=is_filled)

    def names(self) -> set[str]:
        return set(User.objects.get().groups.values_list("name", flat=True))

    def test_come_from_the_claim(self, openid, client):
        describe(openid, "1", groups=["readers", "by hand", "unknown"])

        sign_in(client, "1")

        assert self.names() == {"readers"}

    @pytest.mark.parametrize(
        ("claims", "left"),
        [
            ({"groups": ["writers"]}, {"writers"}),
            ({"groups": []}, set()),
            ({}, set()),
            ({"groups": 1}, set()),
        ],
    )
    def test_that_the_claim_no_longer_names_are_removed(self, openid, client, claims, left):
        describe(openid, "1", groups=["readers"])
        sign_in(client, "1")
        User.objects.get().groups.add(Group.objects.get(name="by hand"))
        describe(openid, "1", **claims)

        sign_in(Client(), "1")

        assert self.names() == {"by hand"} | left

    def test_come_from_the_claim_that_the_settings_name(self, openid, client, settings):
        settings.STRATA_OIDC_GROUPS_CLAIM = "roles"
        describe(openid, "1", roles="readers", groups=["writers"])

        sign_in(client, "1")

        assert self.names() == {"readers"}


@pytest.fixture
def forge(monkeypatch):
    """Replace parts of the provider's tokens, and the key that signs them."""
    original = provider_app.OpenIDCode.get_jwt_config

    def replace(**parts: Any) -> None:
        monkeypatch.setattr(
            provider_app.OpenIDCode,
            "get_jwt_config",
            lambda code, *given: {**original(code, *given), **parts},
        )

    return replace


class TestTokens:
    @pytest.mark.parametrize(
        ("parts", "reason"),
        [
            ({"iss": "https://elsewhere.example"}, "Invalid claim: 'iss'"),
            ({"aud": ["another client"]}, "Invalid claim: 'aud'"),
            ({"aud": ["another client"], "azp": CLIENT_ID}, "Invalid claim: 'aud'"),
            ({"exp": -3_600}, "expired"),
        ],
        ids=["issuer", "audience", "audience of another party", "expired"],
    )
    def test_with_wrong_claims_are_refused(self, openid, client, forge, caplog, parts, reason):
        forge(**parts)

        assert_refused(client, sign_in(client, "1"), caplog, reason)

    def test_with_another_nonce_are_refused(self, openid, client, caplog):
        address = urlsplit(start(client))
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        query["nonce"] = "of another sign-in"

        changed = address._replace(query=urlencode(query)).geturl()

        assert_refused(client, come_back(client, changed, "1"), caplog, "Invalid claim: 'nonce'")

    def test_of_another_browsers_sign_in_are_refused(self, openid, client, caplog):
        address = start(client)

        assert_refused(client, come_back(Client(), address, "1"), caplog, "mismatching_state")

    @pytest.mark.parametrize("kid", [{}, {"kid": "unknown"}])
    def test_with_an_unknown_key_are_refused(self, openid, client, forge, caplog, kid):
        forge(key=RSAKey.generate_key(2048).as_dict(private=True), **kid)

        assert_refused(client, sign_in(client, "1"), caplog, "kid" if kid else "bad_signature")

    def test_without_a_signature_are_refused(self, openid, client, monkeypatch, caplog):
        encode = provider_app.OpenIDCode.encode_id_token

        def encode_unsigned(code: Any, *given: Any) -> str:
            header = urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
            return f"{header}.{encode(code, *given).split('.')[1]}."

        monkeypatch.setattr(provider_app.OpenIDCode, "encode_id_token", encode_unsigned)

        assert_refused(client, sign_in(client, "1"), caplog, "Algorithm of 'none'")


class TestKeys:
    @pytest.mark.parametrize("has_name", [True, False])
    def test_may_change_between_two_sign_ins(self, settings, client, forge, has_name):
        settings.STRATA_OIDC_CLIENT_ID = CLIENT_ID
        settings.STRATA_OIDC_CLIENT_SECRET = "secret"
        port, names = 0, []
        for visitor in (client, Client()):
            with oidc_provider_mock.run_server_in_thread(port) as server:
                port = server.server_port
                settings.STRATA_OIDC_ISSUER = f"http://localhost:{port}"
                [key] = httpx.get(f"{settings.STRATA_OIDC_ISSUER}/jwks").json()["keys"]
                names.append(key["kid"])
                if has_name:
                    forge(kid=key["kid"])

                assert sign_in(visitor, "1").status_code == 302

        assert names[0] != names[1]
        assert User.objects.count() == 1


class TestProviderAddress:
    def test_is_refused_if_it_is_private_and_not_allowed(self, openid, client, settings):
        settings.STRATA_OIDC_CLIENT_ID = "another client, which knows nothing yet"
        settings.STRATA_PRIVATE_HOSTS = []

        response = client.get(START)

        assert response.status_code == 403
        assert b"The OpenID provider does not answer." in response.content

    def test_is_reported_if_it_does_not_answer(self, openid, client, settings):
        settings.STRATA_OIDC_ISSUER = "http://localhost:9"

        response = client.get(START)

        assert b"The OpenID provider does not answer." in response.content
