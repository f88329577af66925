"""Whoever owns documents, and keeps books of what the service says it has taken."""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import httpx

# within which everything must agree again, by itself: two leases, a reconciliation
SOUND_SECONDS = 300


class Reached(Protocol):
    """A service, however it is reached."""

    api: httpx.Client


class Refused(Exception):
    """It was not acknowledged; whether it was done is not known."""

    def __init__(self, answer: httpx.Response) -> None:
        super().__init__(f"{answer.status_code}: {answer.text[:1_000]}")
        self.answer = answer


def _taken(answer: httpx.Response) -> httpx.Response:
    if answer.status_code not in {200, 202}:
        raise Refused(answer)
    return answer


class Owner:
    """Gives, edits and deletes documents, and knows what the service said it has taken."""

    def __init__(self, service: Reached, index: str = "plain") -> None:
        self.service = service
        self.index = index
        self.ids: dict[str, str] = {}  # external id -> artifact id
        self.texts: dict[str, str] = {}
        self.failing: set[str] = set()  # documents that cannot be read

    def put(self, name: str, text: str, *, is_file: bool = False, **given: Any) -> None:
        """Give a document, or another text under its name."""
        path = f"indexes/{self.index}/artifacts/"
        if is_file:
            form = {"external_id": name, "title": name}
            file = {"file": (f"{name}.txt", text.encode())}
            answer = self.service.api.post(path, data=form, files=file)
        else:
            document = {"external_id": name, "title": name, "text": text, **given}
            answer = self.service.api.post(path, json=document)
        self.ids[name] = _taken(answer).json()["id"]
        self.texts[name] = text

    def put_many(self, texts: Mapping[str, str]) -> None:
        """Give several documents, or other texts under their names, in one request."""
        lines = [
            json.dumps({"external_id": name, "title": name, "text": text})
            for name, text in texts.items()
        ]
        answer = self.service.api.post(
            f"indexes/{self.index}/artifacts/batch",
            content="\n".join(lines),
            headers={"Content-Type": "application/x-ndjson"},
        )
        for (name, text), line in zip(texts.items(), _taken(answer).text.splitlines(), strict=True):
            self.ids[name], self.texts[name] = json.loads(line)["id"], text

    def relabel(self, name: str, **label: Any) -> None:
        _taken(self.service.api.patch(f"artifacts/{self.ids[name]}/", json=label))

    def delete(self, name: str) -> None:
        """Without harm if it was deleted by a request that was never answered."""
        if name in self.ids:
            answer = self.service.api.delete(f"artifacts/{self.ids[name]}/")
            if answer.status_code != 404:
                _taken(answer)
            del self.ids[name], self.texts[name]

    def check(self, *, asks_for_reconciliation: bool = False) -> None:
        """Everything syncs by itself, and is what was acknowledged.

        A reconciliation asked for is the one that comes each minute: it spares the test the minute.
        """
        if asks_for_reconciliation:
            self.service.api.post("reconcile/").raise_for_status()
        self.compare(await_sound(self.service, self.index))

    def compare(self, report: dict[str, Any]) -> None:
        """All that was acknowledged is there, each document once, and nothing else."""
        assert report["is_sound"], report
        assert report["node_count"] - report["failed_count"] == report["point_count"]
        artifacts = list(every_artifact(self.service, self.index))
        assert sorted(artifact["external_id"] for artifact in artifacts) == sorted(self.ids)
        assert {artifact["external_id"]: artifact["id"] for artifact in artifacts} == self.ids
        failed = {a["external_id"] for a in artifacts if a["status"] == "failed"}
        assert failed == self.failing
        assert {artifact["status"] for artifact in artifacts} <= {"ready", "failed"}
        for name in self.texts.keys() - self.failing:
            assert self.read(name) == self.texts[name]

    def read(self, name: str) -> str:
        """Its text, as the service has it."""
        page = self.service.api.get(f"artifacts/{self.ids[name]}/pages/0/")
        assert page.status_code == 200, page.text
        return str(page.json()["text"])

    def find(self, name: str, query: str) -> list[dict[str, Any]]:
        """Hits in this document."""
        sought = {"index": self.index, "query": query, "mode": "sparse", "limit": 20}
        answer = _taken(self.service.api.post("search/pages", json=sought))
        return [hit for hit in answer.json()["hits"] if hit["artifact"]["id"] == self.ids[name]]


def await_sound(service: Reached, index: str) -> dict[str, Any]:
    """The last report of ``verify``: sound and nothing under way, or as it was when patience ran
    out."""
    deadline = time.monotonic() + SOUND_SECONDS
    while True:
        report: dict[str, Any] = service.api.post(f"indexes/{index}/verify/").json()
        # A search that met a stale hit has its document planned once more.
        is_settled = report["is_sound"] and all(
            artifact["status"] in {"ready", "failed"} for artifact in every_artifact(service, index)
        )
        if is_settled or time.monotonic() > deadline:
            return report
        time.sleep(0.1)


def every_artifact(service: Reached, index: str) -> Iterator[dict[str, Any]]:
    offset = 0
    while True:
        page = service.api.get(
            f"indexes/{index}/artifacts/", params={"limit": 100, "offset": offset}
        ).json()
        yield from page["results"]
        offset += 100
        if page["next"] is None:
            return
