"""The sections of a spec and their allowed values."""

import os
import re
from collections.abc import Mapping
from string import Formatter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_serializer,
    model_validator,
)

from indexing.exceptions import ModelUnavailable
from indexing.providers import PROVIDERS
from indexing.spec.optional_apps import APP_BY_PROVIDER, require_app

if TYPE_CHECKING:
    from indexing.spec.index import IndexSpec

STORED = "stored"  # the validation context of specs from the database


def check_address(address: str) -> str:
    """Check the address of an endpoint. Raises ``ValueError``: it is no address that a client of
    HTTP can be given."""
    try:
        url = urlsplit(address)
        is_valid = url.scheme in {"http", "https"} and url.hostname and "@" not in url.netloc
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError("give an http or https address, without a user name or password")
    return address


def read_api_key(variable: str, setting: str) -> str:
    """The key in an environment variable that ``setting`` names; empty if it names none. Raises
    ``ModelUnavailable``: the variable is not set."""
    key = os.environ.get(variable, "").strip() if variable else ""
    if variable and not key:
        raise ModelUnavailable(
            f"The environment variable {variable}, which {setting} names, is not set.",
            field=setting,
            fix=f"Set {variable} for every process of the service, and restart it.",
        )
    return key


def check_model_name(name: str) -> str:
    """Check the name of a model. Raises ``ValueError``: some libraries would take the name for the
    path of a folder."""
    if not re.fullmatch(r"[\w@][\w@.:+-]*(/[\w@][\w@.:+-]*)*", name) or len(name) > 200:
        raise ValueError(
            "give a model's name, such as BAAI/bge-small-en-v1.5: letters, digits and @ . : + - _, "
            "at most 200 characters, and no path of a folder"
        )
    return name


