"""ONNX models through fastembed: the installed all-MiniLM-L6-v2, and those of its catalogue."""

import threading
from pathlib import Path
from typing import Any, Final

import numpy as np
from django.conf import settings
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType
from numpy.typing import NDArray
from tokenizers import Tokenizer

from indexing.embedding import minilm
from indexing.exceptions import InvalidSpec, ModelUnavailable
from indexing.spec import EmbeddingSpec

SUGGESTED_MODELS: Final = ["BAAI/bge-small-en-v1.5", "nomic-ai/nomic-embed-text-v1.5"]
TOKENIZER_BATCH_TEXTS: Final = 256  # texts

_catalogue_lock = threading.Lock()  # all threads share fastembed's list of models


class FastembedModel:
    batch_texts = 64
    # About 8 texts of 130 tokens. Batches of 4 to 16 such texts are equally fast within the noise
    # (79 to 83 texts/s on two cores); batches of 32 are slower (74).
    batch_tokens = 1_024

    def __init__(self, embedding: TextEmbedding, window: int) -> None:
        self._embedding = embedding
        tokenizer = get_tokenizer(embedding)
        tokenizer.enable_truncation(window)
        self._untruncated_tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._untruncated_tokenizer.no_truncation()
        self._untruncated_tokenizer.no_padding()

    def embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        return np.stack(list(self._embedding.embed(texts, batch_size=len(texts))))

    def embed_queries(self, texts: list[str]) -> NDArray[np.float32]:
        return np.stack(list(self._embedding.query_embed(texts, batch_size=len(texts))))

    def count_tokens(self, texts: list[str]) -> list[int]:
        # In parts, because an encoding is many times larger than its text; ``_fast`` omits offsets.
        return [
            len(encoding.ids)
            for start in range(0, len(texts), TOKENIZER_BATCH_TEXTS)
            for encoding in self._untruncated_tokenizer.encode_batch_fast(
                texts[start : start + TOKENIZER_BATCH_TEXTS]
            )
        ]


def load_fastembed(spec: EmbeddingSpec) -> FastembedModel:
    """Load a model by its catalogue name and fetch it on first use; all-MiniLM-L6-v2 is installed.

    Raises:
        ModelUnavailable: there is no such model, or it cannot be fetched.
        InvalidSpec: the model does not support the window or the precision.
    """
    if spec.model in minilm.NAMES:
        folder = minilm.find_model()
        return _load(spec, _register_minilm(spec.precision), specific_model_path=str(folder))

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
        return _load(spec, spec.model)
    except (OSError, ValueError) as error:  # fastembed raises these if it cannot reach the hub
        raise ModelUnavailable(
            f"{spec.model} could not be fetched: {error}",
            fix=f"Connect this machine to huggingface.co, or copy {cache} from a "
            "machine that has the model; it is retried automatically.",
        ) from error


def _load(spec: EmbeddingSpec, name: str, **options: Any) -> FastembedModel:
    embedding = TextEmbedding(
        model_name=name,
        cache_dir=str(Path(settings.STRATA_MODELS_DIR) / "fastembed"),
        threads=settings.STRATA_EMBEDDING_THREADS,
        **options,
    )
    limit = get_tokenizer(embedding).truncation["max_length"]
    if spec.window > limit:
        raise InvalidSpec(
            f"embedding.window: {spec.model} reads at most {limit} tokens, not {spec.window}.",
            field="embedding.window",
            fix=f"Set embedding.window to {limit} or less.",
        )
    return FastembedModel(embedding, spec.window)


def get_tokenizer(embedding: TextEmbedding) -> Any:
    """The tokenizer of a model, which all of fastembed's text models have."""
    return embedding.model.tokenizer  # type: ignore[attr-defined]


def _register_minilm(precision: str) -> str:
    """Register the installed model with fastembed and return its name there."""
    name = f"strata/{minilm.NAME}-{precision}"
    with _catalogue_lock:
        if name not in {model["model"] for model in TextEmbedding.list_supported_models()}:
            TextEmbedding.add_custom_model(
                model=name,
                pooling=PoolingType.MEAN,
                normalization=True,
                sources=ModelSource(hf=f"sentence-transformers/{minilm.NAME}"),
                dim=minilm.DIMENSION,
                model_file=minilm.FILES[precision],
                description="Converted from the published weights.",
                license="apache-2.0",
            )
    return name
