"""Old Word, Excel and PowerPoint files, which LibreOffice converts where it is installed.

``main`` is the program that confines itself and becomes LibreOffice."""

import json
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from documents.exceptions import Unparsable
from documents.parsing.confinement import NO_NETWORK, NO_OTHER_CALLS, NO_OTHER_FILES, TMP, confine
from documents.parsing.document import DocumentDraft, Limits

_NEW_SUFFIXES = {".doc": ".docx", ".xls": ".xlsx", ".ppt": ".pptx"}
# Where Debian keeps the parts of it that are not in its own folder.
_FOLDERS = (
    "/usr/share", "/etc/fonts", "/etc/libreoffice", "/var/lib/libreoffice",
    "/var/spool/libreoffice",
)  # fmt: skip
_PROGRAM = "from documents.parsing.office import main; main()"
_UNCONFINED = 3  # exit codes
_RESTART = 81  # LibreOffice has written its profile and must be started again


def read(path: Path, draft: DocumentDraft) -> None:
    new = _NEW_SUFFIXES[draft.suffix]
    raise Unparsable(
        "needs_libreoffice",
        f"LibreOffice, which converts files named {draft.suffix}, is not installed here.",
        fix=f"Install it (libreoffice-nogui on Debian), or save the file as {new}.",
    )


def is_installed() -> bool:
    return shutil.which("soffice") is not None


def convert(path: Path, suffix: str, folder: Path, limits: Limits) -> Path:
    """Write the file in the newer format to the folder, where nothing else is.

    Raises:
        Unparsable: LibreOffice cannot convert it or cannot be confined.
        subprocess.TimeoutExpired: it takes longer than a file may.
    """
    shutil.copyfile(path, folder / f"file{suffix}")
    arguments = [folder, shutil.which("soffice"), suffix, json.dumps(asdict(limits))]
    for _ in range(2):
        ended = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", _PROGRAM, *map(str, arguments)],
            cwd=Path(__file__).resolve().parents[2],
            env={},
            capture_output=True,
            timeout=limits.seconds,
        )
        if ended.returncode != _RESTART:
            break
    converted = folder / f"file{_NEW_SUFFIXES[suffix]}"
    if ended.returncode == _UNCONFINED:
        raise Unparsable(
            "unconfined",
            "LibreOffice cannot be kept from the network and other files on this machine.",
            fix=f"Allow user namespaces and Landlock, or save the file as {converted.suffix}.",
        )
    if not converted.is_file():
        raise Unparsable(
            "damaged_file",
            "LibreOffice cannot open the file, which is damaged, too large or protected by a "
            "password.",
            fix=f"Save it as {converted.suffix}.",
        )
    return converted


def main() -> None:
    folder, program, suffix, limits_json = sys.argv[1:]
    limits = Limits(**json.loads(limits_json))
    binary = Path(program).resolve().with_name("soffice.bin")
    installation = str(binary.parents[1])
    in_force = confine([installation, *_FOLDERS], private_tmp=folder)
    if in_force != [NO_NETWORK, NO_OTHER_FILES, NO_OTHER_CALLS]:
        sys.exit(_UNCONFINED)
    for kind, value in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_CPU, int(limits.seconds) + 1),
        (resource.RLIMIT_FSIZE, limits.max_expanded_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))
    os.execve(  # noqa: S606 - without a shell
        binary,
        [
            *(str(binary), "--headless", "--norestore"),
            *(f"-env:UserInstallation=file://{TMP}/profile", "--convert-to"),
            *(_NEW_SUFFIXES[suffix][1:], "--outdir", TMP, f"{TMP}/file{suffix}"),
        ],
        {"HOME": TMP, "PATH": os.defpath, "LC_ALL": "C.UTF-8"},
    )
