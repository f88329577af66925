"""Documents named in a question by identifier: what they say takes the name's place."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from haystack import component

from documents.models import Artifact, Page
from indexing.spec import IdentifierSpec
from indexing.stores import Match, Payload, Query, get_store
from retrieval.pipelines.threads import in_threads
from retrieval.search import MAX_QUERY_CHARS
from retrieval.search.targets import Target, find_builds, make_targets, read_spec

MAX_NAMES = 5  # looked up in one question
TEXT_CHARS = 1_000  # of each document: more than the window of most models

# An address or a prefix around a name belongs to it: https://aclanthology.org/P19-1001/
_AROUND_BEFORE = re.compile(r"(?:https?://\S*|\bdoi:\s?)\Z", re.IGNORECASE)
_AROUND_AFTER = re.compile(r"[^\s,;)\]}>\"']*")


@dataclass(frozen=True, slots=True)
class Name:
    """One identifier in a question: ``start`` and ``end`` count code points, with all that
    belongs to it."""

    text: str
    field: str
    start: int
    end: int


@component
@in_threads
class IdentifierLookup:
    """Replaces identifiers in a question, written in any case, by their documents' titles and
    texts, so that what is like them is found.

    Which there are is the spec's to say. A name that no document of the index has stays as it
    is, and a note says so.
    """

    @component.output_types(query=str, identified=list[dict[str, Any]], notes=list[str])
    def run(self, index: str, query: str) -> dict[str, Any]:
        """Raises ``UnknownIndex``, or ``StoreUnavailable``: retry helps."""
        build = find_builds([index])[index]
        spec = None if build is None else read_spec(build.recipe)
        if spec is None or not spec.identifiers:
            return {"query": query, "identified": [], "notes": []}
        names = find_names(query, spec.identifiers)
        notes = []
        if len(names) > MAX_NAMES:
            notes.append(f"Only the first {MAX_NAMES} identifiers were looked up.")
        names = names[:MAX_NAMES]
        [target] = make_targets([build], [spec.kinds[0]], None)
        found = find_documents(target, names)
        texts = read_texts([UUID(payload["artifact_id"]) for payload in found.values()])
        identified: list[dict[str, Any]] = []
        said: dict[str, str] = {}
        for name in names:
            if name.text not in found:
                notes.append(f"No document of {index} is called {name.text}.")
                continue
            artifact_id = found[name.text]["artifact_id"]
            title = found[name.text]["artifact_title"]
            identified.append({"identifier": name.text, "artifact_id": artifact_id, "title": title})
            said[name.text] = texts.get(UUID(artifact_id)) or title
        return {
            "query": replace_names(query, names, said),
            "identified": identified,
            "notes": notes,
        }


def find_names(query: str, identifiers: Mapping[str, IdentifierSpec]) -> list[Name]:
    """The identifiers in a question, in their order; of those that overlap the first, and the
    longest."""
    matches = [
        (match.start(), -match.end(), match, identifier.field)
        for identifier in identifiers.values()
        for match in re.finditer(
            rf"(?<!\w)(?:{identifier.pattern})(?!\w)", query, flags=re.IGNORECASE
        )
    ]
    names: list[Name] = []
    for start, negative_end, match, field in sorted(matches, key=lambda found: found[:2]):
        if names and start < names[-1].end:
            continue
        names.append(Name(match[0], field, *_widen(query, start, -negative_end)))
    return names


def find_documents(target: Target, names: Sequence[Name]) -> dict[str, Payload]:
    """Name -> the payload of one node of its document, for those there are; one request."""
    # Any direction does: the filter alone decides.
    dense = np.full(target.spec.embedding.dimension, 1, dtype=np.float32)
    queries = [
        Query(dense=dense, filter=Match(name.field, _spellings(name.text)), limit=1)
        for name in names
    ]
    answers = get_store().search_many([(target.collection, query) for query in queries])
    return {
        name.text: points[0].payload for name, points in zip(names, answers, strict=True) if points
    }


def read_texts(artifact_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Artifact -> its title and the beginning of its text."""
    titles = dict(Artifact.objects.filter(pk__in=artifact_ids).values_list("pk", "title"))
    pages = Page.objects.filter(artifact__in=artifact_ids).exclude(text="").order_by("-index")
    beginnings = dict(pages.values_list("artifact_id", "text"))  # the first page comes last
    return {
        artifact_id: f"{title}. {beginnings.get(artifact_id, '')[:TEXT_CHARS]}".strip()
        for artifact_id, title in titles.items()
    }


def replace_names(query: str, names: Sequence[Name], said: Mapping[str, str]) -> str:
    """The question with what is ``said`` in the place of each name it is said of."""
    for name in reversed(names):
        if name.text in said:
            query = f"{query[: name.start]}{said[name.text]}{query[name.end :]}"
    return query.strip()[:MAX_QUERY_CHARS]


def _widen(query: str, start: int, end: int) -> tuple[int, int]:
    if before := _AROUND_BEFORE.search(query, 0, start):
        after = _AROUND_AFTER.match(query, end)
        is_address = not before[0].lower().startswith("doi")
        return before.start(), after.end() if after and is_address else end
    return start, end


def _spellings(name: str) -> list[str]:
    """Identifiers are written in one case or the other, and compared letter by letter."""
    return list(dict.fromkeys([name, name.upper(), name.lower()]))
