"""``IndexSpec``: the whole spec, and the rules that involve several sections."""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, tzinfo
from operator import attrgetter
from typing import Any, Literal
from zoneinfo import ZoneInfo

from django.conf import settings
from pydantic import Field, ValidationInfo, field_validator, model_validator

from documents.parsing import ocr
from indexing.kinds import BUILT_IN_FIELDS, KINDS, RESERVED_FIELDS
from indexing.providers import PROVIDERS
from indexing.spec.app_sections import (
    SECTIONS,
    AppSections,
    leave_out_missing,
    list_sections,
)
from indexing.spec.fields import FieldSpec
from indexing.spec.identifiers import IdentifierSpec
from indexing.spec.optional_apps import APP_BY_SETTING, require_app
from indexing.spec.sections import (
    NAME_PATTERN,
    STORED,
    AppSection,
    ArtifactSummarySpec,
    ChunkSpec,
    EmbeddingSpec,
    PageSummarySpec,
    QuestionSpec,
    SearchSpec,
    SparseSpec,
    StoreSpec,
    ToolSpec,
)

# Settings that affect how an index is searched and shown, how long it keeps documents, how they are
# titled, and which scans it is for, but not its vectors. Others are parts of sections: those of
# apps that say so, how people refer to declared fields, and the synonyms of values.
SEARCH_SETTINGS = (
    "title", "description", "search", "tools", "identifiers", "keep_days", "ocr_languages",
    "document_titles", *list_sections("index"),
)  # fmt: skip
FIELD_SEARCH_SETTINGS = ("said_as", "description")

# Settings of ``store`` that a collection keeps, and their defaults.
PLACEMENT = ("shards", "replicas", "vectors")
UNPLACED = StoreSpec().model_dump(include=set(PLACEMENT))

FIELD_NAME_RULE = "the name must be a lowercase letter, then lowercase letters, digits, underscores"


