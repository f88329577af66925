"""The service under measurement: a real ``serve`` on loopback, in a folder of its own."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[1]
KEY = "strata_benchmark"
START_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Text:
    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Service:
    client: httpx.Client
    data_dir: Path
    process: subprocess.Popen[bytes]

    def add(self, texts: Sequence[Text], index: str = "plain") -> None:
        lines = b"".join(
            json.dumps({"external_id": t.id, "title": t.title, "text": t.text}).encode() + b"\n"
            for t in texts
        )
        answer = self.client.post(f"/api/v1/indexes/{index}/artifacts/batch", content=lines)
        answer.raise_for_status()
        rejected = [line for line in answer.text.splitlines() if '"rejected"' in line]
        if rejected:
            raise RuntimeError(rejected[0])

    def wait_ready(self, count: int, index: str = "plain") -> None:
        while True:
            listed = self.client.get(
                f"/api/v1/indexes/{index}/artifacts/", params={"status": "ready", "limit": 1}
            ).json()
            if listed["count"] >= count:
                return
            time.sleep(0.1)

    def search(self, query: str, **parameters: Any) -> dict[str, Any]:
        answer = self.client.post(
            "/api/v1/search/pages", json={"index": "plain", "query": query, **parameters}
        )
        answer.raise_for_status()
        return answer.json()


@contextmanager
def serving(specs_dir: Path = ROOT / "specs") -> Iterator[Service]:
    """A fresh service; stopped, and its folder removed, at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="strata-bench-") as folder:
        port = _free_port()
        environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
            "STRATA_DATA_DIR": folder,
            "STRATA_SPECS_DIR": str(specs_dir),
            "STRATA_MODELS_DIR": str(ROOT / "var" / "models"),
            "STRATA_ADMIN_KEY": KEY,
        }
        command = [sys.executable, str(ROOT / "manage.py"), "serve", "--port", str(port)]
        with (Path(folder) / "serve.log").open("wb") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        client = httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {KEY}"},
            timeout=600,
            trust_env=False,
        )
        try:
            _wait_until_ready(client, process)
            yield Service(client, Path(folder), process)
        finally:
            client.close()
            process.terminate()
            process.wait(timeout=30)


def _wait_until_ready(client: httpx.Client, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"serve ended with {process.returncode}.")
        try:
            if client.get("/health/ready").is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise RuntimeError(f"serve was not ready within {START_SECONDS} s.")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def load_texts(count: int) -> list[Text]:
    """``count`` abstracts of scifact where the shared data is at hand, else paragraphs of the
    running Python's own reference, over and over under different titles."""
    corpus = ROOT.parent / "shared" / "data" / "beir" / "scifact" / "corpus.jsonl"
    if corpus.exists():
        with corpus.open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]
        return [Text(row["_id"], row["title"], row["text"]) for row in rows]
    from pydoc_data.topics import topics

    paragraphs = [
        paragraph
        for _, topic in sorted(topics.items())
        for paragraph in topic.split("\n\n")
        if len(paragraph) > 400
    ]
    return [
        Text(str(n), f"Paragraph {n}", f"{n}. {paragraphs[n % len(paragraphs)]}")
        for n in range(count)
    ]
