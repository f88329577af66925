"""The folder the stages write to, and ``manifest.json``, which says what lies there and why.

A file that is not as it was written was edited by hand, and is never written over. What else
lies in the folder is left alone.
"""

import hashlib
import json
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.exceptions import InvalidInput
from core.parsers import load_json
from core.text import clean_text, hash_text
from summaries.processing.chunks import CHUNKS
from summaries.processing.pages import PARSED

MANIFEST = "manifest.json"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class GivenFile(_Part):
    name: str
    sha256: str
    byte_count: int


class KeptFile(_Part):
    sha256: str  # as it was written
    edited_sha256: str | None = None  # as it was last read, where that differs


class DocumentNote(_Part):
    title: str
    media_type: str
    encoding: str | None
    warnings: list[dict[str, str]] = Field(default_factory=list)


class WriterNote(_Part):
    """``prompt``: null where no language model was asked."""

    model_name: str
    prompt: str | None
    prompt_fingerprint: str | None


class Counts(_Part):
    pages: int = 0
    sources: int = 0
    chunks: int = 0
    questions: int = 0
    dropped_values: int = 0  # outside their closed lists


class Costs(_Part):
    calls: int = 0
    reused: int = 0  # answers kept from before
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class EmbeddedNote(_Part):
    artifact_id: str
    build: str
    model_name: str  # who is said to have written it
    at: str


class Manifest(_Part):
    file: GivenFile
    index: str
    spec_fingerprint: str
    embedding_model: str
    document: DocumentNote | None = None
    files: dict[str, KeptFile] = Field(default_factory=dict)
    writer: WriterNote | None = None
    counts: Counts = Field(default_factory=Counts)
    cost: Costs = Field(default_factory=Costs)
    seconds: dict[str, float] = Field(default_factory=dict)  # of each stage, when last done
    warnings: dict[str, list[str]] = Field(default_factory=dict)  # of each stage
    embedded: EmbeddedNote | None = None


@dataclass(slots=True)
class Folder:
    path: Path
    manifest: Manifest

    @classmethod
    def open(cls, path: Path, manifest: Manifest, *, may_begin_anew: bool) -> "Folder":
        """The folder with the manifest that lies there; in a new one, with this one.

        Raises:
            InvalidInput: what lies there is none of ours, or about another index, or about other
                content and either edited by hand or not to be made anew.
        """
        if path.exists() and not path.is_dir():
            raise InvalidInput(f"{path} is no folder.", fix="Name another with --out.")
        kept = _read_manifest(path)
        if kept is None:
            _require_no_others(path)
            return cls(path, manifest)
        if kept.index != manifest.index:
            raise InvalidInput(
                f"{path} is about the index {kept.index!r}.", fix="Name another folder with --out."
            )
        folder = cls(path, kept)
        if _content(kept) != _content(manifest):
            if not may_begin_anew or any(folder.is_edited(name) for name in (PARSED, CHUNKS)):
                raise InvalidInput(
                    f"{path} was made from a {kept.file.name} of other content than "
                    f"{manifest.file.name} has now.",
                    fix="Name another folder with --out.",
                )
            for name in (PARSED, CHUNKS):
                (path / name).unlink(missing_ok=True)
            folder.manifest = manifest
        return folder

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def is_edited(self, name: str) -> bool:
        """Whether it is there, and not as it was last written."""
        if not self.has(name):
            return False
        kept = self.manifest.files.get(name)
        return kept is None or kept.sha256 != hash_bytes((self.path / name).read_bytes())

    def require_unedited(self, name: str) -> None:
        """Raise ``InvalidInput`` where writing this file would undo what was done by hand."""
        if self.is_edited(name):
            raise InvalidInput(
                f"{self.path / name} was edited by hand, and would be written over.",
                fix="Move it away to have it made again.",
            )

    def read(self, name: str) -> str:
        """
        Raises:
            InvalidInput: it is no UTF-8.
        """
        content = (self.path / name).read_bytes()
        kept = self.manifest.files.get(name)
        if kept is not None:
            digest = hash_bytes(content)
            kept.edited_sha256 = None if digest == kept.sha256 else digest
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise InvalidInput(
                f"{name}, line {line}: this is not UTF-8.", fix="Save the file as UTF-8."
            ) from None

    def write(self, name: str, text: str) -> None:
        self._replace(name, text)
        self.manifest.files[name] = KeptFile(sha256=hash_text(text))

    def save_manifest(self) -> None:
        said = self.manifest.model_dump(mode="json")
        text = json.dumps(said, indent=2, sort_keys=True, ensure_ascii=False)
        self._replace(MANIFEST, text + "\n")

    def _replace(self, name: str, text: str) -> None:
        """Write a file as a whole or not at all."""
        self.path.mkdir(parents=True, exist_ok=True)
        incoming = self.path / f".{name}-{uuid.uuid4().hex}"
        try:
            with incoming.open("xb") as file:
                file.write(text.encode())
                file.flush()
                os.fsync(file.fileno())
            incoming.replace(self.path / name)
        finally:
            incoming.unlink(missing_ok=True)


def describe_file(path: Path) -> GivenFile:
    """
    Raises:
        InvalidInput: there is no such file.
        OSError: it cannot be read.
    """
    if not path.is_file():
        raise InvalidInput(f"{path} is a folder." if path.is_dir() else f"There is no {path}.")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return GivenFile(name=clean_text(path.name)[:500], sha256=digest, byte_count=file.tell())


def hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _content(manifest: Manifest) -> tuple[str, str]:
    """What tells files apart: their bytes, and the ending that says how they are read."""
    return manifest.file.sha256, Path(manifest.file.name).suffix.lower()


def _read_manifest(path: Path) -> Manifest | None:
    try:
        content: Any = load_json((path / MANIFEST).read_bytes())
        return Manifest.model_validate(content)
    except FileNotFoundError:
        return None
    except (InvalidInput, ValidationError):
        raise InvalidInput(
            f"{path / MANIFEST} is none that process wrote.",
            fix="Name another folder with --out.",
        ) from None


def _require_no_others(path: Path) -> None:
    """Without a manifest, only a ``chunks.json`` may be there: its texts say what it is about."""
    if not path.is_dir():
        return
    others = sorted(
        each.name
        for each in path.iterdir()
        if each.name != CHUNKS and not each.name.startswith(".")
    )
    if others:
        raise InvalidInput(
            f"{path} holds {others[0]} and no {MANIFEST}: it is none that process made.",
            fix="Name a new folder with --out.",
        )
