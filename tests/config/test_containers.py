"""Compare the Dockerfile and docker-compose.yml with the code that they refer to."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest
import redis
from django.conf import settings
from django.core.management import get_commands
from django.urls import resolve

from config import environment, gunicorn
from config.tracing import ENDPOINT_VARIABLES
from core.apps import list_queues
from tests.compose import BIN, SECRETS, compose, read_our_services, read_services
from tests.serving import ROOT

READERS = [
    "config/settings/base.py",
    "config/settings/production.py",
    "config/environment.py",
]
# Variables of the embedded form only, or set by the image.
NOT_PASSED = {
    "STRATA_ADMIN_KEY",
    "STRATA_EDIT_SPECS",
    "STRATA_ENV_FILE",
    "STRATA_GOLDEN_DIR",
    "STRATA_PIPELINES_DIR",
    "STRATA_PROJECT_DIR",
    "STRATA_SPECS_DIR",
}


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    return read_services()


@pytest.fixture(scope="module")
def ours() -> dict[str, dict[str, Any]]:
    return read_our_services()


@pytest.fixture(scope="module")
def image() -> dict[str, str]:
    """The environment that the Dockerfile's last stage sets."""
    last = (ROOT / "Dockerfile").read_text().split("\nFROM ")[-1].replace("\\\n", " ")
    [said] = re.findall(r"^ENV (.*)$", last, re.MULTILINE)
    return dict(pair.split("=", 1) for pair in said.split())


def option(command: list[str], name: str) -> str | None:
    return command[command.index(name) + 1] if name in command else None


READING_FUNCTIONS = {name for name in vars(environment) if name.startswith("read_")}


def list_readings() -> dict[str, set[str]]:
    """Function that reads a variable -> the variables that the production settings read by it."""
    asking = {"os.environ.get", "_require_env", "_read_flag", *READING_FUNCTIONS}
    found: dict[str, set[str]] = {}
    for path in READERS:
        for call in ast.walk(ast.parse((ROOT / path).read_text())):
            if isinstance(call, ast.Call) and call.args and ast.unparse(call.func) in asking:
                name = call.args[0]
                if isinstance(name, ast.Constant):
                    found.setdefault(ast.unparse(call.func), set()).add(str(name.value))
    return found


def read_by_settings() -> set[str]:
    """Every environment variable that the production settings read."""
    return set().union(*list_readings().values())


def wait_until(ask: Callable[[], object]) -> None:
    for _ in range(500):
        try:
            ask()
        except redis.ConnectionError:
            time.sleep(0.02)
        else:
            return
    ask()


