"""Whether a model is at hand, without loading it."""

from indexing.embedding import minilm
from indexing.embedding.structures import require_rdkit
from indexing.exceptions import ModelUnavailable
from indexing.spec import EmbeddingSpec


def examine_model(spec: EmbeddingSpec) -> str:
    """One sentence on the model's files.

    Raises:
        ModelUnavailable: they are missing or not the right ones; the error says what to do.
    """
    if spec.provider == "rdkit":
        require_rdkit()
        return "fingerprints of RDKit, which is installed."
    if spec.provider != "fastembed" or spec.model != "all-MiniLM-L6-v2":
        return "not examined; it is fetched or asked when it is first used."
    folder = minilm.model_folder(spec.precision)
    if not folder.exists():
        minilm.find_weights()  # once it is converted, they may be gone
        return "weights at hand; converted when it is first used."
    if wrong := minilm.check_model(spec.precision):
        raise ModelUnavailable(
            f"{len(wrong)} of its files are not as they were written: {wrong[0]}",
            fix=f"Delete {folder}; it is made again when it is next used.",
        )
    return "converted, and every file has the hash it was written with."
