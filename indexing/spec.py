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
from django.conf import settings
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


PROMPT_PATTERN = r"^[a-z][a-z0-9_]*$"

# What says how an index is searched and shown, and leaves its vectors as they are.
SEARCH_SETTINGS = {"title", "description", "search", "tools", "identifiers", "evidence"}

# The collection each kind lives in: page and artifact summaries share one, for their scores
# compare.
COLLECTIONS: dict[str, str] = {
    "chunk": "chunk",
    "page_summary": "summary",
    "artifact_summary": "summary",
    "question": "question",
    "concept": "concept",
    "relationship_type": "relationship",
    "compound": "compound",
    "image": "image",
}

# Kinds without terms of BM25: a name of two words has too few of them, a structure and a picture
# none.
DENSE_KINDS = frozenset({"concept", "relationship_type", "compound", "image"})

MORGAN = "morgan-"  # and the radius: the name of a fingerprint as an embedding model

# What payloads of these kinds use besides.
FIELDS_OF_KINDS: dict[str, frozenset[str]] = {
    "chunk": frozenset(),
    "page_summary": frozenset(
        {"type", "entity_id", "summary_text", "model_name", "date_embedded", "page_count"}
    ),
    "question": frozenset(
        {
            "question", "chunk_text", "chunk_id", "chunk_hash", "annotation_hash", "source",
            "summary", "model_name", "hypothetical_questions", "heading",
            # What every hit has: a question's hit shows the declared fields beside it.
            "artifact", "page", "passage", "verdict", "score_kind", "node_id", "explain", "index",
        }
    ),
}  # fmt: skip
FIELDS_OF_KINDS |= {kind: frozenset() for kind in DENSE_KINDS}
FIELDS_OF_KINDS["artifact_summary"] = FIELDS_OF_KINDS["page_summary"]

# Which fields may be spoken of in which way.
SAID_TYPES: dict[str, str] = {
    "year": "integer",
    "person": "keyword",
    "name": "keyword",
    "mark": "keyword",
}

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
    """One embedding model. The index's own embeds every kind of node but those that are no text."""

    provider: Literal["fastembed", "huggingface", "openai", "rdkit", "clip"] = "fastembed"
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
    """``embed: false`` cuts chunks for other kinds to build on, and stores no points of them."""

    strategies: tuple[Strategy, ...] = (SentenceStrategy(),)
    context: tuple[Literal["title", "heading"], ...] = ("title",)
    embed: bool = True

    @model_validator(mode="after")
    def _strategies_differ(self) -> "ChunkSpec":
        names = [strategy.name for strategy in self.strategies]
        if not names:
            raise ValueError("name at least one chunking strategy")
        if len(set(names)) != len(names):
            raise ValueError("each chunking strategy may stand once")
        return self


class PageSummarySpec(Frozen):
    """A summary of each page. ``prompt`` names a file in ``templates/prompts/``; an empty
    ``model`` is the one of the settings."""

    prompt: str = Field("page_summary", pattern=PROMPT_PATTERN)
    model: str = ""
    sentences: int = Field(4, ge=2, le=10)  # at most


class ArtifactSummarySpec(PageSummarySpec):
    """A summary of each artifact, made from those of its pages."""

    prompt: str = Field("artifact_summary", pattern=PROMPT_PATTERN)


class QuestionSpec(Frozen):
    """Hypothetical questions that a chunk answers, with its one-line summary and the values of
    the declared fields it speaks of."""

    prompt: str = Field("questions", pattern=PROMPT_PATTERN)
    model: str = ""
    count: int = Field(8, ge=1, le=20)  # a chunk


class ConceptSpec(Frozen):
    """Concepts and the vocabulary of their relationships: given by people, and with ``extract``
    found in every source too."""

    extract: bool = False
    per_source: int = Field(5, ge=1, le=50)  # at most
    prompt: str = Field("concepts", pattern=PROMPT_PATTERN)
    model: str = ""


