"""Fill an index fast: documents, ledger and points by the service's code, with random vectors.

``python -m benchmarks.filling NODES`` fills the index ``plain`` of ``STRATA_DATA_DIR`` in its own
process, so that its memory is not counted for the measured process. ``--open`` in place of the
number only opens the index.
"""

import os
import random
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from indexing.spec import EmbeddingSpec

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")

CHUNKS_PER_ARTIFACT = 100
SENTENCE_WORDS = 12  # six or seven sentences make a chunk of 500 characters
SENTENCES_PER_CHUNK = 6
VOCABULARY = 20_000  # words


class RandomEmbedder:
    """Returns random unit vectors, for benchmarks that do not depend on what vectors mean."""

    def __init__(self, spec: "EmbeddingSpec") -> None:
        self.spec = spec
        self._random = np.random.default_rng(20)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = self._random.standard_normal((len(texts), self.spec.dimension), dtype=np.float32)
        lengths: NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / lengths

    embed_queries = embed_documents

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self.embed_documents([text])[0]
        return vector

    def count_tokens(self, texts: Sequence[str], *, as_queries: bool = False) -> list[int]:
        return [len(text.split()) * 4 // 3 + 2 for text in texts]


def fill_index(
    node_count: int, index: str = "plain", *, groups: Sequence[str] | None = None
) -> int:
    """Add documents of these groups until the index holds ``node_count`` nodes or more; return how
    many."""
    from documents.services import TextContent, add_artifact
    from indexing import embedding
    from indexing.models import IndexBuild, Node
    from indexing.services import load_specs, plan_nodes, sync_nodes

    load_specs()
    build = IndexBuild.objects.live().get(index=index)
    embedder: Any = RandomEmbedder(build.spec.embedding)
    embedding.get_embedder = lambda spec: embedder
    words = random.Random(7)
    count = number = 0
    while count < node_count:
        number += 1
        content = TextContent((generate_text(words),))
        artifact, _ = add_artifact(index, content, title=f"Document {number}", groups=groups)
        plan_nodes(artifact.pk, build)
        count += Node.objects.filter(build=build, artifact=artifact).count()
        while sync_nodes(build):
            pass
    return count


def generate_text(random_source: random.Random, chunk_count: int = CHUNKS_PER_ARTIFACT) -> str:
    """Generate about ``chunk_count`` chunks of meaningless words."""
    sentences = [
        " ".join(
            f"w{random_source.randrange(VOCABULARY)}" for _ in range(SENTENCE_WORDS)
        ).capitalize()
        for _ in range(chunk_count * SENTENCES_PER_CHUNK)
    ]
    return ". ".join(sentences) + "."


def _open_collections() -> None:
    """Open every collection without reading a point, to measure the cost of opening."""
    from indexing.models import IndexBuild
    from indexing.stores import get_store

    for collection in IndexBuild.objects.live().get(index="plain").collections():
        get_store().count(collection)


def main() -> None:
    import django

    django.setup()
    from django.core.management import call_command

    from indexing.stores import close_store

    if sys.argv[1] == "--open":
        _open_collections()
    else:
        call_command("migrate", verbosity=0)
        print(fill_index(int(sys.argv[1])))
    close_store()


if __name__ == "__main__":
    main()
