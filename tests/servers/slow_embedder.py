"""An embedder by hashing that takes ``STRATA_TEST_EMBED_SECONDS`` for each text."""

import os
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tests.hashing import HashingEmbedder


class SlowEmbedder(HashingEmbedder):
    SECONDS = float(os.environ.get("STRATA_TEST_EMBED_SECONDS", 0))

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        time.sleep(self.SECONDS * len(texts))
        return super().embed_documents(texts)
