"""Split a source into chunks: sentences, packed as the strategy says, fitted to the window."""

from core.import_lock import import_lock
from indexing.chunking.context import CountTokens
from indexing.chunking.packing import pack_sentences
from indexing.chunking.sentences import Sentence, find_sentences
from indexing.chunking.topics import EmbedTexts, pack_by_topic
from indexing.chunking.window import Chunk, fit_to_window
from indexing.spec import (
    NodeParserStrategy,
    ParagraphStrategy,
    SemanticStrategy,
    SentenceStrategy,
    Strategy,
)


def split_into_chunks(
    text: str,
    strategy: Strategy,
    *,
    context: str,
    window: int,
    count_tokens: CountTokens,
    embed: EmbedTexts | None = None,
) -> list[Chunk]:
    """Split a source into chunks, none of which exceeds ``window`` tokens with its context.

    Together the chunks hold every character that is not white space, in order and, unless a node
    parser lets its nodes overlap, once each; they begin and end at such characters. They depend on
    the arguments alone.

    Args:
        context: what is embedded in front of every chunk. Too long, it counts as
            ``fit_context`` shortens it: embed with that.
        count_tokens: tokens of each text as the model would see it, special tokens and document
            prefix included, not truncated. Called once where all chunks fit, and twice more for
            each round of splitting.
        embed: one vector for each text; only the semantic strategy asks, once, and node parsers
            that compare parts of the text.

    Raises:
        ValueError: the strategy asks for ``embed`` and there is none.
        UnchunkableText: a single character exceeds the window, or a node parser cannot split the
            text.
        InvalidSpec: a node parser is not installed, or refuses its options.
    """
    sentences = find_sentences(text)
    if not sentences:
        return []
    match strategy:
        case SentenceStrategy():
            pieces = pack_sentences(text, sentences, strategy.max_chars)
        case SemanticStrategy():
            if embed is None:
                raise ValueError("the semantic strategy needs embed")
            pieces = pack_by_topic(text, sentences, strategy, embed)
        case ParagraphStrategy():
            pieces = [sentences]
        case NodeParserStrategy():
            with import_lock:  # LlamaIndex comes with it: not when Django starts
                from indexing.chunking.node_parsers import split_by_node_parser
            pieces = [
                [
                    Sentence(start + part.start, start + part.end, part.is_paragraph_start)
                    for part in find_sentences(text[start:end])
                ]
                for start, end in split_by_node_parser(text, strategy, embed)
            ]
    return fit_to_window(text, pieces, context.strip(), window, count_tokens)
