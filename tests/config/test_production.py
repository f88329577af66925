"""The settings of the production form, as a process reads them from its environment."""

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from django.urls import reverse

from tests.serving import ROOT

REQUIRED = {
    "SECRET_KEY": "for tests only, and long enough to be taken for a random one 0123456789",
    "ALLOWED_HOSTS": "strata.example, other.example",
    "DATABASE_URL": "postgresql://u%40x:p%2Fw@db.example:5433/strata?sslmode=require",
    "REDIS_URL": "redis://localhost:6379/0",
    "QDRANT_URL": "http://localhost:6333",
}
SHOW = """
import json, sys
from config.settings import production
print(json.dumps({name: getattr(production, name) for name in sys.argv[1:]}, default=str))
"""


@pytest.fixture
def read(tmp_path):
    """Settings by name, with these changes to the environment; None removes a variable."""

    def read(*names: str, **changed: str | None) -> "subprocess.CompletedProcess[str]":
        here = {"STRATA_DATA_DIR": str(tmp_path), "PATH": os.environ["PATH"]}
        given = {**REQUIRED, **here, **changed}
        return subprocess.run(
            [sys.executable, "-c", SHOW, *names], cwd=ROOT, check=False, text=True,
            env={name: value for name, value in given.items() if value is not None},
            capture_output=True, timeout=60,
        )  # fmt: skip

    return read


def values(ran: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


class TestEnvironment:
    @pytest.mark.parametrize("name", REQUIRED)
    def test_names_the_missing_variable(self, read, name):
        ran = read(**{name: None})

        assert ran.returncode != 0
        assert f"Set {name} in the environment." in ran.stderr

    def test_passes_the_options_of_libpq_to_the_database(self, read):
        [database] = values(read("DATABASES"))["DATABASES"].values()

        assert (database["USER"], database["PASSWORD"]) == ("u@x", "p/w")
        assert (database["HOST"], database["PORT"]) == ("db.example", "5433")
        assert database["NAME"] == "strata"
        assert database["OPTIONS"]["sslmode"] == "require"

    def test_ends_sessions_that_are_idle_in_a_transaction(self, read):
        url = f"{REQUIRED['DATABASE_URL']}&options=-c%20search_path%3Dstrata"

        [database] = values(read("DATABASES", DATABASE_URL=url))["DATABASES"].values()

        limit = "-c idle_in_transaction_session_timeout=60s"
        assert database["OPTIONS"]["options"] == f"{limit} -c search_path=strata"

    def test_splits_hosts_at_commas(self, read):
        assert values(read("ALLOWED_HOSTS"))["ALLOWED_HOSTS"] == ["strata.example", "other.example"]

    @pytest.mark.parametrize(("value", "has_tls"), [(None, True), ("0", True), ("1", False)])
    def test_requires_tls_by_default(self, read, value, has_tls):
        names = ["SECURE_SSL_REDIRECT", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE"]

        shown = values(read(*names, STRATA_PLAIN_HTTP=value))

        assert shown == dict.fromkeys(names, has_tls)

    def test_lets_monitoring_ask_without_the_proxy(self, read):
        [patterns] = values(read("SECURE_REDIRECT_EXEMPT")).values()

        def is_exempt(name: str) -> bool:
            path = reverse(name).removeprefix("/")
            return any(re.search(pattern, path) for pattern in patterns)

        assert all(is_exempt(name) for name in ("live", "ready", "metrics"))
        assert not any(is_exempt(name) for name in ("search-page", "sign-in", "schema"))

    def test_sets_hsts_for_this_host_only_by_default(self, read):
        names = ["SECURE_HSTS_SECONDS", "SECURE_HSTS_INCLUDE_SUBDOMAINS", "SECURE_HSTS_PRELOAD"]

        assert list(values(read(*names)).values()) == [31_536_000, False, False]
        asked = {"STRATA_HSTS_SUBDOMAINS": "1", "STRATA_HSTS_PRELOAD": "1"}
        assert list(values(read(*names, **asked)).values()) == [31_536_000, True, True]

    def test_serves_the_files_of_packages_only_if_none_are_collected(self, read, tmp_path):
        def is_asking_packages() -> Any:
            shown = values(read("WHITENOISE_USE_FINDERS", STRATA_STATIC_DIR=str(tmp_path)))
            return shown["WHITENOISE_USE_FINDERS"]

        assert is_asking_packages()
        (tmp_path / "style.css").touch()
        assert not is_asking_packages()

    def test_refuses_a_short_secret_key(self, read):
        ran = read(SECRET_KEY="k" * 49)

        assert ran.returncode != 0
        assert "SECRET_KEY has fewer than 50 characters" in ran.stderr

    def test_refuses_an_invalid_boolean(self, read):
        ran = read(STRATA_PLAIN_HTTP="please")

        assert ran.returncode != 0
        assert "STRATA_PLAIN_HTTP is 'please'" in ran.stderr


class TestTimeouts:
    def test_increase_up_to_the_redelivery_of_messages(self, read):
        """A message is not delivered again while its task may still run."""
        shown = values(
            read(
                "STRATA_WORKER_RUN_SECONDS", "STRATA_PARSE_SECONDS", "CELERY_TASK_SOFT_TIME_LIMIT",
                "CELERY_TASK_TIME_LIMIT", "CELERY_BROKER_TRANSPORT_OPTIONS",
            )
        )  # fmt: skip
        visible_again = shown.pop("CELERY_BROKER_TRANSPORT_OPTIONS")["visibility_timeout"]

        in_order = [*shown.values(), visible_again]
        assert in_order == sorted(in_order)
        assert len(set(in_order)) == len(in_order)