class TestCompose:
    @pytest.mark.parametrize("name", SECRETS)
    def test_names_the_missing_secret(self, name):
        ran = compose("config", "--quiet", **{**SECRETS, name: ""})

        assert ran.returncode != 0
        assert f"required variable {name} is missing a value: Set it in .env" in ran.stderr

    def test_has_an_example_of_each_secret(self):
        example = (ROOT / ".env.example").read_text()

        asked = set(re.findall(r"^([A-Z_]+)=$", example, re.MULTILINE))
        assert asked == set(SECRETS)

    def test_starts_programs_that_are_installed(self, ours):
        for service in ours.values():
            for command in (service["command"], service["healthcheck"].get("test", ["", "sh"])[1:]):
                program = command[0].split()[0]
                assert program in {"sh", "test"} or (BIN / program).exists()

    def test_names_existing_modules_and_commands(self, ours):
        for service in ours.values():
            command = service["command"]
            if (app := option(command, "-A")) is not None:
                assert find_spec(f"{app}.celery")
            if (module := option(command, "-c")) is not None and command[0] == "gunicorn":
                assert find_spec(module.removeprefix("python:"))
        managed = re.findall(r"strata (\w+)", " ".join(ours["migrate"]["command"]))
        assert managed[0] == "migrate"
        assert set(managed) <= set(get_commands())

    def test_handles_each_queue_in_one_service(self, ours):
        asked = [option(service["command"], "-Q") for service in ours.values()]

        queues = [queue for names in asked if names for queue in names.split(",")]
        assert sorted(queues) == sorted(list_queues())

    def test_reads_files_in_a_service_of_its_own(self, ours):
        asked = [option(service["command"], "-Q") for service in ours.values()]

        assert "documents" in asked

    def test_has_one_beat(self, ours):
        [beat] = [service for service in ours.values() if "beat" in service["command"]]

        assert beat.get("deploy", {}).get("replicas", 1) == 1

    def test_passes_on_every_variable_that_the_settings_read(self, ours, image):
        wanted = read_by_settings() - NOT_PASSED
        for name, service in ours.items():
            if name == "flower":
                continue
            passed = {**image, **service["environment"]}
            heartbeat = set() if "worker" in name or name == "beat" else {"STRATA_HEARTBEAT_FILE"}
            assert wanted - heartbeat - set(passed) == set(), name

    def test_passes_on_no_other_variable(self, ours):
        libraries = {"WEB_CONCURRENCY"}
        libraries |= {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"}
        libraries |= {*ENDPOINT_VARIABLES, "OTEL_EXPORTER_OTLP_HEADERS"}
        libraries |= {"OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"}
        for name, service in ours.items():
            if name != "flower":
                assert set(service["environment"]) - read_by_settings() - libraries == set(), name

    def test_gives_flower_only_its_login_and_the_brokers_password(self, ours):
        passed = " ".join(filter(None, ours["flower"]["environment"].values()))

        assert {name for name, secret in SECRETS.items() if secret in passed} == {
            "FLOWER_BASIC_AUTH",
            "REDIS_PASSWORD",
        }
        assert not ours["flower"].get("volumes")

    def test_shares_one_folder_of_originals_and_one_of_models(self, ours, image):
        for name, service in ours.items():
            if name != "flower":
                mounted = {volume["target"]: volume["source"] for volume in service["volumes"]}
                assert mounted[image["STRATA_DATA_DIR"]] == "data"
                assert mounted[image["STRATA_MODELS_DIR"]] == "models"

    def test_shows_no_secret_in_the_list_of_processes(self, services):
        for name, service in services.items():
            command = json.dumps(service.get("command"))
            assert [each for each in SECRETS.values() if each in command] == [], name

    @pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server")
    def test_starts_redis_with_its_password(self, services, tmp_path):
        (tmp_path / "docker-entrypoint.sh").write_text('#!/bin/sh\nexec "$@"\n')
        (tmp_path / "docker-entrypoint.sh").chmod(0o755)
        # The container has a port of its own; here, a socket cannot be in use.
        place = tmp_path / "redis.sock"
        command = [each.replace("$$", "$") for each in services["redis"]["command"]]
        command[-1] = command[-1].replace("save", f"port 0\nunixsocket {place}\nsave", 1)
        environment = {
            "PATH": f"{tmp_path}:{os.environ['PATH']}", **services["redis"]["environment"]
        }  # fmt: skip
        with subprocess.Popen(
            command, env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL
        ) as server:
            try:
                client = redis.Redis(
                    unix_socket_path=str(place), password=SECRETS["REDIS_PASSWORD"]
                )
                wait_until(client.ping)
                with pytest.raises(redis.AuthenticationError):
                    redis.Redis(unix_socket_path=str(place)).ping()
                assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
            finally:
                server.terminate()

    def test_publishes_ports_only_on_loopback(self, services):
        published = {
            name: {port["host_ip"] for port in service["ports"]}
            for name, service in services.items()
            if "ports" in service
        }

        assert published == {name: {"127.0.0.1"} for name in ("web", "flower")}
        for name in ("postgres", "redis", "qdrant"):
            assert set(services[name]["networks"]) == {"inside"}

    def test_sets_limits_and_a_health_check_for_each_service(self, services):
        for name, service in services.items():
            assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}, name
            is_watched = "test" in service["healthcheck"]
            assert is_watched or service["healthcheck"] == {"disable": True}, name
            assert is_watched or service["restart"] == "no", name

    def test_waits_for_completion_or_health_of_dependencies(self, services):
        for service in services.values():
            for name, wait in service.get("depends_on", {}).items():
                has_end = services[name]["restart"] == "no"
                assert wait["condition"] == (
                    "service_completed_successfully" if has_end else "service_healthy"
                )

    def test_checks_health_at_an_existing_url(self, ours):
        asked = re.findall(
            r"localhost:8000(/[\w/]*)",
            json.dumps(ours["web"]["healthcheck"]) + (ROOT / "Dockerfile").read_text(),
        )

        assert [resolve(path).url_name for path in asked] == ["ready"] * 2

    def test_stops_later_than_the_grace_period_of_gunicorn(self, ours):
        assert ours["web"]["stop_grace_period"] == "30s"
        assert gunicorn.graceful_timeout < 30

    def test_passes_the_checks_of_a_deployment(self, ours, image, tmp_path):
        given = {**image, **{k: v for k, v in ours["web"]["environment"].items() if v is not None}}
        given |= {"PATH": os.environ["PATH"], "STRATA_DATA_DIR": str(tmp_path / "data")}
        given |= {"STRATA_STATIC_DIR": str(tmp_path / "static"), "STRATA_PROJECT_DIR": str(ROOT)}

        for command in (
            ["manage.py", "check", "--deploy", "--fail-level", "WARNING"],
            ["-m", "gunicorn", "--check-config", *ours["web"]["command"][1:]],
        ):
            ran = subprocess.run(
                [sys.executable, *command], cwd=ROOT, env=given, capture_output=True, text=True,
                check=False, timeout=120,
            )  # fmt: skip
            assert ran.returncode == 0, ran.stderr


