"""Models of fastembed's catalogue."""

from pathlib import Path
from typing import Any, Final

import numpy as np
from django.conf import settings
from fastembed import TextEmbedding
from numpy.typing import NDArray

from indexing.embedding import minilm
from indexing.embedding.onnx_model import OnnxModel, check_window
from indexing.exceptions import InvalidSpec, ModelUnavailable
from indexing.spec import EmbeddingSpec

SUGGESTED_MODELS: Final = ["BAAI/bge-small-en-v1.5", "nomic-ai/nomic-embed-text-v1.5"]


class FastembedModel(OnnxModel):
    def __init__(self, embedding: TextEmbedding, window: int) -> None:
        super().__init__(get_tokenizer(embedding), window)
        self._embedding = embedding

    def embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        return np.stack(list(self._embedding.embed(texts, batch_size=len(texts))))

    def embed_queries(self, texts: list[str]) -> NDArray[np.float32]:
        return np.stack(list(self._embedding.query_embed(texts, batch_size=len(texts))))


def load_fastembed(spec: EmbeddingSpec) -> FastembedModel:
    """Load a model by its catalogue name and fetch it on first use. Raises as ``load_onnx``."""
    names = {model["model"].lower() for model in TextEmbedding.list_supported_models()}
    if spec.model.lower() not in names:
        raise ModelUnavailable(
            f"fastembed has no model {spec.model!r}.",
            field="embedding.model",
            allowed=[minilm.NAME, *SUGGESTED_MODELS],
            fix="fastembed's documentation lists all its models.",
        )
    if spec.precision != "float32":
        raise InvalidSpec(
            f"{spec.model} has only one precision; leave out embedding.precision.",
            field="embedding.precision",
            allowed=["float32"],
        )
    cache = Path(settings.STRATA_MODELS_DIR) / "fastembed"
    try:
        embedding = TextEmbedding(
            model_name=spec.model, cache_dir=str(cache), threads=settings.STRATA_EMBEDDING_THREADS
        )
    except (OSError, ValueError) as error:  # fastembed raises these if it cannot reach the hub
        raise ModelUnavailable(
            f"{spec.model} could not be fetched: {error}",
            fix=f"Connect this machine to huggingface.co, or copy {cache} from a "
            "machine that has the model; it is retried automatically.",
        ) from error
    check_window(spec, get_tokenizer(embedding).truncation["max_length"])
    return FastembedModel(embedding, spec.window)


def get_tokenizer(embedding: TextEmbedding) -> Any:
    """The tokenizer of a model, which all of fastembed's text models have."""
    return embedding.model.tokenizer  # type: ignore[attr-defined]
