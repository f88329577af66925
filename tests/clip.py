"""A pair of small models with one vector space, in fastembed's format. The vector of an image is
its mean colour times a fixed matrix, and that of a word is the same for the colour it names."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace

DIMENSION = 3
# Orthogonal, so that distances between colours stay the same.
SPACE = np.array([[0.8, 0.6, 0], [-0.6, 0.8, 0], [0, 0, 1]], np.float32)
LITTLE = 0.01  # added to every component, so that the vector of black is not zero
WORDS = {"[PAD]": None, "[UNK]": None, "red": 0, "green": 1, "blue": 2}
EDGE = 4  # pixels


def write_pair(folder: Path) -> tuple[Path, Path]:
    """The folders of the image model and of the text model."""
    vision, text = folder / "vision", folder / "text"
    for each in (vision, text):
        each.mkdir(parents=True)
    _write_vision(vision)
    _write_text(text)
    return vision, text


def _write_vision(folder: Path) -> None:
    pixels: list[str | int] = ["pictures", 3, EDGE, EDGE]
    write_model(
        folder,
        [
            helper.make_node("ReduceMean", ["pixel_values", "axes"], ["colour"], keepdims=0),
            helper.make_node("MatMul", ["colour", "space"], ["placed"]),
            helper.make_node("Add", ["placed", "little"], ["image_embeds"]),
        ],
        helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, pixels),
        helper.make_tensor_value_info("image_embeds", TensorProto.FLOAT, ["pictures", DIMENSION]),
        axes=np.array([2, 3], np.int64),
        space=SPACE,
        little=np.full(DIMENSION, LITTLE, np.float32),
    )
    write_json(
        folder / "preprocessor_config.json",
        {
            "image_processor_type": "CLIPImageProcessor",
            "do_resize": True,
            "size": {"shortest_edge": EDGE},
            "do_center_crop": True,
            "crop_size": EDGE,
            "do_rescale": True,
            "rescale_factor": 1 / 255,
            "do_normalize": False,
        },
    )


def _write_text(folder: Path) -> None:
    table = np.stack(
        [
            np.zeros(DIMENSION, np.float32) if colour is None else SPACE[colour]
            for colour in WORDS.values()
        ]
    )
    write_model(
        folder,
        [
            helper.make_node("Gather", ["table", "input_ids"], ["placed"]),
            helper.make_node("ReduceSum", ["placed", "axes"], ["said"], keepdims=0),
            helper.make_node("Add", ["said", "little"], ["text_embeds"]),
        ],
        helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "words"]),
        helper.make_tensor_value_info("text_embeds", TensorProto.FLOAT, ["texts", DIMENSION]),
        table=table,
        axes=np.array([1], np.int64),
        little=np.full(DIMENSION, LITTLE, np.float32),
    )
    write_tokenizer(folder, list(WORDS))


def write_tokenizer(folder: Path, words: Sequence[str]) -> None:
    """Of a model that knows these words; ``[PAD]`` and ``[UNK]`` are among them."""
    ids = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json", {"model_max_length": 77, "pad_token": "[PAD]"})


def write_model(
    folder: Path, nodes: list[Any], given: Any, answer: Any, **constants: np.ndarray
) -> None:
    initial = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, folder.name, [given], [answer], initial)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))


def write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content))