class EndpointSpec(BaseModel):
    """Where and how ``provider: openai`` asks for vectors; left out, the endpoint of the settings.

    The parameters are sent in the body of every request, or only in those for stored texts or for
    queries; null leaves one out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str
    api_key_variable: str = Field("", pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")  # empty: no key
    tokenizer: str = "cl100k"  # or "characters", or the path of a tokenizer.json
    batch_texts: int = Field(128, ge=1, le=2_048)
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    document_parameters: dict[str, JsonValue] = Field(default_factory=dict)
    query_parameters: dict[str, JsonValue] = Field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.model_dump_json())

    @field_validator("base_url")
    @classmethod
    def _check_base_url(cls, base_url: str) -> str:
        return check_address(base_url)

    @field_validator("tokenizer")
    @classmethod
    def _check_tokenizer(cls, tokenizer: str) -> str:
        if tokenizer not in {"cl100k", "characters"} and not tokenizer.endswith(".json"):
            raise ValueError("allowed here: cl100k, characters, or the path of a tokenizer.json")
        return tokenizer

    @field_validator("parameters", "document_parameters", "query_parameters")
    @classmethod
    def _check_parameters(cls, parameters: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if taken := {"model", "input"} & parameters.keys():
            raise ValueError(f"{min(taken)!r} is set by the service")
        if parameters.get("encoding_format") not in {None, "float", "base64"}:
            raise ValueError("encoding_format: allowed here: float, base64, null")
        return parameters

    @property
    def vector_settings(self) -> list[dict[str, JsonValue]]:
        """What changes the vectors: neither the address nor how texts are counted and batched."""
        return [self.parameters, self.document_parameters, self.query_parameters]


NAME_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,62}")
PROMPT_PATTERN = r"^[a-z][a-z0-9_]*$"

# Languages with stop words, a stemmer or both. Languages such as Chinese and Thai need neither and
# can be indexed with any of these.
LANGUAGES = frozenset(
    """
    arabic azerbaijani basque bengali catalan chinese danish dutch english finnish french german
    greek hebrew hinglish hungarian indonesian italian japanese kazakh nepali norwegian portuguese
    romanian russian slovene spanish swedish tajik turkish
    """.split()  # noqa: SIM905
)


class FrozenModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


# With the build, whose content the settings decide; with the index, because they can change while
# the build stays; or with the index, while the build stores whether it has the section.
StoredIn = Literal["build", "index", "both"]


class AppSection(FrozenModel):
    """A section that an app adds to specs; ``spec_sections`` of its ``apps.py`` names the class."""

    stored_in: ClassVar[StoredIn] = "build"
    # Thresholds of similarity that were measured for the default embedding model.
    measured_thresholds: ClassVar[Mapping[str, float]] = {}
    # Whether it says what of the machine or its network is read, as only its operator may.
    only_in_file: ClassVar[bool] = False

    @classmethod
    def of(cls, spec: "IndexSpec") -> Self | None:
        """The section of this class in a spec, if it has one."""
        return next((each for each in spec.app_sections if isinstance(each, cls)), None)

    def find_problem(self, spec: "IndexSpec") -> str:
        """Say how the section disagrees with others; empty if it does not."""
        return ""

    @property
    def thresholds(self) -> Mapping[str, float]:
        """The thresholds that the index has, named as the measured ones."""
        return self.measured_thresholds

    @property
    def lack_without_model(self) -> str:
        """Of a section for which a language model is asked about the documents of the live build:
        what the index lacks if none is set."""
        return ""


class EmbeddingSpec(FrozenModel):
    """One embedding model. That of the index embeds every kind of node that is text."""

    provider: str = "fastembed"
    model: str = "all-MiniLM-L6-v2"
    dimension: int = Field(384, ge=1, le=65_536)
    window: int = Field(256, ge=16, le=131_072)  # tokens, special tokens included
    precision: Literal["float32", "int8"] = "float32"
    document_prefix: str = ""
    query_prefix: str = ""
    endpoint: EndpointSpec | None = None

    @field_validator("provider")
    @classmethod
    def _check_provider(cls, provider: str) -> str:
        require_app(APP_BY_PROVIDER.get(provider))
        if provider not in PROVIDERS:
            of_texts = [name for name, each in PROVIDERS.items() if not each.embeds]
            raise ValueError(
                f"there is no provider {provider[:100]!r}; allowed here: {', '.join(of_texts)}"
            )
        return provider

    @field_validator("model")
    @classmethod
    def _check_model(cls, model: str, info: ValidationInfo) -> str:
        # Of an earlier release, it may be another; ``load_huggingface`` checks it again.
        return model if info.context == STORED else check_model_name(model)

    @model_validator(mode="after")
    def _check_endpoint(self) -> "EmbeddingSpec":
        if self.endpoint is not None and self.provider != "openai":
            raise ValueError("endpoint is allowed for provider: openai only")
        return self

    def has_vectors_of(self, other: "EmbeddingSpec") -> bool:
        """Whether both embed a text as the same vector: the address of an endpoint may differ."""
        if self.endpoint is None or other.endpoint is None:
            return self == other
        without = {"endpoint": None}
        is_same_model = self.model_copy(update=without) == other.model_copy(update=without)
        return is_same_model and self.endpoint.vector_settings == other.endpoint.vector_settings


# fastembed's learned sparse models. Of some, the store multiplies weights by inverse document
# frequencies, as those of BM25.
SPARSE_MODELS = (
    "prithivida/Splade_PP_en_v1", "Qdrant/bm42-all-minilm-l6-v2-attentions", "Qdrant/minicoil-v1",
    "opensearch-project/opensearch-neural-sparse-encoding-doc-v3-gte",
)  # fmt: skip
SPARSE_MODELS_WITH_IDF = SPARSE_MODELS[1:3]
BM25_SETTINGS = ("k", "b", "average_length")


class SparseSpec(FrozenModel):
    """How text becomes the terms of a sparse vector, for documents and queries alike: by BM25, or
    by a learned model. Words are compared by ``tokenizer`` and ``language`` with both."""

    model: str | None = None
    tokenizer: Literal["multilingual", "word", "whitespace", "prefix"] = "multilingual"
    language: str = "english"  # stop words and stemmer; "none" for neither
    k: float = Field(1.2, gt=0, le=10)
    b: float = Field(0.5, ge=0, le=1)
    average_length: float = Field(128, gt=0)  # assumed average number of words of a text
    # 1: characters as they are written; 2: as ``text.plain_spelling`` writes them; 3: also numbers
    # as ``text.number_spelling`` does, and with the other spellings that ``text.spellings`` finds.
    word_rules: Literal[1, 2, 3] = 3

    @model_serializer(mode="wrap")
    def _leave_out_what_was_not_known(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Builds of earlier releases keep their vectors: hashes of them have no such settings."""
        content: dict[str, Any] = dump(self)
        if content.get("model") is None:
            content.pop("model", None)
        return content

    def describe_terms(self) -> dict[str, Any]:
        """What decides the terms of a text. The first rules are not named: hashes of points that
        were written before there were others do not have them."""
        return self.model_dump(exclude={"word_rules"} if self.word_rules == 1 else None)

    @field_validator("model")
    @classmethod
    def _check_model(cls, model: str | None) -> str | None:
        if model is not None and model not in SPARSE_MODELS:
            raise ValueError(
                f"fastembed has no learned sparse model {model[:200]!r}; "
                f"allowed here: {', '.join(SPARSE_MODELS)}"
            )
        return model

    @model_validator(mode="after")
    def _check_bm25_settings(self, info: ValidationInfo) -> "SparseSpec":
        given = [name for name in BM25_SETTINGS if name in self.model_fields_set]
        if self.model is not None and given and info.context != STORED:
            raise ValueError(f"{given[0]} is a setting of BM25, which model replaces: leave it out")
        return self

    @property
    def has_idf(self) -> bool:
        """Whether the store multiplies the weights by inverse document frequencies."""
        return self.model is None or self.model in SPARSE_MODELS_WITH_IDF

    @field_validator("language")
    @classmethod
    def _check_language(cls, language: str) -> str:
        if language not in LANGUAGES | {"none"}:
            raise ValueError(f"{language!r} is not one of: {', '.join(sorted(LANGUAGES))}, none")
        return language


