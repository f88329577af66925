"""Any endpoint with OpenAI's ``POST /embeddings``: OpenAI's own, vLLM, Ollama, …

Uses httpx and not LlamaIndex's OpenAI package, which needs a large SDK, retries inside the call,
and replaces line breaks in texts.
"""

from typing import Any, Final

import httpx
import numpy as np
from django.conf import settings
from llama_index.core.utils import get_tokenizer
from numpy.typing import NDArray

from core.outbound import make_client
from indexing.exceptions import EmbeddingUnavailable, ModelUnavailable
from indexing.spec import EmbeddingSpec

TIMEOUT: Final = httpx.Timeout(60, connect=10)  # seconds; a full batch on a slow server
TOO_MANY_REQUESTS: Final = 429
REQUEST_TIMEOUT: Final = 408
REJECTION_STATUSES: Final = {400, 413, 422}  # the request, or one text in it, is rejected


class RejectedText(ValueError):
    """The provider rejects this text but accepts others."""


class OpenAIModel:
    """A model behind an OpenAI-compatible endpoint."""

    batch_texts = 128
    batch_tokens = 32_768  # OpenAI allows 300,000; other servers less

    def __init__(self, model_name: str, base_url: str, api_key: str, dimension: int) -> None:
        self._model_name = model_name
        self._tokenize = get_tokenizer()
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        # The slash at the end keeps the path of the base URL when another is joined to it.
        self.client = make_client(
            base_url=base_url.rstrip("/") + "/", headers=headers, timeout=TIMEOUT
        )
        # Only this family accepts a dimension; other servers refuse the parameter.
        is_sizable = model_name.startswith("text-embedding-3")
        self._dimensions = dimension if is_sizable else None

    def embed_batch(self, texts: list[str]) -> NDArray[np.float32]:
        """(texts, dimension), in the given order.

        Raises:
            EmbeddingUnavailable: no answer, an overloaded server, or an incomplete answer.
            ModelUnavailable: the endpoint refuses the key, the model or every text.
            RejectedText: it refuses these texts but not others.
        """
        response = self._post(texts)
        status = response.status_code
        if status in REJECTION_STATUSES and self._post(["ok"]).is_success:
            raise RejectedText(
                f"The embedding provider refuses the text: {_describe_response(response)}"
            )
        if status in {REQUEST_TIMEOUT, TOO_MANY_REQUESTS} or status >= 500:
            raise EmbeddingUnavailable(
                f"The embedding provider answered {_describe_response(response)}"
            )
        if not response.is_success:
            raise ModelUnavailable(
                f"The embedding provider answered {_describe_response(response)}",
                fix="Check STRATA_OPENAI_BASE_URL, STRATA_OPENAI_API_KEY and embedding.model.",
            )
        try:
            rows = sorted(response.json()["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise EmbeddingUnavailable(
                "The embedding provider returned a malformed response."
            ) from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise EmbeddingUnavailable(
                f"The embedding provider returned {len(vectors)} vectors for {len(texts)} texts."
            )
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.asarray(self.embed_batch([text])[0], np.float32)

    def count_tokens(self, texts: list[str]) -> list[int]:
        """Exact for OpenAI's models (cl100k); an estimate for others, whose tokenizer is
        unknown."""
        return [len(self._tokenize(text)) for text in texts]

    def _post(self, texts: list[str]) -> httpx.Response:
        body: dict[str, Any] = {
            "model": self._model_name,
            "input": texts,
            "encoding_format": "float",
        }
        if self._dimensions is not None:
            body["dimensions"] = self._dimensions
        try:
            return self.client.post("embeddings", json=body)
        except httpx.TransportError as error:
            raise EmbeddingUnavailable(
                f"The embedding provider did not answer: {error!r}"
            ) from error


def load_openai(spec: EmbeddingSpec) -> OpenAIModel:
    """Create the model without a request: a wrong address or key fails at the first text."""
    return OpenAIModel(
        spec.model,
        settings.STRATA_OPENAI_BASE_URL,
        settings.STRATA_OPENAI_API_KEY,
        spec.dimension,
    )


def _describe_response(response: httpx.Response) -> str:
    """Return the status and the beginning of the body, which usually gives the reason."""
    return f"{response.status_code}: {' '.join(response.text.split())[:200]}"
