"""Switch the embedding model under query load, roll it back, and measure what later edits cost.

Every answer names its build. An answer is mixed if its hits or scores differ from what that build
returns alone: a query embedded by one model would get other scores from the other model's vectors.
"""

import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from benchmarks.service import add_texts, load_texts, measured_service, wait_until_ready
from tests.serving import KEY, Service

INDEX = "switched"
FIRST_SPEC = "title: Switched\nembedding: {precision: float32}\n"
SECOND_SPEC = "title: Switched\nembedding: {precision: int8}\n"
LIMIT = 10
POLL_SECONDS = 0.5

ScoredIds = tuple[tuple[str, float], ...]


@dataclass(slots=True)
class QueryLoad:
    """Sends one query after the other until it is stopped, and stores each answer."""

    url: str
    queries: list[str]
    answers: set[tuple[int, str, ScoredIds]] = field(default_factory=set)
    counts: Counter[int] = field(default_factory=Counter)  # by build
    failures: list[str] = field(default_factory=list)
    stop_event: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        headers = {"Authorization": f"Bearer {KEY}"}
        with httpx.Client(base_url=self.url, headers=headers, timeout=30, trust_env=False) as api:
            while not self.stop_event.is_set():
                for query in self.queries:
                    self._send_query(api, query)

    def _send_query(self, api: httpx.Client, query: str) -> None:
        try:
            answer = api.post("/api/v1/search/pages", json=_build_search(query))
        except httpx.HTTPError as error:
            self.failures.append(repr(error))
            return
        if answer.status_code != 200 or not answer.json()["hits"]:
            self.failures.append(f"{answer.status_code} {answer.text[:200]}")
            return
        build, ranking = _parse_answer(answer.json())
        self.counts[build] += 1
        self.answers.add((build, query, ranking))


def measure_model_switch(text_count: int, queries: list[str]) -> None:
    texts = load_texts(text_count)
    say = partial(print, flush=True)
    say(f"a model switched under load, {len(texts)} texts:")
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / f"{INDEX}.yaml"
        spec.write_text(FIRST_SPEC)
        with measured_service(STRATA_SPECS_DIR=folder) as service:
            started = time.perf_counter()
            add_texts(service, texts, INDEX)
            wait_until_ready(service, len(texts), INDEX)
            say(f"  {len(texts)} texts indexed: {time.perf_counter() - started:.0f} s")
            old = _get_reference_rankings(service, queries)
            load = QueryLoad(service.url, queries)
            asking = threading.Thread(target=load.run)
            asking.start()
            try:
                spec.write_text(SECOND_SPEC)
                started = time.perf_counter()
                build = _apply_spec(service)
                node_count = build["embedded"] + build["copied"]
                say(f"  switched, {node_count} chunks: {time.perf_counter() - started:.0f} s")
                time.sleep(2)
                new = _get_reference_rankings(service, queries)
                started = time.perf_counter()
                service.api.post(f"indexes/{INDEX}/rollback/").raise_for_status()
                say(f"  rolled back: {time.perf_counter() - started:.2f} s")
                time.sleep(2)
            finally:
                load.stop_event.set()
                asking.join()
            mixed = [
                answer for answer in load.answers
                if answer[2] != {1: old, 2: new}[answer[0]][answer[1]]
            ]  # fmt: skip
            distinct = sum(old[query] != new[query] for query in queries)
            say(f"  queries by build: {dict(sorted(load.counts.items()))}, of {len(queries)} kinds,"
                f" {distinct} of which the models answer differently")  # fmt: skip
            say(f"  failed: {len(load.failures)}; mixed: {len(mixed)}")
            for failure in load.failures[:3]:
                say(f"    {failure}")
            changed = _count_embedded_by(
                service, lambda: _edit_texts(service, texts[: text_count // 100])
            )
            say(f"  1% of the texts edited: {changed} embedded, {changed / node_count:.2%} of all")
            relabelled = _count_embedded_by(
                service, lambda: _change_metadata(service, texts[: text_count // 100])
            )
            say(f"  metadata of 1% changed: {relabelled} embedded")


def _build_search(query: str) -> dict[str, Any]:
    return {"index": INDEX, "query": query, "mode": "dense", "limit": LIMIT}


def _parse_answer(answer: dict[str, Any]) -> tuple[int, ScoredIds]:
    hits = tuple((hit["node_id"], round(hit["score"], 5)) for hit in answer["hits"])
    return answer["build"], hits


def _get_reference_rankings(service: Service, queries: list[str]) -> dict[str, ScoredIds]:
    """Return the live build's answer to each query while nothing changes."""
    return {
        query: _parse_answer(service.api.post("search/pages", json=_build_search(query)).json())[1]
        for query in queries
    }


def _apply_spec(service: Service) -> dict[str, Any]:
    begun = service.api.post(f"indexes/{INDEX}/builds/", json={"promote": True})
    begun.raise_for_status()
    address = f"indexes/{INDEX}/builds/{begun.json()['number']}/"
    while True:
        build: dict[str, Any] = service.api.get(address).json()
        if build["state"] == "live":
            return build
        if build["comparison"] and build["promotion"] == "manual":
            raise RuntimeError(build["comparison"])
        time.sleep(POLL_SECONDS)


def _count_embedded_nodes(service: Service) -> int:
    """Count the nodes embedded for the live build so far."""
    builds = service.api.get(f"indexes/{INDEX}/builds/").json()["results"]
    return sum(build["embedded"] for build in builds if build["state"] == "live")


def _count_embedded_by(service: Service, change: Any) -> int:
    before = _count_embedded_nodes(service)
    revision = change()
    while (
        service.api.post(
            "search/pages", json={**_build_search("anything"), "min_revision": revision}
        ).status_code
        == 409
    ):
        time.sleep(POLL_SECONDS)
    return _count_embedded_nodes(service) - before


def _edit_texts(service: Service, texts: list[Any]) -> int:
    """Append a sentence to each text; return the last revision."""
    revision = 0
    for text in texts:
        edited = {
            "external_id": text.id,
            "title": text.title,
            "text": f"{text.text} It was edited.",
        }
        answer = service.api.post(f"indexes/{INDEX}/artifacts/", json=edited)
        answer.raise_for_status()
        revision = answer.json()["revision"]
    return revision


def _change_metadata(service: Service, texts: list[Any]) -> int:
    """Change the metadata of each artifact; return the last revision."""
    revision = 0
    for text in texts:
        found = service.api.get(f"indexes/{INDEX}/artifacts/", params={"external_id": text.id})
        [artifact] = found.json()["results"]
        answer = service.api.patch(f"artifacts/{artifact['id']}/", json={"metadata": {"seen": 1}})
        answer.raise_for_status()
        revision = answer.json()["revision"]
    return revision
