"""Cut a text as a LlamaIndex node parser does. Imports LlamaIndex, so import this module only where
it is used.

Only the texts of the parser's nodes and their order are used. Its offsets are ignored: LlamaIndex
searches for them, and finds an earlier place if the text repeats.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.node_parser import (
    CodeSplitter,
    HTMLNodeParser,
    JSONNodeParser,
    MarkdownNodeParser,
    NodeParser,
    SemanticSplitterNodeParser,
    SentenceWindowNodeParser,
)
from llama_index.core.schema import Document, MetadataMode

from indexing.chunking.offsets import Span, cover, locate, locate_json_elements
from indexing.chunking.packing import EmbedTexts
from indexing.exceptions import InvalidSpec, UnchunkableText
from indexing.spec import NodeParserStrategy
from indexing.spec.node_parsers import find_added_parser
from text.sentences import find_sentences

_PARSERS: dict[str, type[NodeParser]] = {
    "markdown": MarkdownNodeParser,
    "sentence_window": SentenceWindowNodeParser,
    "semantic": SemanticSplitterNodeParser,
    "code": CodeSplitter,
    "html": HTMLNodeParser,
    "json": JSONNodeParser,
}
# Parsers that rewrite the text. A piece that cannot be located becomes part of a neighbour.
_LOCATORS: dict[str, Callable[[str, Sequence[str]], list[Span | None]]] = {
    "html": partial(locate, is_markup=True),
    "json": locate_json_elements,
}
# Options that a spec cannot set: functions, and options that do not change a node's text.
_NOT_OPTIONS = frozenset({
    "callback_manager", "chunking_tokenizer_fn", "embed_model", "id_func", "include_metadata",
    "include_prev_next_rel", "sentence_splitter", "tokenizer",
})  # fmt: skip


def split_by_node_parser(
    text: str, strategy: NodeParserStrategy, embed: EmbedTexts | None
) -> list[Span]:
    """The spans of the parser's nodes, which together cover all of the text except white space.

    Raises:
        UnchunkableText: the parser cannot read the text, or returns text that is not part of it.
        InvalidSpec: the parser is not installed, or refuses its options.
    """
    parser = make_node_parser(strategy, embed)
    try:
        nodes = parser.get_nodes_from_documents([Document(text=text)])
    except (ValueError, RecursionError) as error:
        raise UnchunkableText(
            f"The node parser {strategy.parser!r} cannot read the text: {error}"
        ) from error
    pieces = [node.get_content(MetadataMode.NONE) for node in nodes]
    spans = _LOCATORS.get(strategy.parser, locate)(text, pieces)
    for piece, span in zip(pieces, spans, strict=True):
        if span is None and piece.strip() and strategy.parser not in _LOCATORS:
            raise UnchunkableText(
                f"The node parser {strategy.parser!r} returned a node that is not in the text "
                f"after the node before it: {piece[:80]!r}. Chunks are passages of their document, "
                "in its order."
            )
    return cover(text, [span for span in spans if span is not None])


def make_node_parser(strategy: NodeParserStrategy, embed: EmbedTexts | None) -> NodeParser:
    """Make the parser with its options. Raises ``InvalidSpec`` as ``split_by_node_parser`` does."""
    parser_class = _PARSERS.get(strategy.parser) or _load_added_parser(strategy.parser)
    parameters = inspect.signature(parser_class).parameters
    options: dict[str, Any] = dict(strategy.options)
    if unknown := sorted(options.keys() - (parameters.keys() - _NOT_OPTIONS)):
        raise InvalidSpec(
            f"The node parser {strategy.parser!r} has no option {unknown[0]!r}; allowed: "
            f"{', '.join(sorted(parameters.keys() - _NOT_OPTIONS)) or 'none'}."
        )
    if "embed_model" in parameters:
        if embed is None:
            raise ValueError(f"the node parser {strategy.parser!r} needs embed")
        options["embed_model"] = _EmbedModel(embed)
    # LlamaIndex's own splitter needs NLTK's files, and NLTK refuses files that uv has linked.
    for name in parameters.keys() & {"sentence_splitter", "chunking_tokenizer_fn"}:
        options[name] = _split_into_sentences
    try:
        return parser_class(**options)
    except (ImportError, LookupError, TypeError, ValueError) as error:
        raise InvalidSpec(f"The node parser {strategy.parser!r} cannot be used: {error}") from error


@lru_cache  # searching all installed distributions takes about 20 ms
def _load_added_parser(name: str) -> type[NodeParser]:
    entry_point = find_added_parser(name)
    try:
        loaded = entry_point.load()
    except (ImportError, AttributeError) as error:
        raise InvalidSpec(
            f"The node parser {name!r}, {entry_point.value}, cannot be imported: {error}"
        ) from error
    if not (isinstance(loaded, type) and issubclass(loaded, NodeParser)):
        raise InvalidSpec(
            f"The node parser {name!r}, {entry_point.value}, is not a class derived from "
            "LlamaIndex's NodeParser."
        )
    return loaded


def _split_into_sentences(text: str) -> list[str]:
    """The sentences, each with the white space after it."""
    starts = [sentence.start for sentence in find_sentences(text)]
    return [text[start:end] for start, end in pairwise([*starts, len(text)])]


class _EmbedModel(BaseEmbedding):
    """The index's embedding model, for parsers that compare parts of the text."""

    _embed: EmbedTexts = PrivateAttr()

    def __init__(self, embed: EmbedTexts) -> None:
        super().__init__(embed_batch_size=2_048)  # ``embed`` makes batches of its own
        self._embed = embed

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._embed(texts).tolist()
        return vectors

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)
