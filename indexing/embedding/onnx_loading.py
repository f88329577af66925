"""Loads ONNX models: the installed all-MiniLM-L6-v2, or through fastembed another one."""

from core.import_lock import import_lock
from indexing.embedding import minilm
from indexing.embedding.onnx_model import MinilmModel, OnnxModel, check_window
from indexing.spec import EmbeddingSpec


def load_onnx(spec: EmbeddingSpec) -> OnnxModel:
    """Load the installed model, or one of fastembed's by its catalogue name, which is fetched on
    first use.

    Raises:
        ModelUnavailable: there is no such model, or it cannot be fetched.
        InvalidSpec: the model does not support the window or the precision.
    """
    if spec.model in minilm.NAMES:
        check_window(spec, minilm.WINDOW)
        return MinilmModel(spec)
    with import_lock:
        from indexing.embedding.fastembed_model import load_fastembed
    return load_fastembed(spec)
