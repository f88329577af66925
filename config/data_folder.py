"""The folder for everything that the service writes, and the secret key in it."""

import secrets
from pathlib import Path

from django.conf import settings


def create_data_folder() -> None:
    """Create the data folder and its folders for uploads and static files."""
    # Only its owner may enter: it holds documents and hashes of keys.
    settings.STRATA_DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)
    Path(settings.FILE_UPLOAD_TEMP_DIR).mkdir(exist_ok=True)
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


def load_or_create_secret_key(data_folder: Path) -> str:
    """Return the secret key of this data folder; the first call creates it, because sessions must
    survive a restart."""
    path = data_folder / "secret_key"
    data_folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="ascii") as file:
            path.chmod(0o600)
            file.write(secrets.token_urlsafe(50))
    except FileExistsError:
        pass
    return path.read_text(encoding="ascii")