class CompoundSpec(Frozen):
    """Chemical structures, in a space of their own: Morgan fingerprints of what a declared field
    holds as SMILES."""

    field: str = "smiles"
    radius: int = Field(2, ge=1, le=4)  # bonds around each atom
    bits: int = Field(2_048, ge=256, le=8_192)

    @property
    def embedding(self) -> EmbeddingSpec:
        return EmbeddingSpec(provider="rdkit", model=f"{MORGAN}{self.radius}", dimension=self.bits)


class ImageSpec(Frozen):
    """Pictures, in a space that they share with words: that of a pair of models of fastembed's,
    ``MODEL-vision`` and ``MODEL-text``."""

    model: str = "Qdrant/clip-ViT-B-32"
    dimension: int = Field(512, ge=1, le=65_536)

    @property
    def embedding(self) -> EmbeddingSpec:
        return EmbeddingSpec(provider="clip", model=self.model, dimension=self.dimension)


class ValueSpec(Frozen):
    """One value of a declared field, and the other words a text may say it in."""

    value: str
    group: str = ""  # what it belongs to, such as a region of the body
    synonyms: tuple[str, ...] = ()


class IdentifierSpec(Frozen):
    """How documents are named in running text, such as a DOI."""

    pattern: str  # a regular expression that matches one whole name, in any case
    field: str = "external_id"  # where documents keep it

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            matches_nothing = re.compile(pattern).fullmatch("")
        except re.error as error:
            raise ValueError(f"this is no regular expression: {error}") from None
        if matches_nothing:
            raise ValueError("the expression matches the empty text")
        return pattern


class FieldSpec(Frozen):
    """One declared metadata field: checked when given, stored, and open to filters.

    ``said_as``: how people speak of it in a question, where a query pipeline reads filters out of
    one: ``year`` (since 2019), ``person`` (by Ada Lovelace), ``name`` (at ACL), ``mark`` (with
    a best paper award).
    """

    type: Literal["keyword", "integer", "float", "bool", "datetime", "text"]
    many: bool = False
    # A list of values, or a mapping that describes them. Kept as a list: databases sort mappings.
    values: tuple[ValueSpec, ...] | None = None
    closed: bool = True  # no other values are taken; without ``values`` every value is
    lowercase: bool = False
    said_as: Literal["year", "person", "name", "mark"] | None = None
    description: str = ""

    @field_validator("values", mode="before")
    @classmethod
    def _describe_listed(cls, values: Any) -> Any:
        if isinstance(values, Mapping):
            return [{**(about or {}), "value": value} for value, about in values.items()]
        if isinstance(values, list | tuple):
            return [{"value": each} if isinstance(each, str) else each for each in values]
        return values

    @model_validator(mode="after")
    def _values_are_keywords(self) -> "FieldSpec":
        if (self.values is not None or self.lowercase) and self.type not in {"keyword", "text"}:
            raise ValueError("values and lowercase belong to keyword and text fields")
        names = [each.value for each in self.values or ()]
        if len(set(names)) < len(names):
            raise ValueError("values: each stands once")
        if self.said_as is not None and self.type != SAID_TYPES[self.said_as]:
            raise ValueError(
                f"said_as: {self.said_as} belongs to {SAID_TYPES[self.said_as]} fields"
            )
        return self

    @property
    def closed_values(self) -> tuple[str, ...] | None:
        """All the values it may hold; None where it is open."""
        if self.values is None or not self.closed:
            return None
        return tuple(each.value for each in self.values)


class ParameterSpec(Frozen):
    """What a tool is asked with. One that names a ``field`` takes that field's values, and the
    search is filtered by it."""

    field: str | None = None
    description: str = ""


class ToolSpec(Frozen):
    """One search under a name of its own, for agents. Its parameters stand in ``query`` as
    ``{name}``."""

    description: str
    parameters: dict[str, ParameterSpec]
    query: str
    search: Literal["questions", "pages"] | None = None  # by default the finest kind there is

    @model_validator(mode="after")
    def _query_names_its_parameters(self) -> "ToolSpec":
        try:
            self.query.format(**dict.fromkeys(self.parameters, ""))
        except (KeyError, IndexError, ValueError, AttributeError):
            known = ", ".join(f"{{{name}}}" for name in self.parameters)
            raise ValueError(f"query may hold the tool's parameters only: {known}") from None
        return self


