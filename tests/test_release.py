"""``.ci/release``, with which ``make release`` writes a new version."""

import datetime
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving import ROOT

SCRIPT = ROOT / ".ci" / "release"
UNRELEASED = "# Changelog\n\n## Unreleased\n\n- Read more\n\n## 0.2.0 — 2026-11-25\n"


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, root / ".ci" / "release", *arguments], capture_output=True, text=True
    )


@pytest.fixture
def clone(tmp_path):
    """A repository with the files that name the version."""
    script = runpy.run_path(str(SCRIPT))
    names = [script["SOURCE"][0], *(name for name, _ in script["PLACES"])]
    for name in [".ci/release", *names]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(UNRELEASED)
    for command in (["init"], ["add", "."], ["commit", "--message", "All"]):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@a.example", *command],
            cwd=tmp_path, check=True, capture_output=True,
        )  # fmt: skip
    return tmp_path


def test_the_files_of_this_release_name_one_version():
    checked = run(ROOT)

    assert checked.returncode == 0, checked.stderr


def test_a_file_with_another_version_is_named(clone):
    chart = clone / "charts/strata/Chart.yaml"
    chart.write_text(chart.read_text().replace("appVersion: ", "appVersion: 7."))

    assert run(clone).stderr.startswith("charts/strata/Chart.yaml: 7.")


def test_writes_the_version_everywhere_and_the_date_of_the_changelog(clone):
    done = run(clone, "98.7.6")

    assert done.returncode == 0, done.stderr
    assert run(clone).returncode == 0
    assert 'STRATA_RELEASE = "98.7.6"' in (clone / "config/settings/base.py").read_text()
    retriever = (clone / "client/retrievers/haystack/pyproject.toml").read_text()
    assert 'version = "98.7.6"' in retriever
    assert '"strata-client[haystack]>=98.7,<98.8"' in retriever
    today = datetime.datetime.now(datetime.UTC).date()
    dated = UNRELEASED.replace("Unreleased", f"98.7.6 — {today}")
    assert (clone / "CHANGELOG.md").read_text() == dated


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("none", "must be three numbers such as 1.2.3, and not 'none'"),
        ("0.0.1", "must be above"),
        ("98.7.6", "nothing is to be released"),
    ],
)
def test_refuses_what_is_no_new_release(clone, version, said):
    if version == "98.7.6":
        (clone / "CHANGELOG.md").write_text("# Changelog\n")
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@a.example", "commit", "-qam", "All"],
            cwd=clone, check=True,
        )  # fmt: skip

    refused = run(clone, version)

    assert refused.returncode == 1
    assert said in refused.stderr


def test_refuses_beside_uncommitted_changes_and_a_version_that_has_a_tag(clone):
    subprocess.run(["git", "tag", "v98.7.6"], cwd=clone, check=True)
    assert "The tag v98.7.6 exists already" in run(clone, "98.7.6").stderr

    (clone / "new").touch()
    assert "uncommitted changes" in run(clone, "98.7.6").stderr