class ChunkingStrategy(FrozenModel):
    name: str

    @property
    def key(self) -> str:
        """Stored as the ``strategy`` of its chunks: unique in a spec, at most 64 characters."""
        return self.name


class SentenceStrategy(ChunkingStrategy):
    """Whole sentences, packed up to ``max_chars``."""

    name: Literal["sentence"] = "sentence"
    max_chars: int = Field(500, ge=50, le=10_000)


class ParagraphStrategy(ChunkingStrategy):
    """The whole source as one chunk if it fits the model's window."""

    name: Literal["paragraph"] = "paragraph"


class SemanticStrategy(ChunkingStrategy):
    """Sentences packed up to ``max_chars`` and cut where the topic changes."""

    name: Literal["semantic"] = "semantic"
    max_chars: int = Field(1_000, ge=50, le=10_000)
    breakpoint_percentile: int = Field(90, ge=1, le=99)  # of the distances between neighbours


class LlmStrategy(ChunkingStrategy):
    """Sentences packed up to ``max_chars`` and cut where a language model finds a new topic.
    ``prompt`` names a file in ``templates/prompts/``; an empty ``model`` means
    ``STRATA_LLM_MODEL``."""

    name: Literal["llm"] = "llm"
    max_chars: int = Field(1_000, ge=50, le=10_000)
    prompt: str = Field("segmentation", pattern=PROMPT_PATTERN)
    model: str = ""


class NoOptions(FrozenModel):
    pass


class SemanticParserOptions(FrozenModel):
    buffer_size: int = Field(1, ge=1, le=10)  # neighbours on each side embedded with a sentence
    breakpoint_percentile_threshold: int = Field(95, ge=1, le=99)


class CodeParserOptions(FrozenModel):
    language: str  # a name that tree-sitter-language-pack knows
    max_chars: int = Field(1_500, ge=50, le=10_000)


