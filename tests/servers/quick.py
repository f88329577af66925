"""Makes a process of the production form embed by hashing and reconcile every few seconds, for
tests of workers, messages and faults that need no real model.

``STRATA_TEST_EMBED_SECONDS`` is the time for each text, to simulate a real model.
"""

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.apps import AppConfig
from numpy.typing import NDArray

from tests.hashing import HashingEmbedder

RECONCILE_SECONDS = 4.0


class SlowEmbedder(HashingEmbedder):
    SECONDS = float(os.environ.get("STRATA_TEST_EMBED_SECONDS", 0))

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        time.sleep(self.SECONDS * len(texts))
        return super().embed_documents(texts)


class QuickConfig(AppConfig):
    name = "tests.servers"
    label = "tests_servers"

    def ready(self) -> None:
        from config.celery import app
        from indexing import embedding

        def get_embedder(spec: Any) -> SlowEmbedder:
            return SlowEmbedder(spec)

        vars(embedding)["get_embedder"] = get_embedder
        vars(embedding)["load_models"] = lambda specs, seconds: []
        for entry in app.conf.beat_schedule.values():
            entry["schedule"] = RECONCILE_SECONDS
            entry["options"] = {"expires": 15 * RECONCILE_SECONDS}
