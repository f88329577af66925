"""Writes a data folder to a file and back: the rows of the database as SQL, the points as JSON.

``python -m tests.upgrade.folders RELEASE`` makes the file of a release with the current code.
Run it once for each release, and keep the files of all earlier ones.
"""

import gzip
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.serving import Service, serving

RELEASES = Path(__file__).with_name("releases")
DATABASE = "strata.sqlite3"
QUERIES = {
    "library": "what does the heron eat",
    "knowledge": "stones below the ground",
    "evidence": "aspirin after a stroke",
}
DOCUMENTS = [
    ("library", {"text": "The heron waits for fish.\n\nGranite cools slowly.", "title": "Notes"}),
    ("library", {"pages": ["Herons eat frogs.", "Boats leave at noon."], "external_id": "b"}),
    ("knowledge", {"text": "Granite lies below the ground.", "external_id": "stones"}),
]
FINDINGS = [
    {"url": "https://a.example/", "content": "Aspirin lowers the risk of a second stroke."},
    {"url": "https://b.example/", "content": "Aspirin raises the risk of bleeding."},
]


def write_release(name: str) -> None:
    """Make documents with the current code, and write what they are and how they are found."""
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder)
        with serving(data_dir) as service:
            for index, document in DOCUMENTS:
                service.api.post(f"indexes/{index}/artifacts/", json=document).raise_for_status()
            service.api.post(
                "indexes/evidence/evidence/", json={"items": FINDINGS}
            ).raise_for_status()
            _wait_until_ready(service)
            concept = service.api.post("indexes/knowledge/concepts/", json={"label": "Granite"})
            artifact = service.api.get("indexes/knowledge/artifacts/").json()["results"][0]
            quote = {"quote": "Granite lies below", "artifact": artifact["id"]}
            path = f"concepts/{concept.json()['id']}/instances/"
            service.api.post(path, json=quote).raise_for_status()
            _wait_until_ready(service)
            answers = ask(service)
        points = _run_points(data_dir, "read", "")
        with sqlite3.connect(data_dir / DATABASE) as database:
            sql = list(database.iterdump())
    content = {"sql": sql, "points": json.loads(points), "answers": answers}
    RELEASES.mkdir(exist_ok=True)
    text = json.dumps(content, ensure_ascii=False, indent=0)
    (RELEASES / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def restore(path: Path, data_dir: Path) -> Any:
    """Make the data folder of a release, and return the answers that it gave."""
    content = json.loads(gzip.decompress(path.read_bytes()))
    with sqlite3.connect(data_dir / DATABASE) as database:
        database.executescript("\n".join(content["sql"]))
    _run_points(data_dir, "write", json.dumps(content["points"]))
    return content["answers"]


def ask(service: Service) -> dict[str, Any]:
    """What searches find, and how much was embedded."""
    found: dict[str, Any] = {}
    for index, query in QUERIES.items():
        answer = service.api.post("search/pages", json={"index": index, "query": query}).json()
        found[index] = [[hit["node_id"], hit["text"], hit["verdict"]] for hit in answer["hits"]]
    concepts = service.api.post(
        "search/concepts", json={"index": "knowledge", "query": "granite"}
    ).json()
    found["concepts"] = [[hit["label"], hit["evidence"][0]["quote"]] for hit in concepts["hits"]]
    for index in QUERIES:
        [build] = service.api.get(f"indexes/{index}/builds/").json()["results"]
        found[f"{index} build"] = [build["embedded"], build["copied"], build["nodes"]]
    return found


def _wait_until_ready(service: Service) -> None:
    for _ in range(300):
        indexes = service.api.get("indexes/").json()["results"]
        if not any(each["artifacts_waiting"] or each["nodes"]["pending"] for each in indexes):
            return
        time.sleep(0.2)
    raise AssertionError(indexes)


def _run_points(data_dir: Path, action: str, given: str) -> str:
    """Read or write the points in a process of its own, which owns the vector engine."""
    environment = Service(data_dir).environment
    return subprocess.run(
        [sys.executable, "-m", "tests.upgrade.points", action],
        env=environment, input=given, capture_output=True, text=True, check=True, timeout=300,
    ).stdout  # fmt: skip


if __name__ == "__main__":
    write_release(sys.argv[1])
