"""``weights/make_model.py``, which the installation runs."""

import importlib.util

import pytest

from indexing.embedding import minilm
from tests.serving import ROOT


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("make_model", ROOT / "weights" / "make_model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TestMakeModel:
    def test_makes_the_model_that_is_installed(self, script, tmp_path):
        made, installed = tmp_path / "model", minilm.find_model()

        script.make_model(made)

        assert (made / minilm.HASHES).read_text() == (installed / minilm.HASHES).read_text()
        assert {path.stat().st_mode & 0o777 for path in made.iterdir()} == {0o644}
        assert [path.name for path in tmp_path.iterdir()] == ["model"]

    def test_keeps_the_model_that_is_there_if_the_new_vectors_are_wrong(
        self, script, tmp_path, monkeypatch
    ):
        made = tmp_path / "model"
        made.mkdir()
        (made / "kept").touch()
        monkeypatch.setattr(script, "HEADS", 6)

        with pytest.raises(SystemExit, match="reference vectors"):
            script.make_model(made)

        assert [path.name for path in made.iterdir()] == ["kept"]

    def test_names_the_file_of_the_weights_when_they_are_missing(
        self, script, tmp_path, monkeypatch
    ):
        monkeypatch.setattr(script, "PUBLISHED", "no_such_wheel")

        with pytest.raises(SystemExit, match=r"requirements/model\.txt"):
            script.make_model(tmp_path / "model")

        assert list(tmp_path.iterdir()) == []
