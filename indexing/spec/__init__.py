"""The index spec: what one YAML file in ``specs/`` says, checked and frozen.

A spec knows neither models nor stores. Its fingerprint covers what shapes a build (vectors,
nodes, payloads) and leaves out what can change at no cost (titles, search settings).
"""

from indexing.spec.index import IndexSpec
from indexing.spec.kinds import COLLECTIONS, DENSE_KINDS
from indexing.spec.reading import parse_spec, read_specs
from indexing.spec.sections import (
    LANGUAGES,
    MORGAN,
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
    "COLLECTIONS",
    "DENSE_KINDS",
    "LANGUAGES",
    "MORGAN",
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
