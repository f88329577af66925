"""The index spec: one YAML file of ``specs/``, validated and immutable.

A spec knows neither models nor stores. Its recipe is what shapes a build (vectors, nodes,
payloads); a build keeps it. Its search settings can change at no cost (titles, tools, weights); an
index keeps them, and every build of it is searched by them.
"""

from indexing.spec.index import IndexSpec
from indexing.spec.reading import parse_spec, read_specs
from indexing.spec.sections import (
    LANGUAGES,
    MORGAN_PREFIX,
    NAME_PATTERN,
    OPTIONS_BY_PARSER,
    CompoundSpec,
    EmbeddingSpec,
    FieldSpec,
    IdentifierSpec,
    ImageSpec,
    NodeParserStrategy,
    ParagraphStrategy,
    SearchSpec,
    SemanticStrategy,
    SentenceStrategy,
    SparseSpec,
    Strategy,
    ToolSpec,
    ValueSpec,
)
from indexing.spec.stored import dump_recipe, dump_search_settings, read_stored_spec

__all__ = [
    "LANGUAGES",
    "MORGAN_PREFIX",
    "NAME_PATTERN",
    "OPTIONS_BY_PARSER",
    "CompoundSpec",
    "EmbeddingSpec",
    "FieldSpec",
    "IdentifierSpec",
    "ImageSpec",
    "IndexSpec",
    "NodeParserStrategy",
    "ParagraphStrategy",
    "SearchSpec",
    "SemanticStrategy",
    "SentenceStrategy",
    "SparseSpec",
    "Strategy",
    "ToolSpec",
    "ValueSpec",
    "dump_recipe",
    "dump_search_settings",
    "parse_spec",
    "read_specs",
    "read_stored_spec",
]
