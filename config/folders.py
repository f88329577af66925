"""The folder for everything that the service writes, with the secret key in it, and the folder
with what people write, such as specs."""

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings

from config.environment import BASE_DIR
from core.apps import list_project_folders
from core.atomic_files import write_file


def create_data_folder() -> None:
    """Create the data folder and its folders for uploads and static files."""
    # Only its owner may enter: it holds documents and hashes of keys.
    settings.STRATA_DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    Path(settings.FILE_UPLOAD_TEMP_DIR).mkdir(exist_ok=True)
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)
    if settings.STRATA_VECTOR_STORE == "embedded":
        _make_private(settings.STRATA_DATA_DIR)


def _make_private(data_folder: Path) -> None:
    """Close to others what this user owns: a folder that existed before, its folders, and the
    database, whose further files get the modes of the first."""
    for path in (data_folder, *data_folder.iterdir()):
        status = path.lstat()
        is_shared = bool(status.st_mode & stat.S_ISVTX)  # such as /tmp
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not is_shared:
            path.chmod(0o700)
    database = Path(str(settings.DATABASES["default"]["NAME"]))
    if database.parent == data_folder:
        database.touch(mode=0o600)
        for path in data_folder.glob(f"{database.name}*"):
            with suppress(FileNotFoundError):  # another process has just closed the database
                if path.stat().st_uid == os.geteuid():
                    path.chmod(0o600)


def load_or_create_secret_key(data_folder: Path) -> str:
    """Return the secret key of this data folder; the first call creates it, because sessions must
    survive a restart."""
    path = data_folder / "secret_key"
    data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _one_process_at_a_time(data_folder):
        if not path.exists() or path.stat().st_size == 0:  # a full disk may have left it empty
            write_file(path, secrets.token_urlsafe(50).encode(), mode=0o600)
    return path.read_text(encoding="ascii")


@contextmanager
def _one_process_at_a_time(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def start_project_folder() -> Iterator[str]:
    """Copy the folders that the project folder lacks from those that Strata comes with, and yield
    a sentence about each. A folder that an environment variable names is not made."""
    if settings.STRATA_PROJECT_DIR == BASE_DIR:
        return  # a clone
    for name, used in list_project_folders().items():
        folder = Path(settings.STRATA_PROJECT_DIR) / name
        if folder == used and not folder.exists():
            shutil.copytree(BASE_DIR / name, folder)
            yield f"Made {folder}."
