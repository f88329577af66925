"""The Qdrant engine inside this process: nothing to install, one owner at a time.

On disk, a folder per collection::

    .lock                       held by the owning process
    aliases.json                alias -> collection
    .new-…, .dropped-…, .view-… left by a killed process; removed by the next owner
    library.page_embeddings.1/
        collection.json         the schema, with the payload indexes that exist
        closed                  number of points; exists while the engine's log is empty
        shard/                  the engine's own files
"""

from indexing.stores.embedded.store import EmbeddedStore, disable_double_mmap

__all__ = ["EmbeddedStore", "disable_double_mmap"]
