"""A file on its way into an index, stage by stage, each a file in a folder that people can read
and edit: ``parsed.md``, ``chunks.json``, and ``manifest.json`` about both.

    Inspection.parse -> parsed.md -> .cut or .write -> chunks.json -> .embed -> the index
         (pages)                         (chunks, located)              (taking)

Nothing is in the index before ``embed``; what stands in the files then is what it is given.
"""

from summaries.processing.chunks import CHUNKS, WrittenChunk, format_chunks, read_chunks
from summaries.processing.folder import MANIFEST, Manifest
from summaries.processing.pages import PARSED, format_pages, read_pages
from summaries.processing.stages import Inspection

__all__ = [
    "CHUNKS",
    "MANIFEST",
    "PARSED",
    "Inspection",
    "Manifest",
    "WrittenChunk",
    "format_chunks",
    "format_pages",
    "read_chunks",
    "read_pages",
]
