import gc

import pytest
from django.db import OperationalError
from django.utils import timezone

from access.grants import Scope
from access.models import ApiKey
from config import first_key, gunicorn
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


class TestFirstKey:
    SECRET = "a-key-that-an-operator-chose"

    @pytest.fixture(autouse=True)
    def start(self, store, db, monkeypatch):
        monkeypatch.setattr(first_key.connection, "close", lambda: None)  # it is the test's
        monkeypatch.setattr(embedding, "load_models", lambda models, seconds: [])
        return lambda: gunicorn.post_worker_init(None)

    def test_is_that_of_the_settings(self, start, settings):
        settings.STRATA_ADMIN_KEY = self.SECRET
        start()
        start()

        assert ApiKey.find_by_secret(self.SECRET).scope == Scope.MANAGE
        assert ApiKey.objects.count() == 1

    def test_is_not_made_again_once_it_is_revoked(self, start, settings):
        settings.STRATA_ADMIN_KEY = self.SECRET
        start()
        ApiKey.objects.update(revoked_at=timezone.now())
        start()

        assert ApiKey.find_by_secret(self.SECRET) is None

    def test_is_not_made_if_it_can_be_guessed(self, start, settings, caplog):
        settings.STRATA_ADMIN_KEY = "short"
        start()

        assert not ApiKey.objects.exists()
        assert "is shorter than 16 characters" in caplog.text

    def test_does_not_end_a_process_whose_database_is_away(
        self, start, settings, monkeypatch, caplog
    ):
        def fail() -> None:
            raise OperationalError("away")

        settings.STRATA_ADMIN_KEY = self.SECRET
        monkeypatch.setattr(ApiKey.objects, "exists", fail)
        start()

        assert "away" in caplog.text
