"""Split a source into chunks: find sentences, pack them to a size, fit them to the model's window.

Pure functions over text. The caller passes the functions that count tokens and embed sentences;
no model, store or table is known here. Offsets are code points and are carried along while
cutting: in repeated text a search finds the wrong place. What a LlamaIndex node parser gives has
none that are right, so ``offsets`` finds them by the order of the pieces.

    split_into_chunks -> sentences -> packing, topics or node_parsers -> window -> Chunk
                                      (splitting)        (offsets)     (splitting, context)
"""

from indexing.chunking.chunker import split_into_chunks
from indexing.chunking.context import CountTokens, fit_context, prepend_context
from indexing.chunking.topics import EmbedTexts
from indexing.chunking.window import Chunk

__all__ = [
    "Chunk",
    "CountTokens",
    "EmbedTexts",
    "fit_context",
    "prepend_context",
    "split_into_chunks",
]