class TestImage:
    def test_passes_its_linter(self):
        ran = subprocess.run(
            [BIN / "hadolint", "Dockerfile"], cwd=ROOT, capture_output=True, text=True, check=False
        )

        assert ran.returncode == 0, ran.stdout

    def test_is_built_from_what_the_wheel_needs_and_nothing_else(self):
        lines = (ROOT / ".dockerignore").read_text().splitlines()
        let_in = {line[1:] for line in lines if line.startswith("!")}
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())
        in_wheel = set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"])
        local = {app.split(".")[0] for app in settings.INSTALLED_APPS}
        local = {app for app in local if (ROOT / app).is_dir()}

        assert next(line for line in lines if not line.startswith("#")) == "*"
        in_wheel = {name for name in in_wheel if not name.startswith("requirements/")}
        for_the_build = {"LICENSE", "README.md", "pyproject.toml", "requirements", "weights"}
        assert let_in == in_wheel | for_the_build
        assert local | {"console", "templates", "manage.py"} <= in_wheel
        assert {name for name in let_in if not (ROOT / name).exists()} == set()

    def test_installs_only_requirements_with_hashes(self):
        dockerfile = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
        installs = re.findall(r"pip install ([^&\n]*)", dockerfile)
        [own] = [arguments for arguments in installs if "strata_rag" in arguments]

        assert "--no-deps /dist/strata_rag-*.whl" in own  # made from this folder in this build
        installs.remove(own)
        assert installs
        for arguments in installs:
            assert "--require-hashes" in arguments
            paths = re.findall(r"--requirement (\S+)", arguments)
            assert paths
            for path in paths:
                assert "--hash=sha256:" in (ROOT / path).read_text()

    def test_holds_no_sources(self):
        last = (ROOT / "Dockerfile").read_text().split("\nFROM ")[-1]

        copied = re.findall(r"^COPY (.*)$", last, re.MULTILINE)
        assert copied
        assert all(arguments.startswith("--from=") for arguments in copied)

    def test_runs_as_an_unprivileged_user(self):
        last = (ROOT / "Dockerfile").read_text().split("\nFROM ")[-1]

        assert re.findall(r"^USER (.*)$", last, re.MULTILINE) == ["10001:0"]
        assert "chown 10001:0 /data /models && chmod u=rwx,g=u,o= /data /models" in last


class TestActions:
    def test_of_others_are_fixed_by_their_commit(self):
        text = (ROOT / ".github/workflows/ci.yml").read_text()

        used = re.findall(r"uses: (\S+)", text)
        assert used
        assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []
