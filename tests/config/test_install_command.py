"""``strata install``. ``.ci/extras`` installs what the docs say, in a fresh clone."""

import re
import subprocess
import sys
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from config.management.commands import install
from tests.serving import ROOT


@pytest.fixture
def calls(monkeypatch):
    """The calls of the installer, none of which is made."""
    made = []

    def run(command, *, check):
        made.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    return made


def run_install(*arguments):
    out = StringIO()
    call_command("install", *arguments, stdout=out)
    return out.getvalue()


class TestInstall:
    def test_installs_hashed_requirements_into_its_own_environment(self, calls):
        said = run_install("ocr")

        [command] = calls
        assert sys.executable in command
        assert command[-4:-1] == ["--require-hashes", "--no-deps", "--requirement"]
        assert command[-1] == str(ROOT / "requirements" / "ocr.txt")
        assert "Restart Strata" in said

    def test_installs_torch_before_what_needs_it(self, calls):
        run_install("huggingface")

        assert [command[-1].rpartition("/")[2] for command in calls] == [
            "torch==2.13.0",
            "huggingface.txt",
        ]

    def test_lists_what_can_be_installed(self, calls):
        said = run_install()

        assert [line.split()[0] for line in said.splitlines()] == list(install.EXTRAS)
        assert re.search(r"^encryption +installed", said, re.MULTILINE)
        assert calls == []

    def test_refuses_an_unknown_name_before_it_installs_another(self, calls):
        with pytest.raises(CommandError, match="nothing named orc; allowed: ocr, chemistry"):
            run_install("ocr", "orc")

        assert calls == []

    def test_fails_with_the_installer(self, monkeypatch):
        monkeypatch.setattr(
            subprocess, "run", lambda command, check: subprocess.CompletedProcess(command, 1)
        )

        with pytest.raises(CommandError, match="ocr was not installed"):
            run_install("ocr")

    def test_uses_the_pip_beside_a_clone_whose_environment_has_none(self, monkeypatch, tmp_path):
        monkeypatch.setattr(install, "find_spec", lambda name: None)
        monkeypatch.setattr(install, "BASE_DIR", tmp_path)
        pip = tmp_path / ".venv-uv" / "bin" / "pip"
        pip.parent.mkdir(parents=True)
        pip.touch()

        assert install._find_installer() == [str(pip), "--python", sys.executable, "install"]

    def test_says_what_is_missing_where_there_is_no_installer(self, monkeypatch, tmp_path):
        monkeypatch.setattr(install, "find_spec", lambda name: None)
        monkeypatch.setattr(install, "BASE_DIR", tmp_path)
        monkeypatch.setenv("PATH", str(tmp_path))

        with pytest.raises(CommandError, match="Neither pip nor uv"):
            install._find_installer()

    def test_has_hashed_requirements_for_each_name(self):
        for name in install.EXTRAS:
            assert "--hash=sha256:" in (ROOT / "requirements" / f"{name}.txt").read_text()

    def test_is_named_rightly_wherever_the_docs_or_an_error_name_it(self):
        files = subprocess.run(
            ["git", "grep", "-hoE", "strata install [a-z0-9]+", "--", "*.md", "*.py", "*.in"],
            cwd=ROOT, capture_output=True, text=True, check=True,
        )  # fmt: skip
        named = {line.split()[-1] for line in files.stdout.splitlines()}

        assert named - install.EXTRAS.keys() == set()
        assert named >= install.EXTRAS.keys()

    def test_leaves_no_line_in_the_docs_that_asks_the_environment_for_pip(self):
        """A clone's environment has none."""
        found = subprocess.run(
            ["git", "grep", "-nE", r"\.venv/bin/(python -m )?(pip|ensurepip)", "--", "*.md"],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip

        assert found.stdout == ""
