import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from indexing import model_loading
from indexing.exceptions import InvalidSpec, ModelLoading, ModelUnavailable
from indexing.model_loading import ModelLoader, model_load_attempted, waiting_for_models

SECONDS = 30.0  # far more than these tests need


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """An event that the loading of a model waits for."""
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def impatient(settings):
    settings.STRATA_MODEL_WAIT_SECONDS = 0.0


def get_once_loaded(loader):
    """Return the model as soon as a background attempt has loaded it."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return loader.get()
        except ModelUnavailable:
            assert time.monotonic() < deadline
            time.sleep(0.001)


class TestModelLoader:
    def test_loads_once_for_all_callers(self):
        loads = []
        loader = ModelLoader("acme", lambda: loads.append(1) or "model")

        assert [loader.get(), loader.get()] == ["model", "model"]
        assert loads == [1]

    def test_loads_nothing_before_the_first_request(self):
        loads = []

        ModelLoader("acme", lambda: loads.append(1))

        assert loads == []

    def test_raises_an_error_that_names_the_model_being_loaded(self, gate, impatient):
        loader = ModelLoader("The model acme", gate.wait)

        with pytest.raises(ModelLoading, match="The model acme is being loaded") as caught:
            loader.get()

        assert caught.value.retry_after > 0
        assert caught.value.fix

    def test_waits_for_a_model_that_is_installed(self, gate, impatient):
        loader = ModelLoader("acme", lambda: gate.wait() and "model", is_installed=True)
        threading.Timer(0.2, gate.set).start()

        assert loader.get() == "model"

    def test_lets_at_most_half_the_web_threads_wait(self, gate):
        loader = ModelLoader("acme", lambda: gate.wait() and "model")
        models = []
        threads = [
            threading.Thread(target=lambda: models.append(loader.get()), daemon=True)
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + SECONDS
        while model_loading._waiting_slots._value and time.monotonic() < deadline:
            time.sleep(0.001)

        with pytest.raises(ModelLoading):
            ModelLoader("another", gate.wait).get()

        gate.set()
        for thread in threads:
            thread.join(SECONDS)
        assert models == ["model"] * 4

    def test_keeps_the_last_error_while_it_tries_again(self, gate, monkeypatch):
        monkeypatch.setattr(model_loading, "FIRST_PAUSE_SECONDS", 0.0)
        is_second = threading.Event()
        attempts = []

        def load():
            attempts.append(1)
            if len(attempts) == 1:
                raise ModelUnavailable("There is no network.", fix="Connect it.")
            is_second.set()
            gate.wait()
            return "model"

        loader = ModelLoader("acme", load)
        with pytest.raises(ModelUnavailable):
            loader.get()
        assert is_second.wait(SECONDS)

        with pytest.raises(ModelUnavailable, match="There is no network") as caught:
            loader.get()

        assert caught.value.fix == "Connect it."
        assert caught.value.retry_after > 0
        gate.set()
        assert get_once_loaded(loader) == "model"

    def test_waits_longer_after_each_failed_attempt(self, monkeypatch):
        pauses = []
        has_ended = threading.Event()

        def pause(seconds):
            pauses.append(seconds)
            if len(pauses) == 7:
                has_ended.set()
                threading.Event().wait()  # this thread is a daemon

        clock = SimpleNamespace(sleep=pause, monotonic=time.monotonic)
        monkeypatch.setattr(model_loading, "time", clock)
        monkeypatch.setattr(model_loading, "FIRST_PAUSE_SECONDS", 30.0)

        def fail():
            raise InvalidSpec("Its window is too wide.")

        ModelLoader("acme", fail).start()

        assert has_ended.wait(SECONDS)
        assert pauses == [30, 60, 120, 240, 480, 600, 600]

    def test_raises_a_new_error_each_time(self):
        def fail():
            raise ModelUnavailable("There is no network.")

        loader = ModelLoader("acme", fail)
        errors = []
        for _ in "12":
            with pytest.raises(ModelUnavailable) as caught:
                loader.get()
            errors.append(caught.value)

        assert errors[0] is not errors[1]

    def test_names_the_model_in_an_unexpected_error(self, caplog):
        def fail():
            raise RuntimeError("bad protobuf")

        with pytest.raises(ModelUnavailable, match=r"acme could not be loaded.*bad protobuf"):
            ModelLoader("acme", fail).get()

        assert "Traceback" in caplog.text

    def test_notifies_waiting_work_of_the_result(self, monkeypatch):
        monkeypatch.setattr(model_loading, "FIRST_PAUSE_SECONDS", 0.0)
        attempts, told_after = [], []
        is_loaded = threading.Event()

        def load():
            attempts.append(1)
            if len(attempts) < 4:
                raise ModelUnavailable("There is no network.")
            return "model"

        def hear(sender, **kwargs):
            told_after.append(len(attempts))
            if len(attempts) == 4:
                is_loaded.set()

        model_load_attempted.connect(hear)
        ModelLoader("acme", load).start()

        assert is_loaded.wait(SECONDS)
        model_load_attempted.disconnect(hear)
        assert told_after == [1, 4]


class TestWaitingForModels:
    def test_waits_until_the_model_is_loaded(self, gate, impatient):
        loader = ModelLoader("acme", lambda: gate.wait() and "model")
        threading.Timer(0.05, gate.set).start()

        with waiting_for_models():
            assert loader.get() == "model"

    def test_applies_only_inside_its_block(self, gate, impatient):
        with waiting_for_models():
            pass

        with pytest.raises(ModelLoading):
            ModelLoader("acme", gate.wait).get()

    def test_does_not_apply_to_other_threads(self, gate, impatient):
        errors = []

        def ask():
            try:
                ModelLoader("acme", gate.wait).get()
            except ModelLoading as error:
                errors.append(error)

        with waiting_for_models():
            thread = threading.Thread(target=ask, daemon=True)
            thread.start()
            thread.join(SECONDS)

        assert len(errors) == 1
