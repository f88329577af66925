"""The Qdrant engine inside this process: nothing to install, one owner at a time.

On disk, a folder per collection::

    .lock                       held by the owning process
    aliases.json                alias -> collection
    .dropped-…                  left by a kill; removed by the next owner
    library.page_embeddings.1/
        collection.json         the schema, as far as it is known to hold; written last, so that a
                                folder without it is an incomplete collection, which is replaced
        shard/                  the engine's own files
"""

from indexing.stores.embedded.store import EmbeddedStore
