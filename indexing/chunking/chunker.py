"""Split a source into chunks: find sentences, pack them by the strategy, fit them to the window."""

from collections.abc import Sequence

from core.import_lock import import_lock
from indexing.chunking.packing import (
    EmbedTexts,
    pack_between_boundaries,
    pack_by_topic,
    pack_sentences,
)
from indexing.chunking.window import Chunk, CountTokens, fit_to_window
from indexing.spec import (
    LlmStrategy,
    NodeParserStrategy,
    ParagraphStrategy,
    SemanticStrategy,
    SentenceStrategy,
    Strategy,
)
from text.sentences import Sentence, find_sentences


def split_into_chunks(
    text: str,
    strategy: Strategy,
    *,
    context: str,
    window: int,
    count_tokens: CountTokens,
    embed: EmbedTexts | None = None,
    boundaries: Sequence[int] = (),
) -> list[Chunk]:
    """Split a source into chunks of at most ``window`` tokens, each including its context.

    Together the chunks hold every character that is not white space, in order, and once each unless
    a node parser's nodes overlap; no chunk begins or ends with white space. The result depends only
    on the arguments.

    Args:
        context: embedded in front of every chunk. One that is too long is shortened by
            ``fit_context``: embed with the shortened one.
        count_tokens: tokens of each text as the model would see it, special tokens and document
            prefix included, not truncated. Called once if all chunks fit, and twice more for each
            round of splitting.
        embed: gives one vector for each text; needed only by the semantic strategy, which calls it
            once, and by node parsers that compare parts of the text.
        boundaries: where the language model finds new topics, in code points; read only by its
            strategy, which cuts by sentences without them.

    Raises:
        ValueError: the strategy needs ``embed`` and it is None.
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
        case LlmStrategy() if boundaries:
            pieces = pack_between_boundaries(text, sentences, boundaries, strategy.max_chars)
        case LlmStrategy():
            pieces = pack_sentences(text, sentences, strategy.max_chars)
        case ParagraphStrategy():
            pieces = [sentences]
        case NodeParserStrategy():
            with import_lock:  # it imports LlamaIndex, which must not happen when Django starts
                from indexing.chunking.node_parsers import split_by_node_parser
            pieces = [
                [
                    Sentence(start + part.start, start + part.end, part.is_paragraph_start)
                    for part in find_sentences(text[start:end])
                ]
                for start, end in split_by_node_parser(text, strategy, embed)
            ]
    return fit_to_window(text, pieces, context.strip(), window, count_tokens)
