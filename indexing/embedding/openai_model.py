"""Any endpoint with OpenAI's ``POST /embeddings``: OpenAI's own, vLLM, Ollama, …

Uses httpx and not LlamaIndex's OpenAI package, which needs a large SDK, retries inside the call,
and replaces line breaks in texts.
"""

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import httpx
import numpy as np
from django.conf import settings
from llama_index.core.utils import get_tokenizer
from numpy.typing import NDArray
from tokenizers import Tokenizer

from core.circuit_breaker import CircuitBreaker
from core.outbound import make_client, parse_retry_after, read_json
from indexing.exceptions import EmbeddingUnavailable, ModelUnavailable
from indexing.spec import EmbeddingSpec, EndpointSpec
from indexing.spec.sections import read_api_key

TIMEOUT: Final = httpx.Timeout(60, connect=10)  # seconds; a full batch on a slow server
QUERY_TIMEOUT: Final = httpx.Timeout(10)  # seconds; someone waits
MIN_VECTOR_NUMBERS: Final = 4_096  # so that a wrong dimension in the spec is called one
NUMBER_BYTES: Final = 32  # of one number in JSON, with some to spare for the rest
TOO_MANY_REQUESTS: Final = 429
REQUEST_TIMEOUT: Final = 408
TOO_LARGE_STATUSES: Final = {413, 422}  # of a batch with too many texts, too
REJECTION_STATUSES: Final = {400, *TOO_LARGE_STATUSES}  # the request, or one text, is rejected

CountTokens = Callable[[str], int]


