"""``IndexSpec``: the whole spec, and the rules that span several of its sections."""

import hashlib
import json
import re
from typing import Any, Literal

from django.conf import settings
from pydantic import Field, field_validator, model_validator

from indexing.spec.kinds import (
    BUILT_IN_FIELDS,
    COLLECTION_BY_KIND,
    PAYLOAD_FIELDS_BY_KIND,
    RESERVED_FIELDS,
)
from indexing.spec.sections import (
    NAME_PATTERN,
    ArtifactSummarySpec,
    ChunkSpec,
    CompoundSpec,
    ConceptSpec,
    EmbeddingSpec,
    EvidenceSpec,
    FieldSpec,
    FrozenModel,
    IdentifierSpec,
    ImageSpec,
    PageSummarySpec,
    QuestionSpec,
    SearchSpec,
    SparseSpec,
    ToolSpec,
)

# What says how an index is searched and shown, and leaves its vectors as they are.
SEARCH_SETTINGS = {"title", "description", "search", "tools", "identifiers", "evidence"}


class IndexSpec(FrozenModel):
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
    def _expand_boolean(cls, setting: Any) -> Any:
        """Read ``true`` as the defaults and ``false`` as none."""
        if isinstance(setting, bool):
            return {} if setting else None
        return setting

    @model_validator(mode="after")
    def _check_sections_agree(self) -> "IndexSpec":
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
    def _check_embedding_providers(self) -> "IndexSpec":
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
    def _check_names(self) -> "IndexSpec":
        if not NAME_PATTERN.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} is not an index name: a small letter, then small letters, "
                "digits and dashes, 63 at most"
            )
        for field in self.metadata:
            if field in RESERVED_FIELDS.union(
                *(PAYLOAD_FIELDS_BY_KIND[kind] for kind in self.kinds)
            ):
                raise ValueError(f"metadata.{field}: the name is used by the index already")
            if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", field):
                raise ValueError(
                    f"metadata.{field}: a small letter, then small letters, digits and underscores"
                )
        return self

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the settings that decide a build's content; equal ones can share a build."""
        build_settings = self.model_dump(mode="json", exclude=SEARCH_SETTINGS)
        build_settings["concepts"] = self.concepts is not None  # whoever finds them
        for field in build_settings["metadata"].values():
            field.pop("said_as")
            if self.questions is None:  # else it shapes what is asked about a chunk
                field.pop("description")
        return hashlib.sha256(json.dumps(build_settings, sort_keys=True).encode()).hexdigest()

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
        return tuple(kind for kind in COLLECTION_BY_KIND if is_on[kind])

    def embedding_spec_for(self, kind: str) -> EmbeddingSpec:
        """The embedding spec of a kind. Scores of different models are never compared."""
        if kind == "compound" and self.compounds is not None:
            return self.compounds.embedding
        if kind == "image" and self.images is not None:
            return self.images.embedding
        return self.embedding

    @property
    def embedding_specs(self) -> set[EmbeddingSpec]:
        """The embedding specs of all kinds in this recipe."""
        return {self.embedding_spec_for(kind) for kind in self.kinds}

    @property
    def has_generated_texts(self) -> bool:
        """Whether a build is complete only once summaries or questions have been written."""
        return self.page_summaries is not None or self.questions is not None

    def collection_alias(self, kind: str) -> str:
        """The public name of the collection that holds nodes of ``kind``."""
        collection_key: Any = COLLECTION_BY_KIND[kind]
        return (
            self.collections.get(collection_key)
            or f"{self.name}.{settings.STRATA_COLLECTION_NAMES[collection_key]}"
        )

    @property
    def filter_fields(self) -> dict[str, str]:
        """Field name -> type, for every field a filter may name."""
        return BUILT_IN_FIELDS | {name: field.type for name, field in self.metadata.items()}
