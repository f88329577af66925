"""A client that owns documents and records what the service has acknowledged."""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import httpx

SOUND_SECONDS = 300  # after a fault: time for two leases and a reconciliation


class ServiceWithApi(Protocol):
    """A service in this process or another."""

    api: httpx.Client


class Refused(Exception):
    """The service returned an error; it may have carried out the request nevertheless."""

    def __init__(self, answer: httpx.Response) -> None:
        super().__init__(f"{answer.status_code}: {answer.text[:1_000]}")
        self.answer = answer


def _check_acknowledged(answer: httpx.Response) -> httpx.Response:
    if answer.status_code not in {200, 202}:
        raise Refused(answer)
    return answer


class Owner:
    """Adds, edits and deletes documents, and records what the service has acknowledged."""

    def __init__(self, service: ServiceWithApi, index: str = "plain") -> None:
        self.service = service
        self.index = index
        self.ids: dict[str, str] = {}  # external id -> artifact id
        self.texts: dict[str, str] = {}
        self.failing: set[str] = set()  # documents that cannot be parsed

    def put(self, name: str, text: str, *, is_file: bool = False, **given: Any) -> None:
        """Add a document, or replace the one with this external id."""
        path = f"indexes/{self.index}/artifacts/"
        if is_file:
            form = {"external_id": name, "title": name}
            file = {"file": (f"{name}.txt", text.encode())}
            answer = self.service.api.post(path, data=form, files=file)
        else:
            document = {"external_id": name, "title": name, "text": text, **given}
            answer = self.service.api.post(path, json=document)
        self.ids[name] = _check_acknowledged(answer).json()["id"]
        self.texts[name] = text

    def put_many(self, texts: Mapping[str, str]) -> None:
        """Add or replace several documents in one request."""
        lines = [
            json.dumps({"external_id": name, "title": name, "text": text})
            for name, text in texts.items()
        ]
        answer = self.service.api.post(
            f"indexes/{self.index}/artifacts/batch",
            content="\n".join(lines),
            headers={"Content-Type": "application/x-ndjson"},
        )
        for (name, text), line in zip(
            texts.items(), _check_acknowledged(answer).text.splitlines(), strict=True
        ):
            self.ids[name], self.texts[name] = json.loads(line)["id"], text

    def relabel(self, name: str, **label: Any) -> None:
        _check_acknowledged(self.service.api.patch(f"artifacts/{self.ids[name]}/", json=label))

    def delete(self, name: str) -> None:
        """Delete a document; no error if a request without an answer has already deleted it."""
        if name in self.ids:
            answer = self.service.api.delete(f"artifacts/{self.ids[name]}/")
            if answer.status_code != 404:
                _check_acknowledged(answer)
            del self.ids[name], self.texts[name]

    def check(self, *, asks_for_reconciliation: bool = False) -> None:
        """Check that the index becomes sound without help and holds what was acknowledged.

        ``asks_for_reconciliation``: do not wait for the reconciliation of the next minute.
        """
        if asks_for_reconciliation:
            self.service.api.post("reconcile/").raise_for_status()
        self.compare(await_sound(self.service, self.index))

    def compare(self, report: dict[str, Any]) -> None:
        """Check that the index holds each acknowledged document once, and nothing else."""
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
        """The document's text in the service."""
        page = self.service.api.get(f"artifacts/{self.ids[name]}/pages/0/")
        assert page.status_code == 200, page.text
        return str(page.json()["text"])

    def find(self, name: str, query: str) -> list[dict[str, Any]]:
        """Hits in this document."""
        sought = {"index": self.index, "query": query, "mode": "sparse", "limit": 20}
        answer = _check_acknowledged(self.service.api.post("search/pages", json=sought))
        return [hit for hit in answer.json()["hits"] if hit["artifact"]["id"] == self.ids[name]]


def await_sound(service: ServiceWithApi, index: str) -> dict[str, Any]:
    """The last report of ``verify``, as soon as it is sound and nothing is pending, or at the
    timeout."""
    deadline = time.monotonic() + SOUND_SECONDS
    while True:
        is_late = time.monotonic() > deadline
        if is_late or is_idle(service, index):
            report: dict[str, Any] = service.api.post(f"indexes/{index}/verify/").json()
            # A search that finds a stale hit makes its document due again.
            if is_late or (report["is_sound"] and is_idle(service, index)):
                return report
        time.sleep(0.1)


def is_idle(service: ServiceWithApi, index: str) -> bool:
    """Whether no artifact is waiting for its parsing or indexing."""
    return all(
        artifact["status"] in {"ready", "failed"} for artifact in every_artifact(service, index)
    )


def every_artifact(service: ServiceWithApi, index: str) -> Iterator[dict[str, Any]]:
    offset = 0
    while True:
        page = service.api.get(
            f"indexes/{index}/artifacts/", params={"limit": 100, "offset": offset}
        ).json()
        yield from page["results"]
        offset += 100
        if page["next"] is None:
            return
