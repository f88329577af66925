import numpy as np
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

from indexing.embedding import get_embedder, minilm
from indexing.spec import EmbeddingSpec


def test_the_installed_model_makes_the_vectors_that_fastembed_makes():
    name = "tests/all-MiniLM-L6-v2"
    TextEmbedding.add_custom_model(
        model=name,
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf=name),
        dim=384,
        model_file=minilm.FILES["float32"],
    )
    other = TextEmbedding(name, specific_model_path=str(minilm.find_model()))
    texts = ["tendon load " * count for count in (40, 1, 7, 130)]

    vectors = get_embedder(EmbeddingSpec()).embed_documents(texts)

    expected = np.stack(list(other.embed(texts)))
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
