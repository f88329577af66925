"""Generate the synchronous client and its tests from the asynchronous ones.

python client/generate_sync.py            writes the files
python client/generate_sync.py --check    exits with an error if a file would change
"""

import filecmp
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import unasync

ROOT = Path(__file__).resolve().parents[1]
PAIRS = {
    "client/src/strata_client/_async": "client/src/strata_client/_sync",
    "tests/client/asynchronous": "tests/client/synchronous",
}
NAMES = {
    "AsyncAnswerStream": "AnswerStream",
    "AsyncBaseTransport": "BaseTransport",
    "AsyncClient": "Client",
    "AsyncConcepts": "Concepts",
    "AsyncConnection": "Connection",
    "AsyncDocuments": "Documents",
    "AsyncEvaluations": "Evaluations",
    "AsyncEvidence": "Evidence",
    "AsyncHTTPTransport": "HTTPTransport",
    "AsyncIndexes": "Indexes",
    "AsyncRegenerations": "Regenerations",
    "AsyncRelationships": "Relationships",
    "AsyncSearches": "Searches",
    "AsyncStrata": "Strata",
    "_async": "_sync",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "anext": "next",
    "aread": "read",
    "asynchronous": "synchronous",
    "asyncio": "time",
    "read_file_in_thread": "read_file",
}


def generate(into: Path) -> None:
    """Write each synchronous folder below ``into``, formatted like the rest of the code."""
    for source, target in PAIRS.items():
        copied = into / source
        shutil.copytree(ROOT / source, copied, ignore=shutil.ignore_patterns("__pycache__"))
        rule = unasync.Rule(f"/{source}/", f"/{target}/", additional_replacements=NAMES)
        files = sorted(copied.rglob("*.py"))
        unasync.unasync_files([str(file) for file in files], [rule])
        for file in files:
            made = into / target / file.relative_to(copied)
            notice = f"# Made of {source}/{file.relative_to(copied)} by `make client`: edit that.\n"
            made.write_text(notice + made.read_text(encoding="utf-8"), encoding="utf-8")
        _tidy(into / target)
        shutil.rmtree(copied)


def _tidy(folder: Path) -> None:
    ruff = [sys.executable, "-m", "ruff"]
    config = ["--quiet", "--no-cache", "--config", "pyproject.toml", str(folder)]
    subprocess.run([*ruff, "check", "--select=I", "--fix", *config], cwd=ROOT, check=True)
    subprocess.run([*ruff, "format", *config], cwd=ROOT, check=True)


def find_differences(made: Path) -> list[str]:
    """List the files that differ from the generated ones in ``made``, and superfluous files."""
    different = []
    for target in PAIRS.values():
        names = {
            file.relative_to(base / target)
            for base in (made, ROOT)
            for file in (base / target).rglob("*.py")
        }
        different += [
            f"{target}/{name}"
            for name in sorted(names)
            if not _is_same(made / target / name, ROOT / target / name)
        ]
    return different


def _is_same(first: Path, second: Path) -> bool:
    return first.exists() and second.exists() and filecmp.cmp(first, second, shallow=False)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        generate(made)
        different = find_differences(made)
        if "--check" in sys.argv[1:]:
            sys.exit(f"Run `make client`: {', '.join(different)}" if different else 0)
        for target in PAIRS.values():
            shutil.rmtree(ROOT / target, ignore_errors=True)
            shutil.copytree(made / target, ROOT / target)


if __name__ == "__main__":
    main()
