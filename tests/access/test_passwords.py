"""Twenty people sign in at once: one password is checked at a time, a few wait, and threads of the
web server stay free for the others."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password, make_password

from access.exceptions import TooManyLogins
from access.passwords import MAX_WAITING, OneAtATimePasswordHasher
from config.settings import base

LOGINS = 20


@pytest.fixture
def hasher(settings) -> None:
    settings.PASSWORD_HASHERS = base.PASSWORD_HASHERS


@pytest.fixture
def held(monkeypatch, hasher):
    """Encoding that waits: the threads that encode, an event that the first sets, and one that
    lets them end."""
    running: list[int] = []
    started, release = threading.Event(), threading.Event()

    def encode(self, password, salt, iterations=None):
        running.append(1)
        started.set()
        assert release.wait(60)
        running.pop()
        return f"pbkdf2_sha256$1${salt}$hash"

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", encode)
    yield running, started, release
    release.set()


class TestPasswords:
    def test_hashed_by_django_are_accepted(self, settings):
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
        stored = make_password("correct horse")

        settings.PASSWORD_HASHERS = base.PASSWORD_HASHERS

        assert check_password("correct horse", stored)
        assert not check_password("wrong horse", stored)

    def test_are_checked_one_at_a_time_while_a_few_wait(self, held):
        running, started, release = held
        refused = threading.Semaphore(0)

        def sign_in(number: int) -> bool:
            try:
                make_password("a password")
            except TooManyLogins:
                refused.release()
                return False
            return True

        with ThreadPoolExecutor(LOGINS) as people:
            checked = people.map(sign_in, range(LOGINS))
            for _ in range(LOGINS - 1 - MAX_WAITING):
                assert refused.acquire(timeout=60)
            assert started.wait(60)
            assert len(running) == 1
            release.set()

            assert sum(checked) == 1 + MAX_WAITING

    def test_leave_threads_of_the_web_server_free(self):
        assert 1 + MAX_WAITING <= django_settings.STRATA_WEB_THREADS // 2


class TestLogin:
    @pytest.mark.django_db
    def test_is_refused_with_retry_after_while_too_many_sign_in(self, client, hasher, monkeypatch):
        def refuse(self, password, salt, iterations=None):
            raise TooManyLogins("Too many people are signing in at this moment.", fix="Wait.")

        monkeypatch.setattr(OneAtATimePasswordHasher, "encode", refuse)

        answer = client.post("/sign-in/", {"username": "nobody", "password": "guess"})

        assert (answer.status_code, answer["Retry-After"]) == (503, "2")
        assert answer["Content-Type"].startswith("text/plain")
        assert answer.content == b"Too many people are signing in at this moment. Wait.\n"
