"""Cross-encoders behind an HTTP endpoint: Cohere, Jina, vLLM, Text Embeddings Inference, …

``POST {endpoint}/rerank`` with ``query`` and ``documents`` (or ``texts``) gives the index and the
score of each text.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any, Final

import httpx
from django.core.cache import cache

from core.circuit_breaker import CircuitBreaker
from core.exceptions import InvalidInput
from core.outbound import make_client
from core.text import hash_text
from indexing.exceptions import ModelUnavailable
from indexing.spec.endpoint import check_address, read_api_key

CACHE_SECONDS: Final = 3_600


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
            base_url=url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=seconds,
        )
        self._breaker = CircuitBreaker(ModelUnavailable)

    def score(
        self,
        query: str,
        texts: Sequence[str],
        *,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> list[float]:
        """Score how well each text answers the query, in the given order, on the model's scale.
        Scores are cached for an hour.

        Raises:
            ModelUnavailable: the endpoint failed now, or a moment ago.
        """
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
            answer = response.json()
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