class HtmlParserOptions(FrozenModel):
    tags: tuple[Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*$")], ...] = Field(
        ("p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "b", "i", "u", "section"), min_length=1
    )


# The options of LlamaIndex's parsers that decide where they cut. Options for metadata, such as a
# sentence's window, are left out, because chunks have no such metadata.
OPTIONS_BY_PARSER: dict[str, type[FrozenModel]] = {
    "markdown": NoOptions,
    "sentence_window": NoOptions,
    "semantic": SemanticParserOptions,
    "code": CodeParserOptions,
    "html": HtmlParserOptions,
    "json": NoOptions,
}


class NodeParserStrategy(ChunkingStrategy):
    """Cut by a node parser of LlamaIndex's, or by one that an installed distribution adds.

    Added parsers and their options are not checked here: a build's recipe must stay readable if the
    distribution is missing.
    """

    name: Literal["node_parser"] = "node_parser"
    parser: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,49}$")
    options: dict[str, JsonValue] = Field(default_factory=dict, validate_default=True)

    @field_validator("options")
    @classmethod
    def _check_options(
        cls, options: dict[str, JsonValue], info: ValidationInfo
    ) -> dict[str, JsonValue]:
        model = OPTIONS_BY_PARSER.get(info.data.get("parser", ""))
        if model is None:
            return options
        try:
            return model.model_validate(options).model_dump(mode="json")
        except ValidationError as error:
            first = error.errors()[0]
            is_unknown = first["type"] == "extra_forbidden"
            message = "there is no such option" if is_unknown else first["msg"]
            allowed = ", ".join(model.model_fields) or "none"
            raise ValueError(
                f"{first['loc'][0]}: {message}; options of {info.data['parser']}: {allowed}"
            ) from None

    @property
    def key(self) -> str:
        return f"{self.name}:{self.parser}"


Strategy = Annotated[
    SentenceStrategy | ParagraphStrategy | SemanticStrategy | LlmStrategy | NodeParserStrategy,
    Field(discriminator="name"),
]


class ChunkSpec(FrozenModel):
    """``embed: false`` cuts chunks only as input of other kinds and stores no points of them."""

    strategies: tuple[Strategy, ...] = (SentenceStrategy(),)
    context: tuple[Literal["title", "heading", "table", "summary"], ...] = (
        "title", "heading", "table",
    )  # fmt: skip
    # Of each part of the context in the vector of a chunk of a long document. None, and in short
    # documents: the context is embedded as the beginning of the text.
    context_weight: float | None = Field(0.4, gt=0, le=1)
    embed: bool = True

    @model_validator(mode="after")
    def _check_strategies(self) -> "ChunkSpec":
        keys = [strategy.key for strategy in self.strategies]
        if not keys:
            raise ValueError("name at least one chunking strategy")
        if len(set(keys)) != len(keys):
            raise ValueError("each chunking strategy and node parser may be listed only once")
        return self

    @property
    def llm(self) -> LlmStrategy | None:
        """The strategy by which a language model cuts, if it is one of them."""
        return next((each for each in self.strategies if isinstance(each, LlmStrategy)), None)


class PageSummarySpec(FrozenModel):
    """A summary of each page. ``prompt`` names a file in ``templates/prompts/``; an empty ``model``
    means ``STRATA_LLM_MODEL``."""

    prompt: str = Field("page_summary", pattern=PROMPT_PATTERN)
    model: str = ""
    sentences: int = Field(4, ge=2, le=10)  # at most


class ArtifactSummarySpec(PageSummarySpec):
    """A summary of each artifact, made from the summaries of its pages."""

    prompt: str = Field("artifact_summary", pattern=PROMPT_PATTERN)


class QuestionSpec(FrozenModel):
    """Hypothetical questions that a chunk answers, with its one-line summary and the values of
    declared fields that it mentions."""

    prompt: str = Field("questions", pattern=PROMPT_PATTERN)
    model: str = ""
    count: int = Field(8, ge=1, le=20)  # per chunk, at most
    min_count: int | None = Field(None, ge=1, le=20)  # with fewer, the model is asked once more

    @model_validator(mode="before")
    @classmethod
    def _read_range(cls, content: Any) -> Any:
        """Read ``count: {min: 8, max: 10}``."""
        if not isinstance(content, Mapping) or not isinstance(content.get("count"), Mapping):
            return content
        given = dict(content["count"])
        read = {**content, "count": given.pop("max", 8), "min_count": given.pop("min", None)}
        if given:
            raise ValueError(f"count: there is no setting {min(given)!r}; allowed here: min, max")
        return read

    @model_validator(mode="after")
    def _check_min_count(self) -> "QuestionSpec":
        if self.min_count is not None and self.min_count > self.count:
            raise ValueError("count: min must not exceed max")
        return self


