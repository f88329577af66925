"""What is known of an embedding model without loading it or asking the network: whether it is
available, and the languages that it reads."""

from pathlib import Path
from typing import Any, Final

from django.conf import settings

from indexing.embedding import minilm
from indexing.embedding.rdkit_model import require_rdkit
from indexing.exceptions import ModelUnavailable
from indexing.spec import EmbeddingSpec
from indexing.spec.sections import read_api_key


def describe_model_availability(spec: EmbeddingSpec) -> str:
    """Describe the state of a model's files in one sentence. Raises ``ModelUnavailable``: files are
    missing or damaged; the error says what to do."""
    if spec.provider == "rdkit":
        require_rdkit()
        return "RDKit fingerprints; RDKit is installed."
    if spec.endpoint is not None:
        read_api_key(spec.endpoint.api_key_variable, "embedding.endpoint.api_key_variable")
    if spec.provider in {"huggingface", "openai"}:
        return "not checked; it is downloaded or called when first used."
    if spec.provider == "clip" or spec.model not in minilm.CONVERTED_NAMES:
        return _describe_catalogue_model(spec)
    folder = minilm.model_folder(spec.precision)
    if not folder.exists():
        minilm.find_weights()  # needed only until it is converted
        return "its weights are installed; it is converted when it is first used."
    if problems := minilm.find_model_problems(spec.precision):
        raise ModelUnavailable(
            f"{len(problems)} files of the model have changed since they were written: "
            f"{problems[0]}",
            fix=f"Delete {folder}; it is made again when the model is next used.",
        )
    return "converted; all file hashes are correct."


def _describe_catalogue_model(spec: EmbeddingSpec) -> str:
    from fastembed import ImageEmbedding, TextEmbedding
    from huggingface_hub import try_to_load_from_cache

    from indexing.embedding.clip_model import TEXT_SUFFIX, VISION_SUFFIX

    catalogue: list[dict[str, Any]] = [
        *TextEmbedding.list_supported_models(),
        *ImageEmbedding.list_supported_models(),
    ]
    models = {model["model"].lower(): model for model in catalogue}
    suffixes = [VISION_SUFFIX, TEXT_SUFFIX] if spec.provider == "clip" else [""]
    cache = Path(settings.STRATA_MODELS_DIR) / "fastembed"
    for suffix in suffixes:
        model = models.get(f"{spec.model}{suffix}".lower())
        if model is None:
            raise ModelUnavailable(
                f"fastembed has no model {spec.model}{suffix}.",
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
