"""The synchronous client is up to date with `make client`."""

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from strata_client import (
    AnswerStream,
    AsyncAnswerStream,
    AsyncConcepts,
    AsyncEvaluations,
    AsyncEvidence,
    AsyncRelationships,
    AsyncStrata,
    Concepts,
    Evaluations,
    Evidence,
    Relationships,
    Strata,
)

ROOT = Path(__file__).resolve().parents[2]
SYNC = Path("client/src/strata_client/_sync")


def check(root: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, str(root / "client" / "generate_sync.py"), "--check"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def copied(tmp_path):
    for folder in ("client", "tests/client"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


class TestCheck:
    def test_accepts_the_generated_files(self):
        done = check()

        assert done.returncode == 0, done.stderr

    def test_reports_a_file_that_was_edited_by_hand(self, copied):
        with (copied / SYNC / "evidence.py").open("a") as file:
            file.write("# mine\n")

        done = check(copied)

        assert done.returncode == 1
        assert done.stderr == f"Run `make client`: {SYNC}/evidence.py\n"

    def test_reports_a_file_that_was_not_regenerated(self, copied):
        with (copied / "client/src/strata_client/_async/client.py").open("a") as file:
            file.write("\n\nasync def more() -> None: ...\n")

        assert f"{SYNC}/client.py" in check(copied).stderr

    def test_reports_a_file_without_a_source(self, copied):
        (copied / SYNC / "left.py").touch()

        assert f"{SYNC}/left.py" in check(copied).stderr


class TestSynchronousClasses:
    @pytest.mark.parametrize(
        ("twin", "of"),
        [
            (AnswerStream, AsyncAnswerStream),
            (Concepts, AsyncConcepts),
            (Evaluations, AsyncEvaluations),
            (Evidence, AsyncEvidence),
            (Relationships, AsyncRelationships),
            (Strata, AsyncStrata),
        ],
    )
    def test_have_the_same_parameters_and_no_coroutines(self, twin, of):
        methods = {name for name in dir(of) if not name.startswith("_")}

        assert {name.replace("aclose", "close") for name in methods} == {
            name for name in dir(twin) if not name.startswith("_")
        }
        for name in methods - {"text"}:
            method = getattr(twin, name.replace("aclose", "close"))
            assert not inspect.iscoroutinefunction(method)
            assert list(inspect.signature(method).parameters) == list(
                inspect.signature(getattr(of, name)).parameters
            )
