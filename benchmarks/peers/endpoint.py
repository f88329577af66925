"""The embedding endpoint of all systems: deterministic, cheap, and able to trigger an event."""

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks.peers.corpus import SIGNATURE

DIMENSION = 16


class EmbeddingEndpoint:
    """OpenAI's ``POST /embeddings``. The first component of a vector identifies the model."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.embedded: Counter[tuple[str, str]] = Counter()  # (model, text) -> count
        self._lock = threading.Lock()
        self._scheduled_event: tuple[int, Callable[[list[str]], bool]] | None = None

    def schedule_event(self, text_count: int, event: Callable[[list[str]], bool]) -> None:
        """Call ``event`` with the texts of the request with the ``text_count``-th text from now on.
        If it returns False, that request fails."""
        self._scheduled_event = (self.embedded.total() + text_count, event)

    @property
    def has_fired(self) -> bool:
        """Whether the scheduled event has happened."""
        return self._scheduled_event is None

    @property
    def repeated_count(self) -> int:
        """Number of embeddings of texts that the same model had already embedded."""
        return self.embedded.total() - len(self.embedded)

    def embed_texts(self, model: str, texts: list[str]) -> dict[str, Any] | None:
        """Return the response, or None to fail like an overloaded server."""
        with self._lock:
            documents = [text for text in texts if SIGNATURE.search(text)]
            if (
                self._scheduled_event
                and self.embedded.total() + len(documents) >= self._scheduled_event[0]
            ):
                event, self._scheduled_event = self._scheduled_event[1], None
                if not event(documents):
                    return None
            self.embedded.update((model, text) for text in documents)
        rows = [{"index": i, "embedding": _vector(model, text)} for i, text in enumerate(texts)]
        return {"data": rows, "model": model, "usage": {"prompt_tokens": 0, "total_tokens": 0}}


def _vector(model: str, text: str) -> list[float]:
    digest = hashlib.sha256(text.encode()).digest()[: DIMENSION - 1]
    return [8.0 if model == "a" else -8.0, *(byte / 255 for byte in digest)]


@contextmanager
def serve_endpoint() -> Iterator[EmbeddingEndpoint]:
    """Serve the endpoint on a free loopback port until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = endpoint.embed_texts(asked["model"], asked["input"])
            body = json.dumps(answer or {"error": {"message": "overloaded"}}).encode()
            try:
                self.send_response(200 if answer else 503)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except ConnectionError:
                self.close_connection = True  # the client was killed

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint = EmbeddingEndpoint(f"http://127.0.0.1:{server.server_port}/v1")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