class SearchSpec(Frozen):
    """Defaults of a search; changing them costs nothing and keeps the build."""

    dense_weight: float = Field(1.0, ge=0, le=100)
    sparse_weight: float = Field(1.0, ge=0, le=100)
    rrf_k: int = Field(60, ge=1, le=10_000)
    prefetch: int = Field(100, ge=1, le=1_000)
    pipeline: str = Field("plain", pattern=rf"^{NAME_PATTERN.pattern}$")  # how questions are asked


class EvidenceSpec(Frozen):
    """Findings are given to this index, each kept once by what it says."""

    threshold: float = Field(0.9, gt=0, le=1)  # cosine, from which two say the same


class IndexSpec(Frozen):
    """How one index is built and searched."""

    name: str
    title: str = ""
    description: str = ""
    embedding: EmbeddingSpec = EmbeddingSpec()
    sparse: SparseSpec = SparseSpec()
    chunks: ChunkSpec = ChunkSpec()
    page_summaries: PageSummarySpec | None = None  # null: none are made
    artifact_summaries: ArtifactSummarySpec | None = None
    questions: QuestionSpec | None = None
    concepts: ConceptSpec | None = None
    compounds: CompoundSpec | None = None
    images: ImageSpec | None = None
    metadata: dict[str, FieldSpec] = Field(default_factory=dict)
    collections: dict[
        Literal["chunk", "summary", "question", "concept", "relationship", "compound", "image"],
        str,
    ] = Field(default_factory=dict)
    search: SearchSpec = SearchSpec()
    tools: dict[str, ToolSpec] = Field(default_factory=dict)
    identifiers: dict[str, IdentifierSpec] = Field(default_factory=dict)
    evidence: EvidenceSpec | None = None  # null: the index takes none

    @field_validator(
        "page_summaries", "artifact_summaries", "questions", "concepts", "compounds", "images",
        "evidence", mode="before",
    )  # fmt: skip
    @classmethod
    def _switch(cls, setting: Any) -> Any:
        """``true`` for the defaults, ``false`` for none."""
        if isinstance(setting, bool):
            return {} if setting else None
        return setting

    @model_validator(mode="after")
    def _kinds_fit_together(self) -> "IndexSpec":
        if not self.kinds:
            raise ValueError("chunks.embed is false and no other kind of node is switched on")
        if self.artifact_summaries is not None and self.page_summaries is None:
            raise ValueError("artifact_summaries are made from page_summaries: switch both on")
        if self.evidence is not None and not self.chunks.embed:
            raise ValueError("evidence: findings are compared by their chunks: chunks.embed: true")
        for held, collection in self.collections.items():
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,100}", collection):
                raise ValueError(f"collections.{held}: letters, digits, dots, dashes, underscores")
        if len(set(self.collections.values())) < len(self.collections):
            raise ValueError("collections: each kind of node needs a collection of its own")
        for name, tool in self.tools.items():
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name):
                raise ValueError(
                    f"tools.{name}: a small letter, then small letters, digits and underscores"
                )
            if tool.search == "questions" and self.questions is None:
                raise ValueError(f"tools.{name}.search: this index holds no questions")
            if tool.search == "pages" and not self.chunks.embed:
                raise ValueError(f"tools.{name}.search: this index embeds no chunks")
            if tool.search is None and self.questions is None and not self.chunks.embed:
                raise ValueError(f"tools.{name}: this index holds neither questions nor chunks")
            if "limit" in tool.parameters:
                raise ValueError(f"tools.{name}.parameters.limit: every tool has that one already")
            for parameter, about in tool.parameters.items():
                if about.field is not None and about.field not in self.metadata:
                    raise ValueError(
                        f"tools.{name}.parameters.{parameter}.field: "
                        f"{about.field!r} is not declared"
                    )
        for name, identifier in self.identifiers.items():
            if identifier.field != "external_id" and identifier.field not in self.metadata:
                raise ValueError(f"identifiers.{name}.field: {identifier.field!r} is not declared")
        return self

    @model_validator(mode="after")
    def _each_space_has_its_own(self) -> "IndexSpec":
        if self.embedding.provider == "rdkit":
            raise ValueError(
                "embedding.provider: rdkit reads structures and no text: switch compounds on"
            )
        if self.embedding.provider == "clip":
            raise ValueError(
                "embedding.provider: clip reads pictures and hardly text: switch images on"
            )
        if self.compounds is None:
            return self
        declared = self.metadata.get(self.compounds.field)
        if declared is None or declared.type != "keyword" or declared.lowercase:
            raise ValueError(
                f"compounds.field: declare {self.compounds.field!r} below metadata as a keyword, "
                "its case kept"
            )
        return self

    @model_validator(mode="after")
    def _names_are_usable(self) -> "IndexSpec":
        if not NAME_PATTERN.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} is not an index name: a small letter, then small letters, "
                "digits and dashes, 63 at most"
            )
        for field in self.metadata:
            if field in RESERVED_FIELDS.union(*(FIELDS_OF_KINDS[kind] for kind in self.kinds)):
                raise ValueError(f"metadata.{field}: the name is used by the index already")
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", field):
                raise ValueError(
                    f"metadata.{field}: a small letter, then small letters, digits and underscores"
                )
        return self

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what shapes a build; two specs that agree in it can share one."""
        shaping = self.model_dump(mode="json", exclude=SEARCH_SETTINGS)
        shaping["concepts"] = self.concepts is not None  # whoever finds them
        for field in shaping["metadata"].values():
            field.pop("said_as")
            if self.questions is None:  # else it shapes what is asked about a chunk
                field.pop("description")
        return hashlib.sha256(json.dumps(shaping, sort_keys=True).encode()).hexdigest()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of node this recipe asks for."""
        is_on = {
            "chunk": self.chunks.embed,
            "page_summary": self.page_summaries is not None,
            "artifact_summary": self.artifact_summaries is not None,
            "question": self.questions is not None,
            "concept": self.concepts is not None,
            "relationship_type": self.concepts is not None,
            "compound": self.compounds is not None,
            "image": self.images is not None,
        }
        return tuple(kind for kind in COLLECTIONS if is_on[kind])

    def embedding_of(self, kind: str) -> EmbeddingSpec:
        """What embeds nodes of ``kind``. Scores of different models are never compared."""
        if kind == "compound" and self.compounds is not None:
            return self.compounds.embedding
        if kind == "image" and self.images is not None:
            return self.images.embedding
        return self.embedding

    @property
    def embeddings(self) -> set[EmbeddingSpec]:
        """All the models this recipe asks for."""
        return {self.embedding_of(kind) for kind in self.kinds}

    @property
    def is_written_about(self) -> bool:
        """Whether anything has to be written about its documents before it is whole."""
        return self.page_summaries is not None or self.questions is not None

    def collection_alias(self, kind: str) -> str:
        """The public name of the collection that holds nodes of ``kind``."""
        held: Any = COLLECTIONS[kind]
        return self.collections.get(held) or f"{self.name}.{settings.STRATA_COLLECTION_NAMES[held]}"

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
        ("page_summaries",): PageSummarySpec,
        ("artifact_summaries",): ArtifactSummarySpec,
        ("questions",): QuestionSpec,
        ("concepts",): ConceptSpec,
        ("compounds",): CompoundSpec,
        ("images",): ImageSpec,
        ("evidence",): EvidenceSpec,
        ("embedding",): EmbeddingSpec,
        ("sparse",): SparseSpec,
        ("chunks",): ChunkSpec,
        ("search",): SearchSpec,
    }
    owner = owners.get(tuple(str(part) for part in location[:-1]))
    if location[:1] == ("metadata",):
        owner = FieldSpec
    if location[:1] == ("tools",):
        owner = ToolSpec
    if location[:1] == ("identifiers",):
        owner = IdentifierSpec
    return [] if owner is None else [name for name in owner.model_fields if name != "name"]


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())
