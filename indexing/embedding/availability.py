"""Check that an embedding model is available, without loading it."""

from indexing.embedding import minilm
from indexing.embedding.smiles import require_rdkit
from indexing.exceptions import ModelUnavailable
from indexing.spec import EmbeddingSpec


def describe_model_availability(spec: EmbeddingSpec) -> str:
    """Describe the state of a model's files in one sentence.

    Raises:
        ModelUnavailable: files are missing or damaged; the error says what to do.
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
    if wrong := minilm.find_model_problems(spec.precision):
        raise ModelUnavailable(
            f"{len(wrong)} of its files are not as they were written: {wrong[0]}",
            fix=f"Delete {folder}; it is made again when it is next used.",
        )
    return "converted, and every file has the hash it was written with."
