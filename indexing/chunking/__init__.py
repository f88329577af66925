"""How a source is cut into chunks: into sentences, packed to a size, fitted to the model's window.

Pure functions over text. Tokens are counted and sentences embedded by functions the caller hands
in; no model, store or table is known here. Offsets are code points and are carried along while
cutting, never searched for afterwards: in repeated text a search finds the wrong place.

    cutting.cut_chunks -> sentences -> packing or topics -> window -> Chunk
                                          (splitting)    (splitting, context)
"""

from indexing.chunking.context import CountTokens, embedded_text, fit_context
from indexing.chunking.cutting import cut_chunks
from indexing.chunking.topics import Embed
from indexing.chunking.window import Chunk

__all__ = ["Chunk", "CountTokens", "Embed", "cut_chunks", "embedded_text", "fit_context"]
