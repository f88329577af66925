"""CLIP models from fastembed: an image model and a text model that share one vector space."""

from pathlib import Path
from typing import Any

import numpy as np
from django.conf import settings
from fastembed import ImageEmbedding, TextEmbedding
from numpy.typing import NDArray
from PIL import Image, ImageOps

from documents.parsing.image import PILLOW_FORMATS
from documents.storage import get_storage
from indexing.embedding.availability import describe_files
from indexing.exceptions import ModelUnavailable
from indexing.spec import EmbeddingSpec

VISION_SUFFIX, TEXT_SUFFIX = "-vision", "-text"  # the ends of fastembed's names for such a pair
MAX_ASPECT_RATIO = 8  # longer edge to shorter edge: the models read only a square


class ClipModel:
    """Embeds images, given as names of originals, and query texts as unit vectors.

    Source:
        Radford et al., "Learning Transferable Visual Models From Natural Language Supervision",
        ICML 2021.
    """

    batch_texts = 1  # a picture of 50 million pixels takes 350 MB before it is scaled down
    batch_tokens = 1

    def __init__(self, vision: Any, text: Any) -> None:
        self._vision = vision
        self._text = text

    def embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        pictures = []
        for name in texts:
            with get_storage().local(name) as path:
                pictures.append(read_image(path))
        return _normalise_vectors(
            np.stack(list(self._vision.embed(pictures, batch_size=len(pictures))))
        )

    def embed_queries(self, texts: list[str]) -> NDArray[np.float32]:
        return _normalise_vectors(np.stack(list(self._text.query_embed(texts))))

    def count_tokens(self, texts: list[str]) -> list[int]:
        """Return 0 for each: images have no tokens."""
        return [0] * len(texts)


def load_clip(spec: EmbeddingSpec) -> ClipModel:
    """Load both models of a pair, fetching them on first use. Raises ``ModelUnavailable``:
    fastembed has no such pair, or it cannot be fetched."""
    pairs = _list_model_pairs(ImageEmbedding, TextEmbedding)
    if spec.model not in pairs:
        raise ModelUnavailable(
            f"fastembed does not have both the image model {spec.model}{VISION_SUFFIX} and the "
            f"text model {spec.model}{TEXT_SUFFIX}.",
            field="images.model",
            allowed=pairs,
        )
    cache = Path(settings.STRATA_MODELS_DIR) / "fastembed"
    options: dict[str, Any] = {
        "cache_dir": str(cache),
        "threads": settings.STRATA_EMBEDDING_THREADS,
    }
    try:
        return ClipModel(
            ImageEmbedding(f"{spec.model}{VISION_SUFFIX}", **options),
            TextEmbedding(f"{spec.model}{TEXT_SUFFIX}", **options),
        )
    except (OSError, ValueError) as error:  # fastembed raises these if it cannot reach the hub
        raise ModelUnavailable(
            f"{spec.model} could not be fetched: {error}",
            fix=f"Connect this machine to huggingface.co, or copy {cache} from a "
            "machine that has the models; it is retried automatically.",
        ) from error


def describe_availability(spec: EmbeddingSpec) -> str:
    """Describe the state of the files of both models in one sentence. Raises ``ModelUnavailable``:
    fastembed has no such pair."""
    catalogue: list[dict[str, Any]] = [
        *ImageEmbedding.list_supported_models(),
        *TextEmbedding.list_supported_models(),
    ]
    return describe_files([f"{spec.model}{end}" for end in (VISION_SUFFIX, TEXT_SUFFIX)], catalogue)


def read_image(path: Path) -> Image.Image:
    """Read an image as upright RGB, transparency on white; of an animation the first frame, of a
    very long image the middle."""
    picture: Image.Image
    with Image.open(path, formats=PILLOW_FORMATS) as picture:
        ImageOps.exif_transpose(picture, in_place=True)
        picture.load()
    picture = _crop_strip(picture)
    if picture.mode.startswith("I"):  # 16 bits of grey, which Pillow would clip instead of scaling
        grey = (np.asarray(picture) >> 8).clip(0, 255)
        return Image.fromarray(grey.astype(np.uint8)).convert("RGB")
    if not picture.has_transparency_data:
        return picture if picture.mode == "RGB" else picture.convert("RGB")
    layer = picture if picture.mode == "RGBA" else picture.convert("RGBA")
    page = Image.new("RGB", layer.size, "white")
    page.paste(layer, mask=layer)
    return page


def _crop_strip(picture: Image.Image) -> Image.Image:
    """Crop a very long image to its middle. The models scale the short edge to a fixed length, and
    a strip one pixel wide would take gigabytes."""
    max_length = MAX_ASPECT_RATIO * min(picture.size)
    if max(picture.size) <= max_length:
        return picture
    width, height = min(picture.width, max_length), min(picture.height, max_length)
    left, top = (picture.width - width) // 2, (picture.height - height) // 2
    return picture.crop((left, top, left + width, top + height))


def _list_model_pairs(vision: Any, text: Any) -> list[str]:
    vision_names = {model["model"] for model in vision.list_supported_models()}
    text_names = {model["model"] for model in text.list_supported_models()}
    return sorted(
        name.removesuffix(VISION_SUFFIX)
        for name in vision_names
        if name.endswith(VISION_SUFFIX)
        and name.removesuffix(VISION_SUFFIX) + TEXT_SUFFIX in text_names
    )


def _normalise_vectors(vectors: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True), np.float32)
