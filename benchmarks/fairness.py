"""Measure how long a small document waits while a huge one is being indexed."""

import statistics
import time
from collections import defaultdict

from benchmarks.raw import chunk_texts
from benchmarks.service import SampleText, load_pages, load_texts, measured_service
from tests.serving import Service

SMALL_CHARS = {"two pages": 16_000, "a paragraph": 600}
REPEATS = 5
POLL_SECONDS = 0.05
PATIENCE_SECONDS = 60  # longer waits count as this long
RUN_SECONDS = 150  # of measurement while the huge text is indexed
WANTED_RATIO = 3
# Phases of the huge text. The service is embedding once PLANNED_NODES nodes are planned.
PLANNING, EMBEDDING = "reads and plans", "embeds"
PLANNED_NODES = 500


def measure_fairness(huge_bytes: int) -> None:
    """Add small documents of each size in turn, first alone, then while a huge one is indexed."""
    # Texts must differ, because the service copies the vectors of equal texts.
    texts = {size: load_pages(4 * REPEATS, chars) for size, chars in SMALL_CHARS.items()}
    alone: dict[str, list[float]] = defaultdict(list)  # by size, seconds from add to ready
    beside: dict[tuple[str, str], list[float]] = defaultdict(list)  # by size and phase
    with measured_service() as service:
        service.add("plain", text="Once.", external_id="warm")  # loads the model
        for n in range(REPEATS):
            for size in texts:
                alone[size].append(_time_add(service, f"{size} {n}", texts[size][n]))
        file = {"file": ("huge.txt", make_huge_text(huge_bytes).encode())}
        huge = service.api.post("indexes/plain/artifacts/", files=file).raise_for_status().json()
        deadline = time.monotonic() + RUN_SECONDS
        for n in range(REPEATS, 4 * REPEATS):
            for size in texts:
                nodes = service.api.get("indexes/plain/").json()["nodes"]
                phase = EMBEDDING if nodes["pending"] > PLANNED_NODES else PLANNING
                seconds = _time_add(service, f"{size} {n}", texts[size][n])
                if not _is_ready(service, huge["id"]):
                    beside[size, phase].append(seconds)
            if len(beside[size, EMBEDDING]) == REPEATS or time.monotonic() > deadline:
                break
        nodes = service.api.get("indexes/plain/").json()["nodes"]
    print(f"fairness beside a text of {huge_bytes / 1e6:g} MB, medians; nodes at the end: {nodes}")
    for size in texts:
        chunk_count = len(chunk_texts(texts[size])) // len(texts[size])
        idle = statistics.median(alone[size])
        print(f"  {size}, {chunk_count} chunks, alone: {idle:.2f} s of {REPEATS}")
        for phase in (PLANNING, EMBEDDING):
            waits = beside[size, phase]
            if not waits:
                print(f"    while the service {phase} the huge text: not measured")
                continue
            median = statistics.median(waits)
            bound = "at least " if median >= PATIENCE_SECONDS else ""
            print(f"    while the service {phase} the huge text: {bound}{median:.2f} s of"
                  f" {len(waits)}, ratio {bound}{median / idle:.1f}"
                  f" (wanted: {WANTED_RATIO} or less)")  # fmt: skip


def make_huge_text(size: int) -> str:
    """Make a text of about ``size`` characters. No paragraph repeats, because the service copies
    the vectors of equal texts."""
    paragraphs: list[str] = []
    missing, texts = size, load_texts(5_000)
    while missing > 0:
        paragraph = f"{len(paragraphs)}. {texts[len(paragraphs) % len(texts)].text}"
        paragraphs.append(paragraph)
        missing -= len(paragraph) + 2
    return "\n\n".join(paragraphs)


def _time_add(service: Service, external_id: str, text: SampleText) -> float:
    started = time.monotonic()
    document = {"external_id": external_id, "title": text.title, "text": text.text}
    added = service.api.post("indexes/plain/artifacts/", json=document).raise_for_status()
    while not _is_ready(service, added.json()["id"]):
        if time.monotonic() - started > PATIENCE_SECONDS:
            break
        time.sleep(POLL_SECONDS)
    return time.monotonic() - started


def _is_ready(service: Service, artifact_id: str) -> bool:
    artifact = service.api.get(f"artifacts/{artifact_id}/").raise_for_status().json()
    assert artifact["status"] != "failed", artifact
    return bool(artifact["status"] == "ready")
