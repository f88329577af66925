"""A provider of embedding models: all that code needs to know to load one and to describe it.

Each app lists its providers in ``embedding_providers`` of its ``apps.py``;
``indexing.providers.PROVIDERS`` has all of them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingProvider:
    """Functions are dotted paths in the app, imported on first use. They take an
    ``EmbeddingSpec``."""

    name: str
    load: str  # returns a ``LoadedModel``
    # As ``indexing.embedding.describe_model_availability``. Empty: known only after the first use.
    describe_availability: str = ""
    fetches_files: bool = False  # whether the first use of a model may have to download it
    # Of one that embeds no texts, and so cannot be that of an index: what it embeds, and the
    # section of a spec that asks for it.
    embeds: str = ""
    section: str = ""
