"""Packs what backups and exports write, encrypted with age, and decrypts it."""

import fcntl
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import IO, Any, Final

from django.conf import settings

from core.exceptions import InvalidInput, StrataError

# The option of the commands that encrypt.
ENCRYPT_TO: Final[Mapping[str, Any]] = {
    "action": "append",
    "default": [],
    "metavar": "RECIPIENT",
    "help": "Encrypt it to this public key of age (age1...). May be repeated: the secret key of "
    "each decrypts it.",
}


def parse_recipients(recipients: Sequence[str]) -> list[Any]:
    """Read the public keys for which a backup is encrypted.

    Raises:
        InvalidInput: one is not a public key of age, or pyrage is not installed.
    """
    if not recipients:
        return []
    age = _import_age()
    try:
        return [age.x25519.Recipient.from_str(recipient) for recipient in recipients]
    except age.RecipientError:
        raise InvalidInput(
            "A recipient is not a public key of age.",
            fix="Give the line that begins with age1, which age-keygen prints.",
        ) from None


@contextmanager
def staging_folder() -> Iterator[Path]:
    """A new folder in the data folder, for files that are not packed yet. One command at a time
    has it; what a killed one left is removed."""
    folder = Path(settings.STRATA_DATA_DIR, "staging")
    with folder.with_name("staging.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def pack_folder(folder: Path, file: Path, recipients: Sequence[Any]) -> None:
    """Write a new file with a ZIP archive of the folder, encrypted if there are recipients. The
    file appears when it is complete.

    Raises:
        StrataError: it could not be written.
    """
    draft = file.with_name(f".{file.name}.new")
    try:
        with draft.open("wb") as target:
            if recipients:
                _encrypt_archive(folder, target, recipients)
            else:
                _write_archive(folder, target)
        draft.rename(file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def open_encrypted(file: Path, identity: Path) -> Iterator[zipfile.ZipFile]:
    """Open an encrypted archive. All of it is authenticated first, while it is decrypted into a
    file without a name in the data folder.

    Raises:
        InvalidInput: it cannot be decrypted with the identity, or was changed.
    """
    age = _import_age()
    with TemporaryFile(dir=settings.STRATA_DATA_DIR) as decrypted:
        try:
            lines = identity.read_text(encoding="ascii").splitlines()
            secrets = [line for line in lines if line and not line.startswith("#")]
            identities = [age.x25519.Identity.from_str(secret) for secret in secrets]
            with file.open("rb") as encrypted:
                age.decrypt_io(encrypted, decrypted, identities)
            archive = zipfile.ZipFile(decrypted)
        except (
            age.DecryptError, age.IdentityError, UnicodeError, OSError, zipfile.BadZipFile
        ) as error:  # fmt: skip
            reason = str(error).partition("\n")[0].rstrip(".")
            raise InvalidInput(
                f"{file} cannot be decrypted with {identity}: {reason}.",
                fix="Name the file that age-keygen wrote for one of the recipients, decrypted if a "
                f"passphrase protects it. If it is that file, {file.name} is damaged or was "
                "changed: use another one.",
            ) from None
        with archive:
            yield archive


def _write_archive(folder: Path, target: IO[bytes]) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))


def _encrypt_archive(folder: Path, target: IO[bytes], recipients: Sequence[Any]) -> None:
    age = _import_age()
    with TemporaryFile(dir=folder.parent) as archive:
        _write_archive(folder, archive)
        archive.seek(0)
        try:
            age.encrypt_io(archive, target, recipients)
        except age.EncryptError as error:
            raise StrataError(f"{target.name} cannot be written: {error}.") from None


def _import_age() -> ModuleType:
    try:
        import pyrage
    except ImportError:
        raise InvalidInput(
            "Encryption needs the package pyrage, which is not installed.",
            fix="Run strata install encryption.",
        ) from None
    return pyrage
