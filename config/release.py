"""Keeps a data folder closed to code that would index its documents differently.

The file ``release`` in the data folder says which release, with which libraries, last served it.
"""

import json
from importlib.metadata import version
from pathlib import Path

from django.conf import settings
from django.core.management.base import CommandError

from core.exceptions import StrataError
from documents.models import Artifact
from indexing.models import IndexBuild
from indexing.verification import find_release_differences

LIBRARIES = ("fastembed", "llama-index-core", "numpy", "onnxruntime", "tokenizers")


def require_same_indexing(*, is_forced: bool = False) -> list[str]:
    """Compare a sample of each index with what this release would make of it, if another one, or
    other libraries, served the data folder before. Then this release is the one that serves it.
    Return notes for the operator.

    Raises:
        CommandError: they differ, and it was not forced.
    """
    path = Path(settings.STRATA_DATA_DIR) / "release"
    ours = {"strata": settings.STRATA_RELEASE} | {name: version(name) for name in LIBRARIES}
    if _read(path) == ours:
        return []
    notes: list[str] = []
    differences: dict[str, list[str]] = {}
    if Artifact.objects.exists():
        for build in IndexBuild.objects.not_retired().readable():
            try:
                if found := find_release_differences(build):
                    differences[str(build)] = found
            except StrataError as error:
                notes.append(f"{build} could not be compared with this release: {error}")
    if differences and not is_forced:
        described = (f"{build}: {'; '.join(found)}." for build, found in differences.items())
        raise CommandError(
            "This release would index documents differently. "
            f"{' '.join(described)} Start the release and the libraries that served this data "
            "before. Or accept it with --force, and index the documents again: strata regenerate "
            "--index NAME"
        )
    if is_forced or not notes:  # otherwise the next start compares again
        path.write_text(json.dumps(ours, indent=1))
    return notes


def _read(path: Path) -> object:
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return None
