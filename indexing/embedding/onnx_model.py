"""Runs all-MiniLM-L6-v2 as ONNX, and has what it shares with the models of fastembed."""

from typing import Any, Final

import numpy as np
import onnxruntime
from django.conf import settings
from numpy.typing import NDArray
from tokenizers import Tokenizer

from indexing.embedding import minilm
from indexing.exceptions import InvalidSpec
from indexing.spec import EmbeddingSpec

TOKENIZER_BATCH_TEXTS: Final = 256  # texts


class OnnxModel:
    """What is common to these models: the size of batches, and counting tokens."""

    batch_texts = 64
    # About 8 texts of 130 tokens. Batches of 4 to 16 such texts are equally fast within the noise
    # (79 to 83 texts/s on two cores); batches of 32 are slower (74).
    batch_tokens = 1_024

    def __init__(self, tokenizer: Tokenizer, window: int) -> None:
        tokenizer.enable_truncation(window)
        self._untruncated_tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._untruncated_tokenizer.no_truncation()
        self._untruncated_tokenizer.no_padding()

    def count_tokens(self, texts: list[str]) -> list[int]:
        # In parts, because an encoding is many times larger than its text; ``_fast`` omits offsets.
        return [
            len(encoding.ids)
            for start in range(0, len(texts), TOKENIZER_BATCH_TEXTS)
            for encoding in self._untruncated_tokenizer.encode_batch_fast(
                texts[start : start + TOKENIZER_BATCH_TEXTS]
            )
        ]


class MinilmModel(OnnxModel):
    """all-MiniLM-L6-v2, with the vectors that fastembed makes. fastembed's import takes 23 MB, and
    its threads spin while they wait for each other: on busy cores a query takes twice the processor
    time."""

    def __init__(self, spec: EmbeddingSpec) -> None:
        folder = minilm.find_model()
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_padding()
        super().__init__(self._tokenizer, spec.window)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = settings.STRATA_EMBEDDING_THREADS or 0
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        model = str(folder / minilm.FILES[spec.precision])
        self._session = onnxruntime.InferenceSession(
            model, options, providers=["CPUExecutionProvider"]
        )

    def embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        encoded = self._tokenizer.encode_batch_fast(texts)
        ids = np.array([encoding.ids for encoding in encoded])
        mask = np.array([encoding.attention_mask for encoding in encoded])
        [hidden] = self._session.run(None, {"input_ids": ids, "attention_mask": mask})
        is_token = mask[:, :, np.newaxis].astype(bool)
        means = np.mean(hidden, axis=1, where=is_token, dtype=np.float64)
        unit: Any = means / np.linalg.norm(means, axis=1, keepdims=True)
        return np.asarray(unit, np.float32)

    embed_queries = embed_batch


def check_window(spec: EmbeddingSpec, limit: int) -> None:
    if spec.window > limit:
        raise InvalidSpec(
            f"embedding.window: {spec.model} reads at most {limit} tokens, not {spec.window}.",
            field="embedding.window",
            fix=f"Set embedding.window to {limit} or less.",
        )
