"""``make test`` with a fake Python that only records its arguments."""

import os
import shutil
import subprocess

import pytest

from tests.serving import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")

# The fake fails if a file of that name exists; tests that must run alone come second.
PYTHON = """#!/bin/sh
echo "$@" >> {folder}/ran
case "$*" in *--ignore*) test ! -e {folder}/first ;; *) test ! -e {folder}/second ;; esac
"""


@pytest.fixture
def run_make_test(tmp_path):
    for name in ("venv/bin/python", "venv/.base", "venv/.dev", "venv-uv/bin/uv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    python = tmp_path / "venv/bin/python"
    python.write_text(PYTHON.format(folder=tmp_path))
    python.chmod(0o755)

    def run(*failing):
        for part in failing:
            (tmp_path / part).touch()
        command = ["make", "--directory", str(ROOT), "test", f"VENV={tmp_path / 'venv'}"]
        # Without the variables of the make that runs this test.
        environment = {k: v for k, v in os.environ.items() if k not in {"MAKEFLAGS", "ARGS"}}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, (tmp_path / "ran").read_text().splitlines()

    return run


class TestMakeTest:
    def test_succeeds_if_both_parts_succeed(self, run_make_test):
        status, ran = run_make_test()

        assert (status, len(ran)) == (0, 2)

    @pytest.mark.parametrize("failing", [["first"], ["second"], ["first", "second"]])
    def test_runs_both_parts_and_fails_if_one_fails(self, run_make_test, failing):
        status, ran = run_make_test(*failing)

        assert status != 0
        assert ["--ignore" in each for each in ran] == [True, False]
