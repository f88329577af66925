"""What the wheel of the service contains. ``.ci/wheel`` installs it."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.serving import ROOT

FOLDERS_OF_PEOPLE = ("golden", "pipelines", "specs")  # in which they write files of their own
STRAY = "private.yaml"


def list_tracked(*folders: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return listed.stdout.rstrip("\0").split("\0")


@pytest.fixture(scope="module")
def wheel_names(tmp_path_factory):
    """Names of the files in the wheel of a clone, in whose folders somebody wrote files."""
    clone, dist = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("dist")
    for name in list_tracked():
        if not name.startswith(("docs/", "tests/")):
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    for folder in FOLDERS_OF_PEOPLE:
        (clone / folder / STRAY).write_text("title: Private\n")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", dist],
        cwd=clone, capture_output=True, text=True, check=True,
    )  # fmt: skip
    [wheel] = Path(dist).glob("strata_rag-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return {name.removeprefix("strata_rag/") for name in archive.namelist()}


class TestWheel:
    def test_has_no_file_that_somebody_wrote_in_the_clone(self, wheel_names):
        assert not [name for name in wheel_names if name.endswith(STRAY)]

    def test_has_each_spec_and_readme_of_strata(self, wheel_names):
        assert set(list_tracked(*FOLDERS_OF_PEOPLE)) <= wheel_names
