"""The languages that embedding models read, as their authors state them."""

from typing import Final

from indexing.spec import EmbeddingSpec

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
    """Codes (ISO 639-1) of the only languages that the model reads; empty if it reads many, or if
    that is not known."""
    return ("en",) if spec.model.rpartition("/")[2] in ENGLISH_MODELS else ()
