"""Follows the Dockerfile without an engine: the stages that build, in one folder as their root.

A path of the image such as ``/venv`` is ``/venv`` below that folder. The base image's Python is a
copy of the one that runs this. What needs root in the last stage (the user, its folders) is not
followed: commands run as a user without a name in group 0.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.serving import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
IGNORE_FILE = (ROOT / ".dockerignore").read_text()
NOT_OF_THE_IMAGE = {"root", "tmp", "usr"}
OF_THE_CHECKOUT = {"DJANGO_SETTINGS_MODULE", "PYTHONPATH", "VIRTUAL_ENV"}


AS_ANYBODY = (
    ("setpriv", "--reuid=1000660000", "--regid=0", "--clear-groups") if os.geteuid() == 0 else ()
)


class Stage(NamedTuple):
    name: str
    base: str
    steps: list[tuple[str, str]]  # instruction and its argument


def read_stages() -> list[Stage]:
    text = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", " ")
    stages: list[Stage] = []
    for line in filter(None, text.splitlines()):
        instruction, _, argument = line.partition(" ")
        if instruction == "FROM":
            base, _, name = argument.partition(" AS ")
            stages.append(Stage(name, base, []))
        else:
            stages[-1].steps.append((instruction, argument.strip()))
    return stages


class Image:
    """What is built in ``root``; ``environment`` is that of its containers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        mentioned = set(re.findall(r"(?<![\w./:])/([a-z]+)\b", DOCKERFILE))
        names = "|".join(["tmp/data", *sorted(mentioned - NOT_OF_THE_IMAGE)])
        self._own_path = re.compile(rf"(?<![\w./])/({names})\b")
        self.python = root / "python"
        self.environment = self._read_environment(read_stages()[-1])
        self.environment["HOME"] = str(root / "tmp")

    def build(self) -> None:
        self.root.chmod(0o755)
        # Every user may read it there, as in the base image.
        unneeded = shutil.ignore_patterns("site-packages", "test", "*.a", "__pycache__")
        shutil.copytree(sys.base_prefix, self.python, ignore=unneeded, symlinks=True)
        *building, last = read_stages()
        around = {name: value for name, value in os.environ.items() if name not in OF_THE_CHECKOUT}
        environments = {last.base: around}
        for stage in building:
            environment = environments[stage.base] | self._read_environment(stage)
            environments[stage.name] = environment
            self._follow(stage, environment)
        kept = {argument.split()[-1] for name, argument in last.steps if name == "COPY"}
        for path in self.root.iterdir():
            if f"/{path.name}" not in kept and path != self.python:
                shutil.rmtree(path)
        for name, mode in {"data": 0o770, "models": 0o770, "tmp": 0o1777}.items():
            (self.root / name).mkdir()
            (self.root / name).chmod(mode)

    def run(self, *command: str, **settings: str) -> "subprocess.CompletedProcess[str]":
        """Run a command as a container would."""
        return subprocess.run(
            [*AS_ANYBODY, *command], cwd=self.root / "app", env=self.environment | settings,
            text=True, capture_output=True, timeout=300, check=False,
        )  # fmt: skip

    def _place(self, text: str) -> str:
        """Paths of the image in ``text``, as they are here."""
        minor = f"python3.{sys.version_info.minor}"
        return self._own_path.sub(rf"{self.root}/\1", text).replace("python3.11", minor)

    def _read_environment(self, stage: Stage) -> dict[str, str]:
        """What its ENV instructions set."""
        said = " ".join(argument for instruction, argument in stage.steps if instruction == "ENV")
        found = dict(pair.split("=", 1) for pair in self._place(said).split())
        around = f"{self.python}/bin:{os.environ['PATH']}"
        path = found.get("PATH", "$PATH").replace("$PATH", around)
        return found | {"PATH": path, "LD_LIBRARY_PATH": str(self.python / "lib")}

    def _follow(self, stage: Stage, environment: dict[str, str]) -> None:
        workdir = self.root / "build"
        workdir.mkdir(exist_ok=True)
        for instruction, argument in stage.steps:
            if instruction == "COPY" and not argument.startswith("--from"):
                _copy(argument.split()[0], workdir)
            elif instruction == "RUN":
                command = self._place(re.sub(r"--mount=\S+", "", argument))
                subprocess.run(["sh", "-ec", command], cwd=workdir, env=environment, check=True)
        if ("COPY", ". .") in stage.steps:  # no later stage has the sources
            shutil.rmtree(workdir)


def _copy(source: str, workdir: Path) -> None:
    """Copy what .dockerignore lets in."""
    let_in = [line[1:] for line in IGNORE_FILE.splitlines() if line.startswith("!")]
    for path in let_in if source == "." else [source]:
        assert path in let_in
        target = workdir / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(ROOT / path, target, ignore=unwanted, dirs_exist_ok=True)
        else:
            shutil.copy(ROOT / path, target)
