"""The index spec: one YAML file of ``specs/``, validated and immutable.

A spec knows neither models nor stores. Its fingerprint covers what shapes a build (vectors,
nodes, payloads) and leaves out what can change at no cost (titles, search settings).
"""

from indexing.spec.index import IndexSpec
from indexing.spec.kinds import COLLECTION_BY_KIND, DENSE_ONLY_KINDS
from indexing.spec.reading import parse_spec, read_specs
from indexing.spec.sections import (
    LANGUAGES,
    MORGAN_PREFIX,
    NAME_PATTERN,
    CompoundSpec,
    EmbeddingSpec,
    FieldSpec,
    IdentifierSpec,
    ImageSpec,
    ParagraphStrategy,
    SearchSpec,
    SemanticStrategy,
    SentenceStrategy,
    SparseSpec,
    Strategy,
    ToolSpec,
    ValueSpec,
)

__all__ = [
    "COLLECTION_BY_KIND",
    "DENSE_ONLY_KINDS",
    "LANGUAGES",
    "MORGAN_PREFIX",
    "NAME_PATTERN",
    "CompoundSpec",
    "EmbeddingSpec",
    "FieldSpec",
    "IdentifierSpec",
    "ImageSpec",
    "IndexSpec",
    "ParagraphStrategy",
    "SearchSpec",
    "SemanticStrategy",
    "SentenceStrategy",
    "SparseSpec",
    "Strategy",
    "ToolSpec",
    "ValueSpec",
    "parse_spec",
    "read_specs",
]
