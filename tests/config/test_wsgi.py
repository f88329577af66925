"""Which way a request takes through Django."""

import httpx
import pytest
from django.conf import settings
from django.test import Client
from django.utils.module_loading import import_string

from access.models import ApiKey
from config import wsgi

PATH = "/api/v1/indexes/"


@pytest.fixture
def ask(settings):
    settings.ALLOWED_HOSTS = ["strata"]
    transport = httpx.WSGITransport(app=wsgi.application)
    with httpx.Client(transport=transport, base_url="http://strata") as client:
        yield client.get


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
class TestApplication:
    def test_answers_whoever_shows_a_key(self, ask, key):
        answer = ask(PATH, headers=key)

        assert answer.status_code == 200
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert int(answer.headers["Content-Length"]) == len(answer.content)

    def test_leaves_out_for_a_key_what_serves_browsers(self, ask, key, cookie):
        answer = ask(PATH, headers=key | cookie)

        assert answer.status_code == 200
        assert "X-Frame-Options" not in answer.headers
        assert ask(PATH, headers=cookie).headers["X-Frame-Options"] == "DENY"

    @pytest.mark.parametrize(
        ("authorization", "code"),
        [
            ("Bearer unknown", "unknown_key"),
            ("Bearer", "unknown_key"),
            ("Basic YTpi", "not_authenticated"),
            ("", "not_authenticated"),
        ],
    )
    def test_asks_for_a_key_where_none_is_shown(self, ask, authorization, code):
        answer = ask(PATH, headers={"Authorization": authorization})

        assert answer.status_code == 401
        assert answer.json()["code"] == code

    def test_knows_a_browser_by_its_session(self, ask, cookie):
        assert ask(PATH, headers=cookie).status_code == 200

    def test_does_not_let_a_wrong_key_pass_for_its_session(self, ask, cookie):
        answer = ask(PATH, headers={"Authorization": "Bearer unknown"} | cookie)

        assert answer.status_code == 401

    def test_serves_pages_to_a_browser_whatever_it_shows(self, ask, key, cookie):
        answer = ask("/admin/", headers=key | cookie)

        assert answer.status_code == 200
        assert answer.headers["X-Frame-Options"] == "DENY"

    def test_states_errors_alike(self, ask, key):
        answer = ask("/api/v1/nothing/", headers=key)

        assert answer.status_code == 404
        assert answer.json()["code"] == "not_found"

    def test_answers_for_none_but_its_hosts(self, ask, key):
        answer = ask(f"http://elsewhere{PATH}", headers=key)

        assert answer.status_code == 400


class TestKeyedMiddleware:
    def test_is_part_of_all_in_the_same_order(self):
        kept = [name for name in settings.MIDDLEWARE if name in settings.API_KEY_MIDDLEWARE]

        assert kept == settings.API_KEY_MIDDLEWARE

    @pytest.mark.parametrize("name", settings.API_KEY_MIDDLEWARE)
    @pytest.mark.parametrize(
        "hook", ["process_view", "process_exception", "process_template_response"]
    )
    def test_has_no_more_than_its_call(self, name, hook):
        assert not hasattr(import_string(name), hook)
