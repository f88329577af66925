import pytest

from config import gunicorn
from indexing import embedding
from indexing.exceptions import ModelUnavailable, StoreUnavailable
from indexing.spec.loaded import get_specs


class TestPostWorkerInit:
    def test_loads_every_model_once(self, store, monkeypatch):
        loaded = []
        monkeypatch.setattr(embedding, "get_embedder", loaded.append)

        gunicorn.post_worker_init(None)

        assert len(loaded) == len(set(loaded))
        assert set(loaded) == {spec.embedding for spec in get_specs().values()}

    @pytest.mark.parametrize("error", [ModelUnavailable("No."), StoreUnavailable("Away.")])
    def test_serves_all_the_same_without_them(self, store, monkeypatch, caplog, error):
        def fail(*args):
            raise error

        monkeypatch.setattr(embedding, "get_embedder", fail)

        gunicorn.post_worker_init(None)

        assert str(error) in caplog.text
