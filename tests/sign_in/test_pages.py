from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from sign_in import context
from sign_in.context import can_people_sign_in

pytestmark = pytest.mark.django_db

PASSWORD = "seven herons in the harbour"


@pytest.fixture
def user() -> User:
    return User.objects.create_user("alice", password=PASSWORD)


def send(client: Client, name: str = "alice", password: str = PASSWORD, **more: str):
    return client.post("/sign-in/", {"username": name, "password": password, **more})


class TestSignIn:
    def test_redirects_to_the_requested_page(self, client, user):
        assert send(client, next="/concepts/")["Location"] == "/concepts/"
        assert send(client)["Location"] == "/"
        assert send(client, next="https://elsewhere.example/")["Location"] == "/"

    def test_is_where_the_admin_redirects(self, client):
        response = client.get("/admin/login/?next=/admin/")

        assert response["Location"] == "/sign-in/?next=/admin/"

    def test_does_not_redirect_endlessly_without_admin_rights(self, client, user):
        client.force_login(user)

        response = client.get("/admin/", follow=True)

        assert response.status_code == 200
        assert b"You are signed in as alice." in response.content

    def test_needs_a_token_against_forgery(self, user):
        assert send(Client(enforce_csrf_checks=True)).status_code == 403

    def test_is_refused_to_a_deactivated_user(self, client, user):
        User.objects.update(is_active=False)

        assert send(client).status_code == 403
        assert "_auth_user_id" not in client.session


class TestLink:
    @pytest.mark.parametrize("page", ["/", "/concepts/"])
    def test_is_shown_on_public_pages(self, client, admin_user, page):
        assert b"Sign in" not in client.get(page).content

        User.objects.create_user("alice")

        assert b"Sign in" in client.get(page).content

    def test_points_to_the_account_once_signed_in(self, client, user):
        client.force_login(user)

        assert b'<a href="/account/">alice</a>' in client.get("/").content

    def test_is_left_out_while_the_database_does_not_answer(self, client, user, monkeypatch):
        def fail(*given: Any, **options: Any) -> None:
            raise OperationalError

        monkeypatch.setattr(context.User.objects, "filter", fail)

        response = client.get("/")

        assert response.status_code == 200
        assert b"Sign in" not in response.content

    def test_costs_one_query(self, client, user, django_assert_num_queries):
        with django_assert_num_queries(1):
            client.get("/")

    def test_is_not_shown_for_deactivated_users(self, user):
        assert can_people_sign_in()

        User.objects.update(is_active=False)

        assert not can_people_sign_in()


class TestAccountPages:
    @pytest.mark.parametrize("page", ["/account/", "/account/password/", "/account/second-factor/"])
    def test_require_a_user(self, client, user, page):
        assert client.get(page)["Location"] == f"/sign-in/?next={page}"

        client.force_login(user)

        assert client.get(page).status_code == 200

    @pytest.mark.parametrize(
        "page", ["/", "/documents/", "/account/", "/account/password/", "/account/second-factor/"]
    )
    def test_are_not_kept_by_the_browser_of_a_user(self, client, user, page):
        client.force_login(user)

        assert "no-store" in client.get(page)["Cache-Control"]

    def test_sign_the_user_out(self, client, user):
        client.force_login(user)

        client.post("/account/sign-out/")

        assert "_auth_user_id" not in client.session


class TestPasswords:
    @pytest.mark.parametrize(
        "password", ["short heron", "alice@example.org", "q1w2e3r4t5y6", "739184620573"]
    )
    def test_that_can_be_guessed_are_refused(self, client, password):
        user = User.objects.create_user("alice", "alice@example.org", PASSWORD)
        client.force_login(user)

        response = client.post(
            "/account/password/",
            {"old_password": PASSWORD, "new_password1": password, "new_password2": password},
        )

        assert response.status_code == 200
        user.refresh_from_db()
        assert user.check_password(PASSWORD)

    def test_that_are_strong_are_accepted(self, client, user):
        client.force_login(user)
        new = "eleven lamps along the pier"

        client.post(
            "/account/password/",
            {"old_password": PASSWORD, "new_password1": new, "new_password2": new},
        )

        user.refresh_from_db()
        assert user.check_password(new)


