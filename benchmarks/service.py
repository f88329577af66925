"""Start the measured service on loopback, embedded or production form, and load texts for it."""

import gzip
import itertools
import json
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.serving import KEY, ROOT, Service, serving

if TYPE_CHECKING:
    from tests.servers.production import Production

ABSTRACTS = ROOT.parent / "shared" / "data" / "acl" / "acl_abstracts_10k.jsonl.gz"
POLL_SECONDS = 0.25  # each poll costs the service some milliseconds
RECEIVE_BUFFER_BYTES = 2**18


@dataclass(frozen=True, slots=True)
class SampleText:
    id: str
    title: str
    text: str


class Connection:
    """A cheap client with a persistent connection.

    ``http.client`` takes half the time of a bare request, which would count as the service's.
    """

    def __init__(self, port: int, key: str = KEY) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._headers = (
            f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\n"
            "X-Forwarded-Proto: https\r\n"  # as the proxy of the production form sends it
        )

    def get(self, path: str) -> bytes:
        return self._send_request(f"GET {path} HTTP/1.1\r\n{self._headers}\r\n".encode())

    def post(self, path: str, parameters: Mapping[str, Any]) -> bytes:
        body = json.dumps(parameters).encode()
        described = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        head = f"POST {path} HTTP/1.1\r\n{self._headers}{described}\r\n"
        return self._send_request(head.encode() + body)

    def close(self) -> None:
        self._socket.close()

    def _send_request(self, request: bytes) -> bytes:
        """Send the request and return the body of the response.

        Raises:
            RuntimeError: the service answered with anything but 200.
        """
        self._socket.sendall(request)
        received = self._receive()
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += self._receive()
        head = received[:end].lower()
        length = int(head.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
        parts = [received[end + 4 :]]
        missing = length - len(parts[0])
        while missing:
            parts.append(self._receive())
            missing -= len(parts[-1])
        if not head.startswith(b"http/1.1 200 "):
            raise RuntimeError(b"".join(parts).decode())
        return b"".join(parts)

    def _receive(self) -> bytes:
        received = self._socket.recv(RECEIVE_BUFFER_BYTES)
        if not received:
            raise ConnectionError("The service closed the connection.")
        return received


@contextmanager
def measured_service(**environment: str) -> Iterator[Service]:
    """Start a new service; stop it and remove its folder at the end of the block."""
    with (
        tempfile.TemporaryDirectory(prefix="strata-bench-") as folder,
        serving(Path(folder), **environment) as service,
    ):
        yield service


@contextmanager
def production_service(
    folder: Path, environment: Mapping[str, str], *, root: Path = ROOT
) -> Iterator[tuple["Production", str, int]]:
    """Start the production form of a checkout, with a new database on the tests' PostgreSQL, their
    Redis and its own stand-in for Qdrant; yield it, an API key, and the pid of its web server."""
    import psycopg

    from core.apps import list_queues
    from tests.qdrant_loopback.process import qdrant_loopback
    from tests.servers.production import Production

    server = os.environ.get(
        "STRATA_TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres"
    )
    name = f"strata_bench_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            with qdrant_loopback(root=root) as qdrant:
                production = Production(
                    folder,
                    database_url=f"{server.rpartition('/')[0]}/{name}",
                    redis_url=os.environ.get("STRATA_TEST_REDIS_URL", "redis://127.0.0.1:6379/9"),
                    qdrant_url=qdrant.url,
                    **{
                        "STRATA_KEY_REQUESTS_PER_MINUTE": "0",
                        **environment,
                        "STRATA_TEST_QUICK": "1",
                        "WEB_CONCURRENCY": "1",
                    },
                )
                production.root, production.python = root, str(root / ".venv/bin/python")
                for command in (["migrate"], ["status"]):
                    production.manage(*command).check_returncode()
                key = production.manage("key", "create", "benchmark").stdout.strip()
                production.authorise(key)
                with production.worker(*list_queues()), production.web() as process:
                    yield production, key, process.pid
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def add_texts(
    service: "Service | Production", texts: Sequence[SampleText], index: str = "plain"
) -> None:
    lines = b"".join(
        json.dumps({"external_id": t.id, "title": t.title, "text": t.text}).encode() + b"\n"
        for t in texts
    )
    answer = service.api.post(f"indexes/{index}/artifacts/batch", content=lines)
    answer.raise_for_status()
    if rejected := [line for line in answer.text.splitlines() if '"rejected"' in line]:
        raise RuntimeError(rejected[0])


def wait_until_ready(
    service: "Service | Production",
    count: int,
    index: str = "plain",
    *,
    poll_seconds: float = POLL_SECONDS,
) -> None:
    """Return once ``count`` artifacts are ready; each poll takes processor time of the service."""
    parameters: dict[str, Any] = {"status": "ready", "limit": 1}
    address = f"indexes/{index}/artifacts/"
    while service.api.get(address, params=parameters).json()["count"] < count:
        time.sleep(poll_seconds)


def read_embedding_seconds(service: "Service | Production") -> float:
    """Read the seconds in which a worker embedded, which the service stores for its estimates.

    The service halves them from 600 on (``indexing/throughput.py``). They include other waiting
    during embedding, such as for the interpreter lock.
    """
    command = (
        "from indexing.models import Throughput; "
        "print(sum(Throughput.objects.values_list('seconds', flat=True)))"
    )
    done = service.manage("shell", "--verbosity", "0", "--command", command)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(done.stdout)


def load_texts(count: int) -> list[SampleText]:
    """Load ``count`` abstracts of scifact if the shared data exists, else repeated paragraphs of
    the running Python's reference with different titles."""
    corpus = ROOT.parent / "shared" / "data" / "beir" / "scifact" / "corpus.jsonl"
    if corpus.exists():
        with corpus.open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]
        return [SampleText(row["_id"], row["title"], row["text"]) for row in rows]
    from pydoc_data.topics import topics

    paragraphs = [
        paragraph
        for _, topic in sorted(topics.items())
        for paragraph in topic.split("\n\n")
        if len(paragraph) > 400
    ]
    return [
        SampleText(str(n), f"Paragraph {n}", f"{n}. {paragraphs[n % len(paragraphs)]}")
        for n in range(count)
    ]


def load_abstracts(count: int) -> list[SampleText]:
    """Load ``count`` abstracts if the shared data exists, else the texts of ``load_texts``."""
    if not ABSTRACTS.exists():
        print(f"{ABSTRACTS} is missing: other texts take the place of its abstracts.", flush=True)
        return load_texts(count)
    with gzip.open(ABSTRACTS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in itertools.islice(lines, count)]
    return [SampleText(row["id"], row["title"], row["abstract"]) for row in rows]


def load_pages(count: int, chars: int) -> list[SampleText]:
    """Make ``count`` texts of about ``chars`` characters: the joined texts of ``load_texts``, cut
    between words."""
    pages: list[SampleText] = []
    pending_text, title = "", ""
    for text in load_texts(count * chars // 400):
        pending_text, title = f"{pending_text} {text.text}".strip(), title or text.title
        while len(pending_text) > chars and len(pages) < count:
            end = pending_text.rfind(" ", 0, chars)
            pages.append(SampleText(str(len(pages)), title, pending_text[:end]))
            pending_text, title = pending_text[end:].strip(), text.title
        if len(pages) == count:
            break
    return pages
