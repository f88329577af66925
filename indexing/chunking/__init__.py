"""Split a source into chunks: find sentences, pack them to a size, fit them to the model's window.

Pure functions over text, without models, stores or tables: the caller passes functions that count
tokens and embed sentences. Offsets are code points. They are tracked while cutting, because a
search would find the wrong place in repeated text. LlamaIndex's node parsers give wrong offsets, so
``offsets`` finds them by the order of the pieces.

    split_into_chunks -> sentences -> packing, topics or node_parsers -> window -> Chunk
                                      (splitting)        (offsets)     (splitting, context)
"""

from indexing.chunking.chunker import split_into_chunks
from indexing.chunking.packing import EmbedTexts
from indexing.chunking.tables import Table, find_continued_header, find_tables
from indexing.chunking.window import Chunk, CountTokens, fit_context, prepend_context
