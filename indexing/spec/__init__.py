"""The index spec: one YAML file of ``specs/``, validated and immutable.

A spec depends on neither models nor stores. Its recipe decides the content of a build (vectors,
nodes, payloads) and is stored with the build. Its search settings (titles, tools, weights) can
change at no cost; they are stored with the index and apply to searches of all its builds. So are
its store settings: how a Qdrant server keeps the collections.
"""

from indexing.spec.fields import FieldSpec, ValueSpec
from indexing.spec.identifiers import IdentifierSpec
from indexing.spec.index import PLACEMENT, UNPLACED, IndexSpec
from indexing.spec.reading import parse_spec
from indexing.spec.sections import (
    LANGUAGES,
    NAME_PATTERN,
    OPTIONS_BY_PARSER,
    Datatype,
    EmbeddingSpec,
    EndpointSpec,
    LlmStrategy,
    NodeParserStrategy,
    ParagraphStrategy,
    QuestionSpec,
    SearchSpec,
    SemanticStrategy,
    SentenceStrategy,
    SparseSpec,
    StoreSpec,
    Strategy,
    ToolSpec,
)
from indexing.spec.stored import (
    dump_recipe,
    dump_search_settings,
    dump_store_settings,
    read_stored_spec,
)
