"""Rows of requests that carry neither key nor session: who signs in or tries to, and applications
that exchange or revoke their tokens."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django_otp.plugins.otp_totp.models import TOTPDevice

from access.people import make_password_path
from audit.models import AuditRow
from audit.serializers import render_row
from sign_in.people import update_user
from tests.sign_in.oauth.asking import Agent, make_browser

pytestmark = pytest.mark.django_db


def list_rows(route: str) -> list[tuple[object, ...]]:
    rows = AuditRow.objects.filter(route=route).order_by("id").select_related("subject")
    shown = map(render_row, rows)
    return [(row["caller"], row["caller_id"], row["name"], row["status"]) for row in shown]


def sign_in(name: str, password: str, **given: str):
    return Client().post("/sign-in/", {"username": name, "password": password, **given})


class TestSignIns:
    @pytest.fixture
    def ada(self) -> User:
        return User.objects.create_user("ada", password="right")

    def test_that_fail_name_the_account_and_the_address(self, ada):
        sign_in("ada", "wrong")

        assert list_rows("/sign-in") == [("user", ada.pk, "ada", 403)]
        assert render_row(AuditRow.objects.get())["address"] == "127.0.0.1"

    def test_that_succeed_have_a_row(self, ada):
        sign_in("ada", "right")

        assert list_rows("/sign-in") == [("user", ada.pk, "ada", 302)]

    def test_with_a_wrong_code_fail_and_the_question_for_one_does_not(self, ada):
        TOTPDevice.objects.create(user=ada, name="app", confirmed=True)

        assert sign_in("ada", "right").status_code == 200
        sign_in("ada", "right", code="000000")

        assert list_rows("/sign-in") == [("user", ada.pk, "ada", 403)]

    def test_with_a_name_that_nobody_has_do_not_store_it(self, ada):
        sign_in("hunter2", "ada")

        assert list_rows("/sign-in") == [("nobody", None, "", 403)]

    def test_of_those_who_are_locked_out_have_none(self, ada, settings):
        settings.AXES_FAILURE_LIMIT = 3

        statuses = [sign_in("ada", "wrong").status_code for _ in range(6)]

        assert statuses == [403, 403, 429, 429, 429, 429]
        assert len(list_rows("/sign-in")) == 2

    def test_of_a_deactivated_person_at_the_provider_have_a_row(self, monkeypatch, settings):
        settings.STRATA_OIDC_ISSUER = "https://id.example"
        claims = {"sub": "7", "preferred_username": "ada"}
        ada = update_user(claims)
        monkeypatch.setattr("sign_in.openid.read_claims", lambda request: claims)

        Client().get("/sign-in/openid/return/")
        ada.is_active = False
        ada.save()
        Client().get("/sign-in/openid/return/")

        rows = list_rows("/sign-in/openid/return")
        assert rows == [("user", ada.pk, "ada", 302), ("user", ada.pk, "ada", 403)]

    def test_by_a_link_that_sets_a_password_have_a_row(self, ada):
        client = Client()
        form = client.get(make_password_path(ada)).headers["Location"]
        password = "a long enough passphrase"

        client.post(form, {"new_password1": password, "new_password2": password})

        ada.refresh_from_db()
        assert ada.check_password(password)
        assert list_rows("/set-password/<uidb64>/<token>") == [("user", ada.pk, "ada", 302)]


class TestSignOuts:
    def test_have_a_row(self):
        ada = User.objects.create_user("ada")
        client = Client()
        client.force_login(ada)

        client.post("/account/sign-out/")

        assert list_rows("/account/sign-out") == [("user", ada.pk, "ada", 302)]


class TestApplications:
    @pytest.fixture
    def agent(self) -> Agent:
        return Agent()

    def test_have_a_row_of_their_user_when_they_exchange_and_revoke_tokens(self, agent):
        tokens = agent.connect(make_browser())
        user = User.objects.get()
        name = f"{user}, by an application"
        tokens = agent.refresh(tokens["refresh_token"]).json()

        agent.revoke(tokens["access_token"])

        assert list_rows("/oauth/token") == [("user", user.pk, name, 200)] * 2
        assert list_rows("/oauth/revoke") == [("user", user.pk, name, 200)]

    def test_have_a_row_when_a_token_is_used_twice(self, agent):
        tokens = agent.connect(make_browser())
        agent.refresh(tokens["refresh_token"])

        agent.refresh(tokens["refresh_token"])

        assert [row[-1] for row in list_rows("/oauth/token")] == [200, 200, 400]

    def test_have_none_for_a_token_that_nobody_gave(self, agent):
        agent.refresh("strata-refresh-" + "a" * 22 + "." + "b" * 43)
        agent.revoke("nonsense")

        assert not list_rows("/oauth/token")
        assert not list_rows("/oauth/revoke")
