"""What is known of an embedding model without loading it or asking the network: whether it is
available, and the languages that it reads."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.utils.module_loading import import_string

from indexing.embedding import minilm
from indexing.exceptions import ModelUnavailable
from indexing.providers import PROVIDERS
from indexing.spec import EmbeddingSpec
from indexing.spec.sections import read_api_key


def describe_model_availability(spec: EmbeddingSpec) -> str:
    """Describe the state of a model's files in one sentence. Raises ``ModelUnavailable``: files are
    missing or damaged; the error says what to do."""
    if spec.endpoint is not None:
        read_api_key(spec.endpoint.api_key_variable, "embedding.endpoint.api_key_variable")
    path = PROVIDERS[spec.provider].describe_availability
    if not path:
        return "not checked; it is downloaded or called when first used."
    described: str = import_string(path)(spec)
    return described


def describe_fastembed_model(spec: EmbeddingSpec) -> str:
    if spec.model in minilm.NAMES:
        minilm.find_model()
        return "installed; all file hashes are correct."

    from fastembed import TextEmbedding

    return describe_files([spec.model], TextEmbedding.list_supported_models())


def describe_sparse_model_availability(name: str) -> str:
    """As ``describe_model_availability``, of a learned sparse model."""
    from fastembed import SparseTextEmbedding

    return describe_files([name], SparseTextEmbedding.list_supported_models())


def describe_files(names: Sequence[str], catalogue: Iterable[Mapping[str, Any]]) -> str:
    """As ``describe_model_availability``, of these models in a catalogue of fastembed."""
    from huggingface_hub import try_to_load_from_cache

    models = {model["model"].lower(): model for model in catalogue}
    cache = Path(settings.STRATA_MODELS_DIR) / "fastembed"
    for name in names:
        model = models.get(name.lower())
        if model is None:
            raise ModelUnavailable(
                f"fastembed has no model {name}.",
                fix="fastembed's documentation lists all its models.",
            )
        path = try_to_load_from_cache(model["sources"]["hf"], model["model_file"], cache_dir=cache)
        if not isinstance(path, str):
            return f"not under {cache}; it is fetched from huggingface.co when it is first used."
    return f"fetched; its files are under {cache}."


ENGLISH_MODELS: Final = frozenset(
    {
        "all-MiniLM-L6-v2", "bge-base-en", "bge-base-en-v1.5", "bge-large-en-v1.5", "bge-small-en",
        "bge-small-en-v1.5", "clip-ViT-B-32-text", "constella-nano", "constella-zero", "gte-base",
        "gte-large", "granite-embedding-small-english-r2", "jina-clip-v1",
        "jina-embeddings-v2-base-en", "jina-embeddings-v2-small-en", "mxbai-embed-large-v1",
        "nomic-embed-text-v1", "nomic-embed-text-v1.5", "nomic-embed-text-v1.5-Q",
        "potion-base-8M", "potion-retrieval-32M", "snowflake-arctic-embed-l",
        "snowflake-arctic-embed-m", "snowflake-arctic-embed-m-long", "snowflake-arctic-embed-s",
        "snowflake-arctic-embed-xs", "stella-en-400M-v5-doc-onnx",
    }
)  # fmt: skip


def get_model_languages(spec: EmbeddingSpec) -> tuple[str, ...]:
    """The languages (ISO 639-1) that the model reads; empty if they are many or not known."""
    return ("en",) if spec.model.rpartition("/")[2] in ENGLISH_MODELS else ()
