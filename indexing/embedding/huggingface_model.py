"""Any sentence-transformers model on torch; both are extras (requirements/huggingface.in)."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from core.import_lock import import_lock
from indexing.embedding import minilm
from indexing.exceptions import InvalidSpec, ModelUnavailable
from indexing.spec import EmbeddingSpec

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

INSTALL: Final = (
    "pip install torch==2.13.0 && "
    "pip install --require-hashes --no-deps -r requirements/huggingface.txt"
)


class HuggingFaceModel:
    """A loaded model of sentence-transformers."""

    batch_texts = 64
    batch_tokens = 2_048

    def __init__(self, model: "SentenceTransformer") -> None:
        self._model = model

    def embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        vectors = self._model.encode(
            texts, batch_size=len(texts), normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, np.float32)

    embed_queries = embed_batch

    def count_tokens(self, texts: list[str]) -> list[int]:
        if not texts:
            return []
        encoded = self._model.tokenizer(texts, truncation=False, padding=False, verbose=False)
        return [len(ids) for ids in encoded["input_ids"]]


def load_huggingface(spec: EmbeddingSpec) -> HuggingFaceModel:
    """Load a model by name from the hub or its cache; all-MiniLM-L6-v2 from the installed wheel.

    Raises:
        ModelUnavailable: torch is not installed, or the model cannot be fetched.
        InvalidSpec: the precision is not float32.
    """
    if spec.precision != "float32":
        raise InvalidSpec(
            "The huggingface provider runs models in float32; leave out embedding.precision.",
            field="embedding.precision",
            allowed=["float32"],
        )
    try:
        with import_lock:
            from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise ModelUnavailable(
            "The huggingface provider needs torch and sentence-transformers.", fix=INSTALL
        ) from error

    is_minilm = spec.model in minilm.CONVERTED_NAMES
    cache = Path(settings.STRATA_MODELS_DIR) / "huggingface"
    try:
        model = SentenceTransformer(
            str(minilm.find_weights()) if is_minilm else spec.model, cache_folder=str(cache)
        )
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"{spec.model} could not be loaded: {error}",
            field="embedding.model",
            fix=f"Connect this machine to huggingface.co, or copy {cache} from a "
            "machine that has the model; it is retried automatically.",
        ) from error
    model.max_seq_length = spec.window
    model.default_prompt_name = None  # the spec has the prefixes
    return HuggingFaceModel(model)
