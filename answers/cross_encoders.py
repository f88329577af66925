"""Cross-encoders: models that score a query and a text together. No other module loads one."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import httpx
from django.conf import settings
from django.core.cache import cache

from core.circuit_breaker import CircuitBreaker
from core.exceptions import InvalidInput
from core.import_lock import import_lock
from core.outbound import make_client, read_json
from core.text import hash_text
from indexing.exceptions import ModelUnavailable
from indexing.model_loading import ModelLoader
from indexing.spec.sections import check_address, read_api_key

BATCH_PAIRS: Final = 8  # pairs scored at once: some tens of milliseconds on two cores


class ScoringStopped(Exception):
    """``should_stop`` interrupted the scoring."""


class CrossEncoder:
    """A loaded model. Thread-safe.

    Query and text together are cut to ``window`` tokens, the longer of them first.
    """

    def __init__(self, model: Any, window: int | None) -> None:
        self._model = model
        tokenizer = model.model.tokenizer
        limit: int = tokenizer.truncation["max_length"]
        self.window = limit if window is None else min(window, limit)
        tokenizer.enable_truncation(self.window)

    def score(
        self, query: str, texts: Sequence[str], *, should_stop: Callable[[], bool] = lambda: False
    ) -> list[float]:
        """Score how well each text answers the query, in the given order, on the model's scale.
        Raises ``ScoringStopped``: ``should_stop``, called between batches, returned True."""
        scores = [0.0] * len(texts)
        # A batch is padded to its longest text, so batch texts of similar length.
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        for start in range(0, len(order), BATCH_PAIRS):
            if should_stop():
                raise ScoringStopped
            rows = order[start : start + BATCH_PAIRS]
            batch_scores = self._model.rerank(
                query, [texts[row] for row in rows], batch_size=len(rows)
            )
            for row, score in zip(rows, batch_scores, strict=True):
                scores[row] = float(score)
        return scores


_loaders: dict[tuple[str, int | None], ModelLoader[CrossEncoder]] = {}
_loaders_lock = threading.Lock()  # never held while loading
_catalogue_lock = threading.Lock()  # all threads share fastembed's list of models


def get_cross_encoder_loader(name: str, window: int | None = None) -> ModelLoader[CrossEncoder]:
    """Return the loader of this cross-encoder, one per process, without starting it.

    ``name``: a model of fastembed's catalogue, fetched on first use, or a folder that holds
    ``model.onnx``, ``tokenizer.json`` and ``tokenizer_config.json``. If the model does not exist or
    cannot be fetched or read, the loader raises ``ModelUnavailable``.
    """
    with _loaders_lock:
        if (name, window) not in _loaders:
            _loaders[name, window] = ModelLoader(
                f"The cross-encoder {name}", lambda: CrossEncoder(_load_model(name), window)
            )
        return _loaders[name, window]


def _load_model(name: str) -> Any:
    with import_lock:
        from fastembed.common.model_description import ModelSource
        from fastembed.rerank.cross_encoder import TextCrossEncoder

    folder = Path(name)
    options: dict[str, Any] = {}
    with _catalogue_lock:
        known = {model["model"] for model in TextCrossEncoder.list_supported_models()}
        if folder.is_dir():
            if not (folder / "model.onnx").is_file():
                raise ModelUnavailable(f"{folder} holds no model.onnx.", field="model")
            name, options = f"strata/{folder.resolve()}", {"specific_model_path": str(folder)}
            if name not in known:
                TextCrossEncoder.add_custom_model(
                    model=name, sources=ModelSource(hf=name), model_file="model.onnx"
                )
        elif name not in known:
            raise ModelUnavailable(
                f"There is no cross-encoder and no folder named {name!r}.",
                field="model",
                allowed=known,
            )
    cache = Path(settings.STRATA_MODELS_DIR) / "fastembed"
    try:
        return TextCrossEncoder(
            name, cache_dir=str(cache), threads=settings.STRATA_EMBEDDING_THREADS, **options
        )
    except Exception as error:  # tokenizers and onnxruntime raise plain Exception
        raise ModelUnavailable(
            f"The cross-encoder {name} could not be loaded: {error}",
            field="model",
            fix=None
            if options
            else f"Connect this machine to huggingface.co, or copy {cache} from a "
            "machine that has the model; it is retried automatically.",
        ) from error


CACHE_SECONDS: Final = 3_600
MAX_ANSWER_BYTES: Final = 4 * 2**20  # some endpoints send the texts back


class RerankEndpoint:
    """A model behind an endpoint. Thread-safe. Soon after a failure it is not asked."""

    def __init__(
        self, model: str, url: str, *, api_key_variable: str, texts_field: str, seconds: float
    ) -> None:
        try:
            check_address(url)
        except ValueError as error:
            raise InvalidInput(f"endpoint: {error}.", field="endpoint") from error
        key = read_api_key(api_key_variable, "api_key_variable")
        self._model, self._url, self._texts_field = model, url, texts_field
        self._client = make_client(
            max_bytes=MAX_ANSWER_BYTES,
            base_url=url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=seconds,
        )
        self._breaker = CircuitBreaker(ModelUnavailable)

    def score(
        self, query: str, texts: Sequence[str], *, should_stop: Callable[[], bool] = lambda: False
    ) -> list[float]:
        """Score how well each text answers the query, in the given order, on the model's scale.
        Scores are cached for an hour. Raises ``ModelUnavailable``: the endpoint failed now, or a
        moment ago."""
        keys = [
            "rerank:" + hash_text(json.dumps([self._url, self._model, query, text]))
            for text in texts
        ]
        scores: dict[str, float] = cache.get_many(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in scores}
        if missing:
            with self._breaker.guarding():
                found = self._request_scores(query, list(missing.values()))
            scores |= dict(zip(missing, found, strict=True))
            cache.set_many({key: scores[key] for key in missing}, CACHE_SECONDS)
        return [scores[key] for key in keys]

    def _request_scores(self, query: str, texts: list[str]) -> list[float]:
        body: dict[str, Any] = {"query": query, self._texts_field: texts}
        if self._model:
            body["model"] = self._model
        try:
            response = self._client.post("rerank", json=body)
            response.raise_for_status()
            answer = read_json(response)
            rows = answer["results"] if isinstance(answer, dict) else answer
            by_index = {
                int(row["index"]): float(row.get("relevance_score", row.get("score")))
                for row in rows
            }
            return [by_index[number] for number in range(len(texts))]
        except httpx.HTTPStatusError as error:
            raise ModelUnavailable(
                f"The reranking endpoint answered {error.response.status_code}."
            ) from error
        except httpx.RequestError as error:
            raise ModelUnavailable("The reranking endpoint did not answer.") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelUnavailable(
                "The reranking endpoint returned a malformed response."
            ) from error
