"""The chain of middleware, for programs and for browsers."""

from functools import partial

import pytest
from django.conf import settings
from django.test import Client

from access.models import ApiKey
from config.middleware import BODY_IS_PENDING

PATH = "/api/v1/indexes/"


@pytest.fixture
def ask(settings):
    settings.ALLOWED_HOSTS = ["strata"]
    return partial(Client().get, headers={}, HTTP_HOST="strata")


@pytest.fixture
def cookie(admin_user) -> dict[str, str]:
    browser = Client()
    browser.force_login(admin_user)
    name = settings.SESSION_COOKIE_NAME
    return {"Cookie": f"{name}={browser.cookies[name].value}"}


@pytest.fixture
def key() -> dict[str, str]:
    return {"Authorization": f"bEARER {ApiKey.issue('tests')[1]}"}


@pytest.mark.django_db
class TestMiddleware:
    def test_accepts_a_request_with_a_key(self, ask, key):
        answer = ask(PATH, headers=key)

        assert answer.status_code == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert int(answer.headers["Content-Length"]) == len(answer.content)

    @pytest.mark.parametrize(
        ("authorization", "code"),
        [
            ("Bearer unknown", "unknown_key"),
            ("Bearer", "unknown_key"),
            ("Basic YTpi", "not_authenticated"),
            ("", "not_authenticated"),
        ],
    )
    def test_requires_a_key(self, ask, authorization, code):
        answer = ask(PATH, headers={"Authorization": authorization})

        assert answer.status_code == 401
        assert answer.json()["code"] == code

    def test_accepts_a_browser_with_a_session(self, ask, cookie):
        assert ask(PATH, headers=cookie).status_code == 200

    def test_rejects_a_wrong_key_despite_a_session(self, ask, cookie):
        answer = ask(PATH, headers={"Authorization": "Bearer unknown"} | cookie)

        assert answer.status_code == 401

    def test_serves_pages_to_a_browser_with_key_and_session(self, ask, key, cookie):
        answer = ask("/admin/", headers=key | cookie)

        assert answer.status_code == 200
        assert answer.headers["X-Frame-Options"] == "DENY"

    def test_gives_unknown_addresses_the_common_error_body(self, ask, key):
        answer = ask("/api/v1/nothing/", headers=key)

        assert answer.status_code == 404
        assert answer.json()["code"] == "not_found"

    def test_rejects_unknown_hosts(self, ask, key):
        answer = ask(PATH, headers=key, HTTP_HOST="elsewhere")

        assert answer.status_code == 400


@pytest.mark.django_db
class TestBodyLimit:
    def test_is_larger_for_the_forms_of_the_admin_once_logged_in(self, admin_user):
        browser, pending = Client(), {BODY_IS_PENDING: True}
        before = browser.post("/admin/login/", **pending)
        browser.force_login(admin_user)
        after = browser.post("/admin/login/", **pending)

        assert before.max_bytes == settings.STRATA_MAX_REQUEST_BYTES
        assert after.max_bytes == settings.DATA_UPLOAD_MAX_MEMORY_SIZE
