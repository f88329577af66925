"""Makes a process of the production form embed by hashing and reconcile every few seconds, for
tests of workers, messages and faults that need no real model.

``STRATA_TEST_EMBED_SECONDS`` is the time for each text, to simulate a real model.
"""

from typing import Any

from django.apps import AppConfig

RECONCILE_SECONDS = 4.0


class QuickConfig(AppConfig):
    name = "tests.servers"
    label = "tests_servers"

    def ready(self) -> None:
        from config.celery import app
        from indexing import embedding
        from tests.servers.slow_embedder import SlowEmbedder

        def get_embedder(spec: Any) -> SlowEmbedder:
            return SlowEmbedder(spec)

        vars(embedding)["get_embedder"] = get_embedder
        vars(embedding)["load_models"] = lambda specs, seconds: []
        for entry in app.conf.beat_schedule.values():
            entry["schedule"] = RECONCILE_SECONDS
            entry["options"] = {"expires": 15 * RECONCILE_SECONDS}
