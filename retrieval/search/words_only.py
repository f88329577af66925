"""Search by words alone where the endpoint of an embedding model does not answer."""

import logging
from collections.abc import Callable, Collection
from typing import Final

from indexing import embedding
from indexing.embedding import Embedder
from indexing.embedding.vectors import Vectors
from indexing.exceptions import EmbeddingUnavailable, ModelUnavailable
from indexing.spec import EmbeddingSpec

logger = logging.getLogger(__name__)

NOTE_START: Final = "Found by words only: "


def embed_if_available(
    spec: EmbeddingSpec, embed: Callable[[Embedder], Vectors]
) -> tuple[Vectors | None, list[str]]:
    """What ``embed`` returns; if the model's endpoint fails, None and a note that says so.

    Raises:
        ModelLoading, ModelUnavailable: of a model on this machine.
    """
    try:
        return embed(embedding.get_embedder(spec)), []
    except (EmbeddingUnavailable, ModelUnavailable) as error:
        if spec.provider != "openai":
            raise
        logger.warning("A query is searched by words only: %s", error)
        return None, [f"{NOTE_START}the endpoint of the embedding model {spec.model} failed."]


def require_vectors(notes: Collection[str]) -> None:
    """For measurements, which words alone would falsify.

    Raises:
        EmbeddingUnavailable: the notes of a search say that it was by words only.
    """
    for note in notes:
        if note.startswith(NOTE_START):
            raise EmbeddingUnavailable(note)
