"""The index spec: what one YAML file in ``specs/`` says, checked and frozen.

A spec knows neither models nor stores. Its fingerprint covers what shapes a build (vectors,
nodes, payloads) and leaves out what can change at no cost (titles, search settings).
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from indexing.exceptions import InvalidSpec

NAME_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,62}")

# Names a payload already uses, and filters may name; a declared field cannot take them.
BUILT_IN_FIELDS: dict[str, str] = {
    "artifact_id": "keyword",
    "page_id": "keyword",
    "source_id": "keyword",
    "page_index": "integer",
    "kind": "keyword",
    "strategy": "keyword",
    "media_type": "keyword",
    "external_id": "keyword",
    "artifact_title": "keyword",
}
RESERVED_FIELDS = frozenset(BUILT_IN_FIELDS) | {
    "all_of", "any_of", "not", "text", "content", "meta", "score", "id", "chunk_index",
    "start_offset", "end_offset", "text_hash", "source_hash", "source_ordinal", "metadata",
}  # fmt: skip


# Those with stop words, a stemmer or both; Chinese, Thai and the like need neither and may be
# indexed under any of them.
LANGUAGES = frozenset(
    """
    arabic azerbaijani basque bengali catalan chinese danish dutch english finnish french german
    greek hebrew hinglish hungarian indonesian italian japanese kazakh nepali norwegian portuguese
    romanian russian slovene spanish swedish tajik turkish
    """.split()  # noqa: SIM905
)


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EmbeddingSpec(Frozen):
    """One embedding model, shared by every kind of node of the index."""

    provider: Literal["fastembed", "huggingface", "openai"] = "fastembed"
    model: str = "all-MiniLM-L6-v2"
    dimension: int = Field(384, ge=1, le=65_536)
    window: int = Field(256, ge=16, le=131_072)  # tokens, special tokens included
    precision: Literal["float32", "int8"] = "float32"
    document_prefix: str = ""
    query_prefix: str = ""


class SparseSpec(Frozen):
    """How text becomes BM25 terms, for documents and queries alike."""

    tokenizer: Literal["multilingual", "word", "whitespace", "prefix"] = "multilingual"
    language: str = "english"  # stop words and stemmer; "none" for neither
    k: float = Field(1.2, gt=0, le=10)
    b: float = Field(0.5, ge=0, le=1)
    average_length: float = Field(128, gt=0)  # words a text is taken to have when all is average

    @field_validator("language")
    @classmethod
    def _is_known(cls, language: str) -> str:
        if language not in LANGUAGES | {"none"}:
            raise ValueError(f"{language!r} is not one of: {', '.join(sorted(LANGUAGES))}, none")
        return language


class SentenceStrategy(Frozen):
    """Whole sentences, packed up to ``max_chars``."""

    name: Literal["sentence"] = "sentence"
    max_chars: int = Field(500, ge=50, le=10_000)


class ParagraphStrategy(Frozen):
    """The whole source as one chunk where it fits the model's window."""

    name: Literal["paragraph"] = "paragraph"


class SemanticStrategy(Frozen):
    """Sentences packed up to ``max_chars`` and cut where the meaning turns."""

    name: Literal["semantic"] = "semantic"
    max_chars: int = Field(1_000, ge=50, le=10_000)
    breakpoint_percentile: int = Field(90, ge=1, le=99)  # of the distances between neighbours


Strategy = Annotated[
    SentenceStrategy | ParagraphStrategy | SemanticStrategy, Field(discriminator="name")
]


class ChunkSpec(Frozen):
    strategies: tuple[Strategy, ...] = (SentenceStrategy(),)
    context: tuple[Literal["title", "heading"], ...] = ("title",)

    @model_validator(mode="after")
    def _strategies_differ(self) -> "ChunkSpec":
        names = [strategy.name for strategy in self.strategies]
        if not names:
            raise ValueError("name at least one chunking strategy")
        if len(set(names)) != len(names):
            raise ValueError("each chunking strategy may stand once")
        return self


class FieldSpec(Frozen):
    """One declared metadata field: checked when given, stored, and open to filters."""

    type: Literal["keyword", "integer", "float", "bool", "datetime", "text"]
    many: bool = False
    values: tuple[str, ...] | None = None  # a closed list; None leaves it open
    lowercase: bool = False
    description: str = ""

    @model_validator(mode="after")
    def _values_are_keywords(self) -> "FieldSpec":
        if (self.values is not None or self.lowercase) and self.type not in {"keyword", "text"}:
            raise ValueError("values and lowercase belong to keyword and text fields")
        return self


