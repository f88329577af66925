"""Generate the synchronous client from the asynchronous one: when its wheel is built, and by
``python client/generate_sync.py``, which make calls."""

import re
import shutil
from pathlib import Path
from typing import Any

import unasync
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path(__file__).resolve().parent / "src" / "strata_client"
NAMES = {  # besides Async..., which loses its prefix
    "_async": "_sync",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "anext": "next",
    "aread": "read",
    "asynchronous": "synchronous",
    "asyncio": "time",
    "read_file_in_thread": "read_file",
}


class GenerateSync(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        generate()


def generate() -> None:
    """Write the folder ``_sync`` anew."""
    source, target = PACKAGE / "_async", PACKAGE / "_sync"
    shutil.rmtree(target, ignore_errors=True)
    files = sorted(source.glob("*.py"))
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    names = NAMES | {name: name[5:] for name in re.findall(r"\bAsync\w+", text)}
    rule = unasync.Rule(f"{source}/", f"{target}/", additional_replacements=names)
    unasync.unasync_files([str(file) for file in files], [rule])
    for file in target.iterdir():
        notice = f"# Generated from _async/{file.name}; edit that file.\n"
        file.write_text(notice + file.read_text(encoding="utf-8"), encoding="utf-8")


if __name__ == "__main__":
    generate()
