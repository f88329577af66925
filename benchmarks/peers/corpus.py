"""The documents, each of one chunk, and the facts that a point contains about its document."""

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIGNATURE = re.compile(r"Signed by buoy (\d+), revision (\d+)")


@dataclass(frozen=True, slots=True)
class Document:
    number: int
    revision: int = 1

    @property
    def name(self) -> str:
        return f"buoy-{self.number}"

    @property
    def text(self) -> str:
        swell = f"A swell of {self.number % 9} metres, turning to the west."
        return f"{swell} Signed by buoy {self.number}, revision {self.revision}."


@dataclass(frozen=True, slots=True)
class PointFacts:
    """The document, revision and model that a point was made from."""

    number: int
    revision: int
    model: str

    @classmethod
    def read(cls, payload: Any, first_component: float) -> "PointFacts":
        found = SIGNATURE.search(json.dumps(payload, default=str))
        assert found, payload
        number, revision = map(int, found.groups())
        return cls(number, revision, "a" if first_component > 0 else "b")


@dataclass(frozen=True, slots=True)
class Differences:
    """Counts of how the points differ from the documents."""

    lost: int  # documents without a current point
    orphaned: int  # points of deleted documents
    doubled: int  # points beyond the first of a document and revision
    stale: int  # points of an earlier revision or model

    @classmethod
    def compare(
        cls, points: Iterable[PointFacts], documents: Iterable[Document], model: str
    ) -> "Differences":
        found = list(points)
        revisions = {document.number: document.revision for document in documents}
        current = Counter(
            point.number
            for point in found
            if point.model == model and revisions.get(point.number) == point.revision
        )
        orphaned = sum(point.number not in revisions for point in found)
        doubled = sum(count - 1 for count in current.values())
        return cls(
            lost=len(revisions) - len(current),
            orphaned=orphaned,
            doubled=doubled,
            stale=len(found) - orphaned - current.total(),
        )

    @property
    def is_sound(self) -> bool:
        return self == Differences(0, 0, 0, 0)


def write_documents(path: Path, documents: Iterable[Document]) -> None:
    path.write_text(json.dumps([[d.number, d.revision] for d in documents]))


def read_documents(path: Path) -> list[Document]:
    return [Document(*values) for values in json.loads(path.read_text())]