class IndexSpec(AppSections):
    """How one index is built and searched."""

    name: str
    title: str = ""
    description: str = ""
    # Of documents that are given none: the one in the content, else the file name's words; or the
    # file name.
    document_titles: Literal["content", "file"] = "content"
    # What becomes of text that is in a file and cannot be seen on its pages.
    unseen_text: Literal["leave_out", "index"] = "leave_out"
    embedding: EmbeddingSpec = EmbeddingSpec()
    sparse: SparseSpec = SparseSpec()
    chunks: ChunkSpec = ChunkSpec()
    page_summaries: PageSummarySpec | None = None  # null: no summaries
    artifact_summaries: ArtifactSummarySpec | None = None
    questions: QuestionSpec | None = None
    metadata: dict[str, FieldSpec] = Field(default_factory=dict)
    time_zone: str = "UTC"  # of days in filters and metadata, and of times without an offset
    collections: dict[str, str] = Field(default_factory=dict)  # ``Kind.collection`` -> its name
    search: SearchSpec = SearchSpec()
    tools: dict[str, ToolSpec] = Field(default_factory=dict)
    identifiers: dict[str, IdentifierSpec] = Field(default_factory=dict)
    keep_days: int | None = Field(None, ge=1, le=36_500)  # null: documents never expire
    ocr_languages: tuple[str, ...] = ()  # of its scans
    store: StoreSpec = StoreSpec()
    public: bool = False  # searches need no key; stored in ``Index.is_public``

    @model_validator(mode="before")
    @classmethod
    def _leave_out_missing_apps(cls, content: Any, info: ValidationInfo) -> Any:
        if not isinstance(content, Mapping):
            return content
        return leave_out_missing(content, is_stored=info.context == STORED)

    @field_validator("page_summaries", "artifact_summaries", "questions", *SECTIONS, mode="before")
    @classmethod
    def _expand_boolean(cls, setting: Any) -> Any:
        """Read ``true`` as the defaults and ``false`` as none."""
        if isinstance(setting, bool):
            return {} if setting else None
        return setting

    @field_validator("time_zone")
    @classmethod
    def _check_time_zone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (LookupError, ValueError, OSError):
            raise ValueError(
                f"{name[:100]!r} is not a time zone; write a name of the IANA database, such as "
                "Europe/Berlin or UTC"
            ) from None
        return name

    @model_validator(mode="after")
    def _check_sections_agree(self) -> "IndexSpec":
        if not self.kinds:
            raise ValueError("chunks.embed is false and no other kind of node is switched on")
        if self.artifact_summaries is not None and self.page_summaries is None:
            raise ValueError(
                "artifact_summaries are made from page_summaries: page_summaries must be switched "
                "on too"
            )
        if "summary" in self.chunks.context and self.page_summaries is None:
            raise ValueError(
                "chunks.context: summary is that of the chunk's page: page_summaries must be "
                "switched on too"
            )
        known_collections = list(dict.fromkeys(kind.collection for kind in KINDS.values()))
        for name, collection in self.collections.items():
            if name not in known_collections:
                raise ValueError(
                    f"collections.{name}: there is no such collection; "
                    f"allowed here: {', '.join(known_collections)}"
                )
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,100}", collection):
                raise ValueError(
                    f"collections.{name}: the name must be a letter, then up to 100 letters, "
                    "digits, dots, dashes and underscores"
                )
        if len(set(self.collections.values())) < len(self.collections):
            raise ValueError("collections: each kind of node needs a collection of its own")
        return self

    @model_validator(mode="after")
    def _check_search_settings(self, info: ValidationInfo) -> "IndexSpec":
        if info.context == STORED:  # they may be for a build that is not live yet
            return self
        asks = {
            "identifiers": bool(self.identifiers),
            "search.pipeline": self.search.pipeline != SearchSpec().pipeline,
        }
        for setting, app in APP_BY_SETTING.items():
            require_app(app if asks[setting] else None, setting)
        field = self.search.versions_by
        if field and (field not in self.metadata or self.metadata[field].many):
            raise ValueError(
                f"search.versions_by: {field!r} is not declared under metadata as a field with one "
                "value"
            )
        readable = ocr.list_readable(self.ocr_languages)
        for language in self.ocr_languages:
            if language not in readable:
                raise ValueError(
                    f"ocr_languages: OCR has no weights for {language!r}; "
                    f"allowed here: {', '.join(readable)}"
                )
        for name, tool in self.tools.items():
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name):
                raise ValueError(f"tools.{name}: {FIELD_NAME_RULE}")
            if "limit" in tool.parameters:
                raise ValueError(f"tools.{name}.parameters.limit: the name is reserved")
            if problem := self.find_tool_problem(name):
                raise ValueError(problem)
        for name, identifier in self.identifiers.items():
            if not self.can_look_up(identifier):
                raise ValueError(f"identifiers.{name}.field: {identifier.field!r} is not declared")
        return self

    @model_validator(mode="after")
    def _check_embedding_providers(self) -> "IndexSpec":
        provider = PROVIDERS[self.embedding.provider]
        if provider.embeds:
            raise ValueError(
                f"embedding.provider: {provider.name} embeds {provider.embeds}, not text; leave it "
                f"out here and set {provider.section}: true"
            )
        return self

    @model_validator(mode="after")
    def _check_app_sections(self, info: ValidationInfo) -> "IndexSpec":
        for section in self.app_sections:
            # Stored settings of an index may be for a build that is not live yet.
            is_checked = info.context != STORED or section.stored_in == "build"
            if is_checked and (problem := section.find_problem(self)):
                raise ValueError(problem)
        return self

    @model_validator(mode="after")
    def _check_names(self) -> "IndexSpec":
        if not NAME_PATTERN.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} is not a valid index name: it must be a lowercase letter, then "
                "lowercase letters, digits and dashes, at most 63 characters"
            )
        for field in self.metadata:
            if field in RESERVED_FIELDS.union(*(KINDS[kind].payload_fields for kind in self.kinds)):
                raise ValueError(f"metadata.{field}: the name is reserved by the index")
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", field):
                raise ValueError(f"metadata.{field}: {FIELD_NAME_RULE}")
        return self

    @property
    def recipe(self) -> dict[str, Any]:
        """The settings that decide a build's content, as JSON."""
        recipe = self.model_dump(mode="json", exclude={*SEARCH_SETTINGS, "store", "public"})
        if not self.holds_unseen_text:
            del recipe["unseen_text"]  # so that builds of earlier releases have the same
        if self.time_zone == "UTC":
            del recipe["time_zone"]
        for section in list_sections("both"):
            recipe[section] = recipe[section] is not None
        # With questions, the model that writes them reads the descriptions of fields.
        left_out = FIELD_SEARCH_SETTINGS if self.questions is None else ("said_as",)
        for field in recipe["metadata"].values():
            for name in left_out:
                del field[name]
            for value in field["values"] or ():
                del value["synonyms"]  # a search setting
        return recipe

    @property
    def search_settings(self) -> dict[str, Any]:
        """The settings that an index can change while its build stays."""
        included = {*SEARCH_SETTINGS, *list_sections("both"), "metadata"}
        spec = self.model_dump(mode="json", include=included)
        for field, declared in spec["metadata"].items():
            settings_of_field = {name: declared[name] for name in FIELD_SEARCH_SETTINGS}
            synonyms = {each["value"]: each["synonyms"] for each in declared["values"] or ()}
            spec["metadata"][field] = settings_of_field | {"synonyms": synonyms}
        return spec

    @property
    def placement(self) -> dict[str, Any]:
        """What a build's collections are made with and keep, where it is not the default."""
        is_embedded = settings.STRATA_VECTOR_STORE == "embedded"
        names = {"vectors"} if is_embedded else set(PLACEMENT)
        return self.store.model_dump(include=names, exclude_defaults=True)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the recipe; builds with equal fingerprints have the same content."""
        return hashlib.sha256(json.dumps(self.recipe, sort_keys=True).encode()).hexdigest()

    def can_look_up(self, identifier: IdentifierSpec) -> bool:
        """Whether the field that holds the identifier is declared."""
        return identifier.field in {"external_id", *self.metadata}

    def find_tool_problem(self, name: str) -> str | None:
        """Describe what a tool needs and this index lacks; None if nothing is missing."""
        tool = self.tools[name]
        if tool.search == "questions" and self.questions is None:
            return f"tools.{name}.search: this index holds no questions"
        if tool.search == "pages" and not self.chunks.embed:
            return f"tools.{name}.search: this index embeds no chunks"
        if tool.search is None and self.questions is None and not self.chunks.embed:
            return f"tools.{name}: this index holds neither questions nor chunks"
        for parameter, about in tool.parameters.items():
            if about.field is not None and about.field not in self.metadata:
                return f"tools.{name}.parameters.{parameter}.field: {about.field!r} is not declared"
        return None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of node that this recipe requires."""
        return tuple(name for name in KINDS if self._asks_for(name))

    def _asks_for(self, kind: str) -> bool:
        return bool(attrgetter(KINDS[kind].switch)(self))

    def embedding_spec_for(self, kind: str) -> EmbeddingSpec:
        """The embedding spec of a kind. Scores of different models are never compared."""
        if not self._asks_for(kind):
            return self.embedding
        spec: EmbeddingSpec = attrgetter(KINDS[kind].embedding)(self)
        return spec

    def has_vectors_of(self, other: "IndexSpec", kind: str) -> bool:
        """Whether both embed equal texts of this kind as the same vector."""
        return self.embedding_spec_for(kind).has_vectors_of(other.embedding_spec_for(kind))

    @property
    def embedding_specs(self) -> set[EmbeddingSpec]:
        """The embedding specs of all kinds in this recipe."""
        return {self.embedding_spec_for(kind) for kind in self.kinds}

    @property
    def has_generated_texts(self) -> bool:
        """Whether a build is complete only once texts about its documents have been written."""
        needing = (self.page_summaries, self.questions, self.chunks.llm)
        return any(section is not None for section in needing)

    @property
    def holds_unseen_text(self) -> bool:
        return self.unseen_text == "index"

    @property
    def prompt_names(self) -> list[str]:
        """The prompts of everything that a language model writes or extracts."""
        sections = (
            self.page_summaries,
            self.artifact_summaries,
            self.questions,
            self.chunks.llm,
            *self.app_sections,
        )
        prompts = (getattr(section, "prompt", "") for section in sections)
        return [prompt for prompt in prompts if prompt]

    @property
    def app_sections(self) -> list[AppSection]:
        """The sections of apps that are not null."""
        sections = (getattr(self, name) for name in SECTIONS)
        return [section for section in sections if section is not None]

    def collection_alias(self, kind: str) -> str:
        """The public name of the collection that holds nodes of ``kind``."""
        collection = KINDS[kind].collection
        if collection in self.collections:
            return self.collections[collection]
        suffix = settings.STRATA_COLLECTION_NAMES.get(collection, f"{collection}_embeddings")
        return f"{self.name}.{suffix}"

    @property
    def zone(self) -> tzinfo:
        return UTC if self.time_zone == "UTC" else ZoneInfo(self.time_zone)

    @property
    def declared_fields(self) -> dict[str, str]:
        """Field name -> type, for every field under ``metadata``."""
        return {name: field.type for name, field in self.metadata.items()}

    def normalise_metadata(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Metadata with the values of declared fields as they are stored."""
        declared = self.metadata
        return {
            name: declared[name].normalise(content) if name in declared else content
            for name, content in metadata.items()
        }

    @property
    def filter_fields(self) -> dict[str, str]:
        """Field name -> type, for every field a filter may name."""
        of_kinds = {
            name: "keyword" if type == "uuid" else type
            for kind in self.kinds
            for name, type in KINDS[kind].indexed_fields.items()
        }
        return BUILT_IN_FIELDS | of_kinds | self.declared_fields
