"""The server's settings reach a command of a shell that has others."""

import os
import subprocess
import sys

import pytest
from django.conf import settings

from config import server_settings
from core.running_server import registered_server

MODEL = "STRATA_LLM_MODEL"


@pytest.fixture(autouse=True)
def environment(monkeypatch, settings, tmp_path):
    settings.STRATA_DATA_DIR = tmp_path
    own = {"PATH": os.environ["PATH"], "STRATA_DATA_DIR": str(tmp_path), "STRATA_KEY": "own"}
    monkeypatch.setattr(os, "environ", own)
    return own


def test_replace_those_of_the_shell(environment, capsys):
    environment |= {MODEL: "of-the-shell", "STRATA_CLAMD": "127.0.0.1:3310"}

    with registered_server("http://127.0.0.1:1", {MODEL: "of-the-server", "COHERE_KEY": "k"}):
        server_settings.use_settings_of_server()

    assert environment[MODEL] == "of-the-server"
    assert environment["COHERE_KEY"] == "k"
    assert "STRATA_CLAMD" not in environment
    said = capsys.readouterr().err
    assert (
        said == "As in the running server, not as in this shell: STRATA_CLAMD, STRATA_LLM_MODEL.\n"
    )


def test_leave_the_commands_own_variables(environment, capsys):
    with registered_server("http://127.0.0.1:1", {}):
        server_settings.use_settings_of_server()

    assert environment["STRATA_KEY"] == "own"
    assert capsys.readouterr().err == ""


def test_of_a_server_that_has_ended_are_not_used(environment):
    with registered_server("http://127.0.0.1:1", {MODEL: "of-the-server"}):
        pass

    server_settings.use_settings_of_server()

    assert MODEL not in environment


def test_name_folders_by_their_whole_path(environment, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environment |= {"STRATA_SPECS_DIR": "specs", "COHERE_KEY": "k", "HOME": "/root"}

    collected = server_settings.collect_settings(["COHERE_KEY", "UNSET_KEY"])

    assert collected == {"STRATA_SPECS_DIR": str(tmp_path / "specs"), "COHERE_KEY": "k"}


def test_are_read_by_every_command(environment):
    show = "from django.conf import settings; print(settings.STRATA_LLM_MODEL)"

    with registered_server("http://127.0.0.1:1", {MODEL: "of-the-server"}):
        shown = subprocess.run(
            [sys.executable, "manage.py", "shell", "--no-imports", "--command", show],
            cwd=settings.BASE_DIR,
            env={**environment, "STRATA_ENV_FILE": os.devnull},
            capture_output=True,
            text=True,
            check=True,
        )

    assert shown.stdout.strip() == "of-the-server"