class ParameterSpec(FrozenModel):
    """A parameter of a tool. One that names a ``field`` takes its values and filters the search."""

    field: str | None = None
    description: str = ""


class ToolSpec(FrozenModel):
    """A named search for agents. ``query`` contains its parameters as ``{name}``."""

    description: str
    parameters: dict[str, ParameterSpec]
    query: str
    search: Literal["questions", "pages"] | None = None  # default: questions, else pages

    @model_validator(mode="after")
    def _check_query_parameters(self, info: ValidationInfo) -> "ToolSpec":
        try:
            parts = list(Formatter().parse(self.query))
            is_sound = all(
                name is None or (name in self.parameters and not format_spec and not conversion)
                for _, name, format_spec, conversion in parts
            )
        except ValueError:
            is_sound = False
        if not is_sound and info.context != STORED:  # an earlier release took formats, too
            known = ", ".join(f"{{{name}}}" for name in self.parameters)
            raise ValueError(f"query may name only the tool's parameters: {known}")
        return self

    def fill_query(self, text_by_parameter: Mapping[str, str]) -> str:
        """The query with the parameters' texts, which are not formatted and not read again."""
        return "".join(
            literal + text_by_parameter.get(name or "", "")
            for literal, name, _, _ in Formatter().parse(self.query)
        )


SynonymName = Annotated[str, Field(max_length=100, pattern=r"\w")]
SynonymGroup = Annotated[tuple[SynonymName, ...], Field(min_length=2, max_length=20)]


class SearchSpec(FrozenModel):
    """Defaults of a search; changing them needs no new build."""

    fusion: Literal["ranks", "scores"] = "ranks"
    dense_weight: float = Field(1.0, ge=0, le=100)
    sparse_weight: float = Field(1.0, ge=0, le=100)
    rrf_k: int = Field(60, ge=1, le=10_000)
    prefetch: int = Field(100, ge=1, le=1_000)
    pipeline: str = Field("plain", pattern=rf"^{NAME_PATTERN.pattern}$")  # query pipeline
    # Groups of names for the same thing. A query that has one of a group is searched with all.
    synonyms: tuple[SynonymGroup, ...] = Field((), max_length=1_000)
    # A declared field with one value that orders the versions of a document; empty: when a document
    # was added or changed.
    versions_by: str = ""


class HnswSpec(FrozenModel):
    """The graph of a collection, by Qdrant's names. A search examines ``ef`` candidates."""

    m: int = Field(16, ge=4, le=256)
    ef_construct: int = Field(100, ge=4, le=10_000)
    ef: int = Field(128, ge=1, le=10_000)


Datatype = Literal["float32", "float16"]


class StoreSpec(FrozenModel):
    """How the collections of an index are kept: ``vectors`` by any store, the others by a Qdrant
    server. Changing it embeds nothing, except from float16 to float32; a build's collections are
    made with ``vectors``, ``shards`` and ``replicas`` and keep them."""

    vectors: Datatype = "float32"  # of each number
    shards: int | None = Field(None, ge=1, le=1_000)  # null: as the server chooses
    replicas: int | None = Field(None, ge=1, le=100)  # null: 2 in a cluster, otherwise 1
    write_consistency: int = Field(1, ge=1, le=100)  # replicas that must confirm a write
    vectors_on_disk: bool = False
    payload_on_disk: bool = True
    quantization: Literal["int8"] | None = None
    hnsw: HnswSpec = HnswSpec()

    @model_validator(mode="after")
    def _check_write_consistency(self) -> "StoreSpec":
        if self.write_consistency > (2 if self.replicas is None else self.replicas):
            raise ValueError("write_consistency: it must not exceed replicas")
        return self
