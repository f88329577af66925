import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

from django.core.management.base import CommandError, CommandParser

from config.environment import BASE_DIR
from core.commands import LocalCommand


class Extra(NamedTuple):
    """Packages that the default installation leaves out: ``requirements/NAME.txt``."""

    module: str  # which the packages bring, and nothing else does
    purpose: str
    # Is installed before the file, without a hash: its build depends on the machine.
    first: tuple[str, ...] = ()


EXTRAS: Final = {
    "ocr": Extra("rapidocr", "read scans and images (200 MB)"),
    "chemistry": Extra("rdkit", "search chemical structures"),
    "code": Extra("tree_sitter_language_pack", "read source code by function and class"),
    "huggingface": Extra(
        "sentence_transformers", "run any sentence-transformers model (2 GB)", ("torch==2.13.0",)
    ),
    "s3": Extra("storages", "keep the original files in S3"),
    "encryption": Extra("pyrage", "encrypt backups and exports"),
    "traces": Extra("opentelemetry.sdk", "send OpenTelemetry traces"),
}


class Command(LocalCommand):
    help = (
        "Install packages that the default installation leaves out, at the versions of this "
        "release and checked against their hashes. Without a name: list them."
    )
    prepares_database = False
    requires_system_checks = []  # some fail only because a package is missing

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(EXTRAS))
        parser.add_argument(
            "--force-reinstall",
            action="store_true",
            help="Install again what is there, such as a damaged file.",
        )

    def handle(self, *, names: list[str], force_reinstall: bool, **options: Any) -> None:
        if unknown := [name for name in names if name not in EXTRAS]:
            raise CommandError(
                f"There is nothing named {unknown[0]}; allowed: {', '.join(EXTRAS)}."
            )
        if not names:
            for name, extra in EXTRAS.items():
                state = "installed" if _is_installed(extra) else "-"
                self.stdout.write(f"{name:<12} {state:<10} {extra.purpose}")
            return
        installer = [*_find_installer(), *["--force-reinstall"] * force_reinstall]
        for name in names:
            for arguments in _list_installs(name):
                if subprocess.run([*installer, *arguments], check=False).returncode:
                    raise CommandError(
                        f"{name} was not installed; the lines above say why. An image is changed "
                        "by a Dockerfile of your own: USER root, then RUN strata install."
                    )
        self.stdout.write(f"Installed: {', '.join(names)}. Restart Strata.")


def _list_installs(name: str) -> list[list[str]]:
    """The arguments of each call of the installer."""
    path = BASE_DIR / "requirements" / f"{name}.txt"
    hashed = ["--require-hashes", "--no-deps", "--requirement", str(path)]
    return [*([first] for first in EXTRAS[name].first), hashed]


def _find_installer() -> list[str]:
    """pip or uv, called for the environment of this process, which may have neither itself: a
    clone has them beside it, an image on the path."""
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install"]
    pip = BASE_DIR / ".venv-uv" / "bin" / "pip"
    if found := pip if pip.exists() else shutil.which("pip") or shutil.which("pip3"):
        return [str(Path(found)), "--python", sys.executable, "install"]
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    raise CommandError("Neither pip nor uv is on the path. Install one of them.")


def _is_installed(extra: Extra) -> bool:
    try:
        return find_spec(extra.module) is not None
    except ModuleNotFoundError:  # the package around it
        return False
