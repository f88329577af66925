import gc

import pytest

from config import gunicorn
from indexing import embedding
from indexing.exceptions import ModelUnavailable, StoreUnavailable
from indexing.spec.loaded import get_specs


@pytest.fixture(autouse=True)
def unfrozen():
    yield
    gc.unfreeze()


class TestPostWorkerInit:
    def test_loads_every_model_once(self, store, monkeypatch):
        loaded = []
        monkeypatch.setattr(
            embedding, "load_models", lambda models, seconds: loaded.extend(models) or []
        )

        gunicorn.post_worker_init(None)

        assert len(loaded) == len(set(loaded))
        assert set(loaded) == {spec.embedding for spec in get_specs().values()}

    def test_serves_without_a_model(self, store, monkeypatch, caplog):
        error = ModelUnavailable("No.", fix="Fetch it.")
        monkeypatch.setattr(embedding, "load_models", lambda models, seconds: [error])

        gunicorn.post_worker_init(None)

        assert "No. Fetch it." in caplog.text

    def test_serves_without_the_store(self, store, monkeypatch, caplog):
        def fail():
            raise StoreUnavailable("Away.")

        monkeypatch.setattr(embedding, "load_models", lambda models, seconds: [])
        monkeypatch.setattr(store, "ping", fail)

        gunicorn.post_worker_init(None)

        assert "Away." in caplog.text

    def test_freezes_loaded_objects_for_the_garbage_collector(self, store, monkeypatch):
        monkeypatch.setattr(embedding, "load_models", lambda models, seconds: [])

        gunicorn.post_worker_init(None)

        assert gc.get_freeze_count() > 10_000