class SearchSpec(Frozen):
    """Defaults of a search; changing them costs nothing and keeps the build."""

    dense_weight: float = Field(1.0, ge=0, le=100)
    sparse_weight: float = Field(1.0, ge=0, le=100)
    rrf_k: int = Field(60, ge=1, le=10_000)
    prefetch: int = Field(100, ge=1, le=1_000)


class IndexSpec(Frozen):
    """How one index is built and searched."""

    name: str
    title: str = ""
    description: str = ""
    embedding: EmbeddingSpec = EmbeddingSpec()
    sparse: SparseSpec = SparseSpec()
    chunks: ChunkSpec = ChunkSpec()
    metadata: dict[str, FieldSpec] = Field(default_factory=dict)
    collections: dict[Literal["chunk"], str] = Field(default_factory=dict)
    search: SearchSpec = SearchSpec()

    @model_validator(mode="after")
    def _names_are_usable(self) -> "IndexSpec":
        if not NAME_PATTERN.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} is not an index name: a small letter, then small letters, "
                "digits and dashes, 63 at most"
            )
        for field in self.metadata:
            if field in RESERVED_FIELDS:
                raise ValueError(f"metadata.{field}: the name is used by every index already")
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", field):
                raise ValueError(
                    f"metadata.{field}: a small letter, then small letters, digits and underscores"
                )
        return self

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what shapes a build; two specs that agree in it can share one."""
        shaping = self.model_dump(mode="json", exclude={"title", "description", "search"})
        for field in shaping["metadata"].values():
            field.pop("description")
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of node this recipe asks for."""
        return ("chunk",)

    def collection_alias(self, kind: str) -> str:
        """The public name of the collection that holds nodes of ``kind``."""
        default = {"chunk": f"{self.name}.page_embeddings"}
        return self.collections.get(kind, default[kind])  # type: ignore[call-overload]

    @property
    def filter_fields(self) -> dict[str, str]:
        """Field name -> type, for every field a filter may name."""
        return BUILT_IN_FIELDS | {name: field.type for name, field in self.metadata.items()}


def parse_spec(name: str, text: str) -> IndexSpec:
    """Read one spec from YAML text.

    Raises:
        InvalidSpec: with the first wrong field and what it may be.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidSpec(f"{name}.yaml is not YAML: {_first_line(error)}") from None
    if content is None:
        content = {}
    if not isinstance(content, Mapping):
        raise InvalidSpec(f"{name}.yaml must hold a mapping of settings.")
    if "name" in content:
        raise InvalidSpec(f"{name}.yaml: leave out name; the file's own name is the index's.")
    try:
        return IndexSpec.model_validate({**content, "name": name})
    except ValidationError as error:
        raise InvalidSpec(f"{name}.yaml: {_explain(error)}") from None


def load_specs(folder: Path) -> dict[str, IndexSpec]:
    """Every spec of a folder by name.

    Raises:
        InvalidSpec: the first file that is not valid.
    """
    return {
        path.stem: parse_spec(path.stem, path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.yaml"))
    }


def _explain(error: ValidationError) -> str:
    """One sentence for the first mistake: where it stands and what is allowed there."""
    # A misspelt setting first: the one it was meant for is then missing, and only seems wrong.
    mistakes: list[Any] = error.errors(include_url=False)
    first = min(mistakes, key=lambda mistake: mistake["type"] != "extra_forbidden")
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "extra_forbidden":
        message = "there is no such setting"
        known = _known_settings(first["loc"])
        if known:
            message += f"; allowed here: {', '.join(known)}"
    return f"{where}: {message}" if where else str(message)


def _known_settings(location: tuple[str | int, ...]) -> list[str]:
    owners: dict[tuple[str, ...], type[BaseModel]] = {
        (): IndexSpec,
        ("embedding",): EmbeddingSpec,
        ("sparse",): SparseSpec,
        ("chunks",): ChunkSpec,
        ("search",): SearchSpec,
    }
    owner = owners.get(tuple(str(part) for part in location[:-1]))
    if location[:1] == ("metadata",):
        owner = FieldSpec
    return [] if owner is None else [name for name in owner.model_fields if name != "name"]


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())
