"""The folder that holds the stages' files, and ``manifest.json``, which records how they were made.

A file that differs from what was written counts as edited by hand and is never overwritten.
Other files in the folder are left alone.
"""

import hashlib
import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.atomic_files import write_file
from core.exceptions import InvalidInput
from core.http_formats import load_json
from core.text import clean_name, hash_text
from language_models.exceptions import LanguageModelCost
from processing.chunks import CHUNKS_FILE_NAME
from processing.pages import PARSED_FILE_NAME

MANIFEST_FILE_NAME = "manifest.json"


class _ManifestSection(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class InputFile(_ManifestSection):
    name: str
    sha256: str
    byte_count: int


class WrittenFile(_ManifestSection):
    sha256: str  # as written
    edited_sha256: str | None = None  # as last read, if different


class ManifestDocument(_ManifestSection):
    title: str
    media_type: str
    encoding: str | None
    warnings: list[dict[str, str]] = Field(default_factory=list)


class ManifestWriter(_ManifestSection):
    """Who wrote the annotations. ``prompt``: null if no language model was called."""

    model_name: str
    prompt: str | None
    prompt_fingerprint: str | None


class ManifestCounts(_ManifestSection):
    pages: int = 0
    sources: int = 0
    chunks: int = 0
    questions: int = 0
    dropped_values: int = 0  # values outside their closed lists


class ManifestCosts(_ManifestSection):
    calls: int = 0
    reused: int = 0  # stored completions
    failures: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @classmethod
    def of(cls, cost: LanguageModelCost) -> Self:
        return cls(
            calls=cost.call_count,
            reused=cost.reused_count,
            failures=cost.failure_count,
            prompt_tokens=cost.prompt_tokens,
            completion_tokens=cost.completion_tokens,
        )


class ManifestEmbedding(_ManifestSection):
    artifact_id: str
    build: str
    model_name: str  # the writer recorded with the annotations
    at: str


class Manifest(_ManifestSection):
    file: InputFile
    index: str
    spec_fingerprint: str
    embedding_model: str
    document: ManifestDocument | None = None
    files: dict[str, WrittenFile] = Field(default_factory=dict)
    writer: ManifestWriter | None = None
    counts: ManifestCounts = Field(default_factory=ManifestCounts)
    cost: ManifestCosts = Field(default_factory=ManifestCosts)
    seconds: dict[str, float] = Field(default_factory=dict)  # of the last run of each stage
    warnings: dict[str, list[str]] = Field(default_factory=dict)  # of each stage
    embedded: ManifestEmbedding | None = None

    @property
    def content_id(self) -> uuid.UUID:
        """The document's id until it is in the index: of its content, the suffix that selects its
        reader, and the index."""
        suffix = Path(self.file.name).suffix.lower()
        name = f"strata {self.index} {self.file.sha256} {suffix}"
        return uuid.uuid5(uuid.NAMESPACE_OID, name)


@dataclass(slots=True)
class InspectionFolder:
    path: Path
    manifest: Manifest

    @classmethod
    def open(
        cls, path: Path, manifest: Manifest, *, may_discard_outdated: bool
    ) -> "InspectionFolder":
        """Open a folder with its own manifest; a new folder gets the given one.

        Raises:
            InvalidInput: the folder holds foreign files, or belongs to another index, or was
                made from other content and is edited by hand, is of another file or may not be
                discarded.
        """
        if path.exists() and not path.is_dir():
            raise InvalidInput(f"{path} is not a folder.", fix="Name another with --out.")
        existing_manifest = read_manifest(path)
        if existing_manifest is None:
            # A lone chunks.json may be there: it is checked against the document anyway.
            names = sorted(each.name for each in path.iterdir()) if path.is_dir() else []
            foreign = [name for name in names if name != CHUNKS_FILE_NAME and name[0] != "."]
            if foreign:
                raise InvalidInput(
                    f"{path} was not made by strata process: it holds {foreign[0]} and no "
                    f"{MANIFEST_FILE_NAME}.",
                    fix="Name a new folder with --out.",
                )
            return cls(path, manifest)
        if existing_manifest.index != manifest.index:
            raise InvalidInput(
                f"{path} was made for the index {existing_manifest.index!r}.",
                fix="Name another folder with --out.",
            )
        folder = cls(path, existing_manifest)
        if existing_manifest.content_id != manifest.content_id:
            if (
                not may_discard_outdated
                or existing_manifest.file.name != manifest.file.name
                or any(folder.is_edited(name) for name in (PARSED_FILE_NAME, CHUNKS_FILE_NAME))
            ):
                raise InvalidInput(
                    f"{path} was made from {existing_manifest.file.name}, whose content differs "
                    f"from that of {manifest.file.name}.",
                    fix="Name another folder with --out.",
                )
            for name in (PARSED_FILE_NAME, CHUNKS_FILE_NAME):
                (path / name).unlink(missing_ok=True)
            folder.manifest = manifest
        return folder

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def is_edited(self, name: str) -> bool:
        """Whether the file exists and differs from what was last written."""
        if not self.has(name):
            return False
        written_file = self.manifest.files.get(name)
        return written_file is None or written_file.sha256 != hash_bytes(
            (self.path / name).read_bytes()
        )

    def require_unedited(self, name: str) -> None:
        """Raise ``InvalidInput`` if writing this file would overwrite edits by hand."""
        if self.is_edited(name):
            raise InvalidInput(
                f"{self.path / name} was edited by hand and would be overwritten.",
                fix="Move the file away to have it made again.",
            )

    def read(self, name: str) -> str:
        """Read a file, and note whether it was edited. Raises ``InvalidInput``: it is not UTF-8."""
        content = (self.path / name).read_bytes()
        written_file = self.manifest.files.get(name)
        if written_file is not None:
            digest = hash_bytes(content)
            written_file.edited_sha256 = None if digest == written_file.sha256 else digest
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise InvalidInput(
                f"{name}, line {line}: the text is not UTF-8.", fix="Save the file as UTF-8."
            ) from None

    def write(self, name: str, text: str) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        write_file(self.path / name, text.encode())
        self.manifest.files[name] = WrittenFile(sha256=hash_text(text))

    def save_manifest(self) -> None:
        content = self.manifest.model_dump(mode="json")
        text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)
        write_file(self.path / MANIFEST_FILE_NAME, f"{text}\n".encode())


def describe_file(path: Path) -> InputFile:
    """Return the name, SHA-256 and size of a file.

    Raises:
        InvalidInput: there is no such file.
        OSError: it cannot be read.
    """
    require_file(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return InputFile(name=clean_name(path.name)[:500], sha256=digest, byte_count=file.tell())


def require_file(path: Path) -> None:
    """Raise ``InvalidInput`` if there is no such file."""
    if not path.is_file():
        raise InvalidInput(f"{path} is a folder." if path.is_dir() else f"{path} does not exist.")


def hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_manifest(path: Path) -> Manifest | None:
    """The manifest in a folder, None if it has none. Raises ``InvalidInput``: it is not valid."""
    try:
        content: Any = load_json((path / MANIFEST_FILE_NAME).read_bytes())
        return Manifest.model_validate(content)
    except FileNotFoundError:
        return None
    except (InvalidInput, ValidationError):
        raise InvalidInput(
            f"{path / MANIFEST_FILE_NAME} was not written by process.",
            fix="Name another folder with --out.",
        ) from None
