"""Makes a small cross-encoder, whose score counts words that query and text share."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = [
    "[PAD]",
    "[UNK]",
    "[SEP]",
    *["heron", "fish", "granite", "crystals", "yeast", "dough", "water"],
]
WINDOW = 12  # tokens


def write_cross_encoder(folder: Path) -> Path:
    """Its score: the sum over known words of occurrences in the query times occurrences in the
    text."""
    folder.mkdir(parents=True)
    vocabulary = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1", special_tokens=[("[SEP]", vocabulary["[SEP]"])]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {"model_max_length": WINDOW, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    onnx.save(_make_model(), folder / "model.onnx")
    return folder


def _make_model() -> onnx.ModelProto:
    # One column for each known word; none for padding, unknown words and separators.
    known = np.eye(len(WORDS), dtype=np.float32)
    known[:3] = 0
    nodes = [
        helper.make_node("Gather", ["known", "input_ids"], ["words"]),  # (pairs, tokens, words)
        helper.make_node("Cast", ["token_type_ids"], ["is_text"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["is_text", "last"], ["of_text"]),
        helper.make_node("Sub", ["one", "of_text"], ["of_query"]),
        helper.make_node("Mul", ["words", "of_text"], ["text_words"]),
        helper.make_node("Mul", ["words", "of_query"], ["query_words"]),
        helper.make_node("ReduceSum", ["text_words", "tokens"], ["in_text"], keepdims=0),
        helper.make_node("ReduceSum", ["query_words", "tokens"], ["in_query"], keepdims=0),
        helper.make_node("Mul", ["in_text", "in_query"], ["shared"]),
        helper.make_node("ReduceSum", ["shared", "tokens"], ["logits"], keepdims=1),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])
        for name in ("input_ids", "token_type_ids")
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["pairs", 1])]
    constants = [
        numpy_helper.from_array(known, "known"),
        numpy_helper.from_array(np.array(1, dtype=np.float32), "one"),
        numpy_helper.from_array(np.array([2], dtype=np.int64), "last"),
        numpy_helper.from_array(np.array([1], dtype=np.int64), "tokens"),
    ]
    graph = helper.make_graph(nodes, "shared_words", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