class RejectedText(ValueError):
    """The provider rejects this text but accepts others."""


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint."""

    batch_tokens = 32_768  # OpenAI allows 300,000; other servers less

    def __init__(
        self,
        model_name: str,
        endpoint: EndpointSpec,
        api_key: str,
        *,
        dimension: int,
        setting_names: str,
    ) -> None:
        self._endpoint = endpoint
        self._body = {"model": model_name, "encoding_format": "float", **endpoint.parameters}
        self._setting_names = setting_names  # where the address and the key come from
        self._count_tokens = _load_token_counter(endpoint.tokenizer)
        self.batch_texts = endpoint.batch_texts
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        # The slash at the end keeps the path of the base URL when another is joined to it.
        self.client = make_client(
            max_bytes=endpoint.batch_texts * max(dimension, MIN_VECTOR_NUMBERS) * NUMBER_BYTES,
            base_url=endpoint.base_url.rstrip("/") + "/",
            headers=headers,
        )
        self._breaker = CircuitBreaker(EmbeddingUnavailable)

    def embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        """(texts, dimension), in the given order.

        Raises:
            EmbeddingUnavailable: no answer, an overloaded server, or an incomplete answer.
            ModelUnavailable: the endpoint refuses the key, the model or every text.
            RejectedText: it refuses these texts but not others.
        """
        return self._embed(texts, self._endpoint.document_parameters)

    def embed_queries(self, texts: list[str]) -> NDArray[np.float32]:
        """As ``embed_batch``, but it waits less long, and soon after a failure not at all."""
        with self._breaker.guarding():
            return self._embed(texts, self._endpoint.query_parameters, QUERY_TIMEOUT)

    def count_tokens(self, texts: list[str]) -> list[int]:
        """As the spec's tokenizer counts; cl100k is exact for OpenAI's models only."""
        return [self._count_tokens(text) for text in texts]

    def _embed(
        self, texts: list[str], parameters: Mapping[str, Any], timeout: httpx.Timeout = TIMEOUT
    ) -> NDArray[np.float32]:
        response = self._post(texts, parameters, timeout)
        status = response.status_code
        if status in TOO_LARGE_STATUSES and len(texts) > 1:
            middle = len(texts) // 2
            parts = [texts[:middle], texts[middle:]]
            return np.concatenate([self._embed(part, parameters, timeout) for part in parts])
        if status in REJECTION_STATUSES and self._post(["ok"], parameters, timeout).is_success:
            raise RejectedText(
                f"The embedding provider refuses the text: {_describe_response(response)}"
            )
        if status in {REQUEST_TIMEOUT, TOO_MANY_REQUESTS} or status >= 500:
            unavailable = EmbeddingUnavailable(
                f"The embedding provider answered {_describe_response(response)}"
            )
            unavailable.retry_after = parse_retry_after(response.headers)
            raise unavailable
        if not response.is_success:
            raise ModelUnavailable(
                f"The embedding provider answered {_describe_response(response)}",
                fix=f"Check {self._setting_names} and embedding.model.",
            )
        try:
            rows = sorted(read_json(response)["data"], key=lambda row: row["index"])
            vectors = np.array([_read_vector(row["embedding"]) for row in rows], np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise EmbeddingUnavailable(
                "The embedding provider returned a malformed response."
            ) from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise EmbeddingUnavailable(
                f"The embedding provider returned {len(vectors)} vectors for {len(texts)} texts."
            )
        return vectors

    def _post(
        self, texts: list[str], parameters: Mapping[str, Any], timeout: httpx.Timeout
    ) -> httpx.Response:
        body = {**self._body, **parameters, "input": texts}
        sent = {name: value for name, value in body.items() if value is not None}
        try:
            return self.client.post("embeddings", json=sent, timeout=timeout)
        except httpx.TransportError as error:
            is_slow = isinstance(error, httpx.ReadTimeout) and len(texts) > 1
            raise EmbeddingUnavailable(
                f"The embedding provider did not answer: {error!r}",
                fix="If it is slow, lower embedding.batch_texts." if is_slow else None,
            ) from error


def load_openai(spec: EmbeddingSpec) -> OpenAIModel:
    """Create the model without a request: a wrong address or key fails at the first text. Raises
    ``ModelUnavailable``: the variable for the key is not set, or the tokenizer cannot be read."""
    if spec.endpoint is None:
        # Only this family accepts a dimension; other servers refuse the parameter.
        is_sizable = spec.model.startswith("text-embedding-3")
        endpoint = EndpointSpec.model_construct(
            base_url=settings.STRATA_OPENAI_BASE_URL,
            parameters={"dimensions": spec.dimension} if is_sizable else {},
        )
        return OpenAIModel(
            spec.model,
            endpoint,
            settings.STRATA_OPENAI_API_KEY,
            dimension=spec.dimension,
            setting_names="STRATA_OPENAI_BASE_URL, STRATA_OPENAI_API_KEY",
        )
    variable = spec.endpoint.api_key_variable
    return OpenAIModel(
        spec.model,
        spec.endpoint,
        read_api_key(variable, "embedding.endpoint.api_key_variable"),
        dimension=spec.dimension,
        setting_names=", ".join(filter(None, ["embedding.endpoint", variable])),
    )


def _load_token_counter(name: str) -> CountTokens:
    """Count tokens without the network. ``characters`` counts each character as one token, more
    than most models need."""
    if name == "characters":
        return len
    if name == "cl100k":
        tokenize = get_tokenizer()
        return lambda text: len(tokenize(text))
    try:
        tokenizer = Tokenizer.from_str(Path(name).read_text("utf-8"))
    except Exception as error:  # the library raises no narrower class
        raise ModelUnavailable(
            f"The tokenizer {name} cannot be read: {error}",
            field="embedding.endpoint.tokenizer",
            fix="Give the path of the model's tokenizer.json.",
        ) from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text).ids)


def _read_vector(embedding: Any) -> Any:
    """The numbers of one vector, which some endpoints send in base64."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4")
    return embedding


def _describe_response(response: httpx.Response) -> str:
    """Return the status and the beginning of the body, which usually gives the reason."""
    return f"{response.status_code}: {' '.join(response.text.split())[:200]}"