class TestLockOut:
    def fail(self, client: Client, count: int, name: str = "alice", **headers: Any) -> None:
        for _ in range(count):
            assert client.post(
                "/sign-in/", {"username": name, "password": "wrong"}, **headers
            ).status_code in {403, 429}

    def test_refuses_the_right_password_too(self, client, user):
        self.fail(client, 10)

        response = send(client)

        assert (response.status_code, response["Retry-After"]) == (429, "900")
        assert b"Try again in 15 minutes." in response.content
        assert "_auth_user_id" not in client.session

    def test_counts_by_name_from_every_address(self, client, user):
        for number in range(10):
            self.fail(client, 1, REMOTE_ADDR=f"192.0.2.{number}")

        assert send(client).status_code == 429

    def test_does_not_affect_others_at_the_address_of_one_who_forgot(self, client, user):
        for number in range(9):
            self.fail(client, 12, name=f"name {number}")

        assert send(client).status_code == 302

    def test_counts_by_address_for_every_name(self, client, user, settings):
        settings.STRATA_ADDRESS_SIGN_IN_FAILURES = 10
        for number in range(10):
            self.fail(client, 1, name=f"name {number}")

        assert send(client).status_code == 429
        assert (
            client.post(
                "/sign-in/", {"username": "alice", "password": PASSWORD}, REMOTE_ADDR="192.0.2.1"
            ).status_code
            == 302
        )

    def test_does_not_affect_other_users(self, client, user):
        User.objects.create_user("bob", password=PASSWORD)
        for number in range(10):
            self.fail(client, 1, REMOTE_ADDR=f"192.0.2.{number}")

        assert send(client, "bob").status_code == 302

    def test_does_not_end_sessions(self, client, user):
        client.force_login(user)
        self.fail(Client(), 10)

        assert client.get("/account/").status_code == 200

    def test_ends_after_the_cool_off_time(self, client, user, settings):
        self.fail(client, 10)

        settings.AXES_COOLOFF_TIME = timedelta(0)

        assert send(client).status_code == 302

    def test_counts_by_the_address_that_the_proxy_added(self, client, user, settings):
        settings.STRATA_CLIENT_ADDRESS_HEADER = "HTTP_X_FORWARDED_FOR"
        settings.STRATA_ADDRESS_SIGN_IN_FAILURES = 10
        for number in range(10):
            self.fail(client, 1, name=f"name {number}", HTTP_X_FORWARDED_FOR=f"{number}, 192.0.2.1")

        given = {"username": "alice", "password": PASSWORD}
        here, there, unknown = (
            client.post("/sign-in/", given, HTTP_X_FORWARDED_FOR=address).status_code
            for address in ("192.0.2.1", "192.0.2.2", "")
        )

        assert (here, there, unknown) == (429, 302, 302)


class TestSecondFactor:
    def make_code(self, device: TOTPDevice, step: int = 0) -> str:
        return f"{totp(device.bin_key, drift=step):06}"

    @pytest.fixture
    def device(self, user) -> TOTPDevice:
        return TOTPDevice.objects.create(user=user, name="app", confirmed=True)

    def test_is_set_up_with_a_code(self, client, user):
        client.force_login(user)
        page = client.get("/account/second-factor/").content.decode()
        device = TOTPDevice.objects.get()
        assert "data:image/svg+xml" in page
        assert not device.confirmed

        refused = client.post("/account/second-factor/", {"code": "000000"})
        assert "This code is wrong." in refused.content.decode()

    def test_is_confirmed_by_the_code(self, client, user):
        client.force_login(user)
        client.get("/account/second-factor/")
        device = TOTPDevice.objects.get()

        client.post("/account/second-factor/", {"code": self.make_code(device)})

        device.refresh_from_db()
        assert device.confirmed

    def test_is_requested_after_the_password(self, client, device):
        asked = send(client)
        assert b"Enter the code that your app shows." in asked.content
        assert b'autocomplete="one-time-code"' in asked.content
        assert "_auth_user_id" not in client.session

        assert send(client, code=self.make_code(device)).status_code == 302

    def test_is_not_requested_after_a_wrong_password(self, client, device):
        assert b"one-time-code" not in send(client, password="wrong").content

    def test_accepts_a_code_once(self, client, device):
        code = self.make_code(device)
        assert send(client, code=code).status_code == 302

        assert b"was used before" in send(Client(), code=code).content

    def test_is_not_required_from_users_without_one(self, client, user):
        assert send(client).status_code == 302
