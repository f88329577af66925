"""The service under measurement: a real ``serve`` on loopback, in a folder of its own."""

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.serving import ROOT, Service, serving

POLL_SECONDS = 0.25  # each look costs the service some milliseconds


@dataclass(frozen=True, slots=True)
class Text:
    id: str
    title: str
    text: str


@contextmanager
def measured_service(**environment: str) -> Iterator[Service]:
    """A fresh service; stopped, and its folder removed, at the end of the block."""
    with (
        tempfile.TemporaryDirectory(prefix="strata-bench-") as folder,
        serving(Path(folder), **environment) as service,
    ):
        yield service


def add(service: Service, texts: Sequence[Text], index: str = "plain") -> None:
    """Give all of them in one request."""
    lines = b"".join(
        json.dumps({"external_id": t.id, "title": t.title, "text": t.text}).encode() + b"\n"
        for t in texts
    )
    answer = service.api.post(f"indexes/{index}/artifacts/batch", content=lines)
    answer.raise_for_status()
    if rejected := [line for line in answer.text.splitlines() if '"rejected"' in line]:
        raise RuntimeError(rejected[0])


def wait_until_ready(service: Service, count: int, index: str = "plain") -> None:
    """Return once ``count`` artifacts can be searched whole."""
    parameters: dict[str, Any] = {"status": "ready", "limit": 1}
    address = f"indexes/{index}/artifacts/"
    while service.api.get(address, params=parameters).json()["count"] < count:
        time.sleep(POLL_SECONDS)


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


def load_pages(count: int, chars: int) -> list[Text]:
    """``count`` texts of about so many characters: those of ``load_texts``, one after the other
    and cut between words."""
    pages: list[Text] = []
    held, title = "", ""
    for text in load_texts(count * chars // 400):
        held, title = f"{held} {text.text}".strip(), title or text.title
        while len(held) > chars and len(pages) < count:
            end = held.rfind(" ", 0, chars)
            pages.append(Text(str(len(pages)), title, held[:end]))
            held, title = held[end:].strip(), text.title
        if len(pages) == count:
            break
    return pages
