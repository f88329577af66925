"""Encrypts what backups and exports write with age (age-encryption.org), and decrypts it."""

import fcntl
import os
import shutil
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from types import ModuleType
from typing import IO, Any, Final

from django.conf import settings

from core.exceptions import InvalidInput, StrataError

FIRST_BYTES = b"age-encryption.org/"
# The option of the commands that encrypt.
ENCRYPT_TO: Final[Mapping[str, Any]] = {
    "action": "append",
    "default": [],
    "metavar": "RECIPIENT",
    "help": "Encrypt it to this public key of age (age1...). May be repeated: each of the keys "
    "decrypts it.",
}


def parse_recipients(recipients: Sequence[str]) -> list[Any]:
    """
    Raises:
        InvalidInput: one is not a public key of age, or pyrage is not installed.
    """
    parsed = []
    for recipient in recipients:
        age = _import_age()
        try:
            parsed.append(age.x25519.Recipient.from_str(recipient))
        except age.RecipientError:
            raise InvalidInput(
                "A recipient is not a public key of age.",
                fix="Give the line that begins with age1, which age-keygen prints.",
            ) from None
    return parsed


@contextmanager
def staging_folder() -> Iterator[Path]:
    """A new folder in the data folder, for files that are not encrypted yet. One command at a time
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
    file appears when it is complete."""
    draft = file.with_name(f".{file.name}.new")
    try:
        with draft.open("wb") as target:
            if recipients:
                _encrypt_archive(folder, target, recipients)
            else:
                _write_archive(folder, target)
        draft.rename(file)
    except BaseException:
        draft.unlink()
        raise


def _write_archive(folder: Path, target: IO[bytes]) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))


def _encrypt_archive(folder: Path, target: IO[bytes], recipients: Sequence[Any]) -> None:
    """Encrypt the archive while a thread writes it into a pipe."""
    age = _import_age()
    read_end, write_end = os.pipe()
    reading, writing = os.fdopen(read_end, "rb"), os.fdopen(write_end, "wb")

    def write() -> None:
        with writing:
            _write_archive(folder, writing)

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        with reading:
            try:
                age.encrypt_io(reading, target, recipients)
            except age.EncryptError as error:
                raise StrataError(f"{target.name} cannot be written: {error}.") from None
        written.result()  # raises what kept it from writing all


@contextmanager
def open_decrypted(file: Path, identity: Path | None) -> Iterator[IO[bytes]]:
    """Open a file. One that is encrypted is decrypted into a file without a name in the data
    folder, and all of it is authenticated, before the block begins.

    Raises:
        InvalidInput: it cannot be decrypted with the identity, or was changed; or it is encrypted
            and there is no identity, or the other way round.
    """
    with file.open("rb") as opened:
        is_encrypted = opened.read(len(FIRST_BYTES)) == FIRST_BYTES
        opened.seek(0)
        if is_encrypted and identity is None:
            raise InvalidInput(
                f"{file} is encrypted.", fix="Name a file with an identity with --identity."
            )
        if identity is None:
            yield opened
            return
        if not is_encrypted:
            raise InvalidInput(
                f"{file} is not encrypted.",
                fix="Leave out --identity if you trust whoever could write the file.",
            )
        with TemporaryFile(dir=settings.STRATA_DATA_DIR) as decrypted:
            _decrypt(opened, decrypted, identity)
            yield decrypted


def _decrypt(encrypted: IO[bytes], decrypted: IO[bytes], identity: Path) -> None:
    age = _import_age()
    identities = _read_identities(age, identity)
    try:
        age.decrypt_io(encrypted, decrypted, identities)
    except (age.DecryptError, OSError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise InvalidInput(
            f"{encrypted.name} cannot be decrypted with {identity}: {reason}.",
            fix="Name the identity of a recipient that it was encrypted to. With that identity, "
            "this says that the file is damaged or was changed: use another one.",
        ) from None
    decrypted.seek(0)


def _read_identities(age: ModuleType, file: Path) -> list[Any]:
    """The identities of a file of age-keygen, which also has comments."""
    try:
        lines = file.read_text(encoding="ascii").splitlines()
        return [age.x25519.Identity.from_str(line) for line in lines if line and line[0] != "#"]
    except (OSError, UnicodeError, age.IdentityError) as error:
        raise InvalidInput(
            f"{file} is not a file of identities of age: {error}.",
            fix="Name the file that age-keygen wrote. If a passphrase protects it, decrypt it.",
        ) from None


def _import_age() -> ModuleType:
    try:
        import pyrage
    except ImportError:
        raise InvalidInput(
            "Encryption needs the package pyrage, which is not installed.",
            fix="Install strata-rag[encryption], or requirements/encryption.txt.",
        ) from None
    return pyrage
