"""Pipeline component that replaces document identifiers in a question by the documents' text."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np
from haystack import component

from access.grants import EVERYTHING, Grant
from answers.pipelines.run_async import add_run_async
from answers.questions.identifiers import FoundIdentifier, find_identifiers
from documents.models import Artifact, Page
from indexing.spec import IdentifierSpec
from indexing.stores import Match, Payload, Query
from retrieval.search import MAX_QUERY_CHARS
from retrieval.search.targets import Target, find_builds, make_targets
from retrieval.visible_points import VisiblePoints

MAX_IDENTIFIERS = 5  # looked up per question
MAX_URL_CHARS = 500  # before an identifier
MAX_DOCUMENT_CHARS = 1_000  # per document; more than the window of most models

# A URL or prefix around an identifier belongs to it: https://aclanthology.org/P19-1001/
_URL_OR_DOI_PREFIX = re.compile(r"(?:https?://\S*|\bdoi:\s?)\Z", re.IGNORECASE)
_URL_SUFFIX = re.compile(r"[^\s,;)\]}>\"']*")


@component
@add_run_async
class IdentifierLookup:
    """Replace the identifiers in a question (in any case) by the titles and texts of their
    documents, so that the search finds similar documents.

    The spec declares the identifiers. An identifier that no document of the index has stays
    unchanged, and a note says so.
    """

    @component.output_types(query=str, identified=list[dict[str, Any]], notes=list[str])
    def run(self, index: str, query: str, grant: Grant = EVERYTHING) -> dict[str, Any]:
        build = find_builds([index], grant)[index]
        if build is None or not build.spec.identifiers:
            return {"query": query, "identified": [], "notes": []}
        matches, unfinished = find_identifier_matches(query, build.spec.identifiers)
        notes = [
            f"The pattern of {name} takes too long on this question and was not applied."
            for name in unfinished
        ]
        if len(matches) > MAX_IDENTIFIERS:
            notes.append(f"Only the first {MAX_IDENTIFIERS} identifiers were looked up.")
        matches = matches[:MAX_IDENTIFIERS]
        [target] = make_targets([build], build.spec.kinds[:1])
        found = find_identified_documents(target, matches)
        texts = read_titles_and_openings(
            [UUID(payload["artifact_id"]) for payload in found.values()]
        )
        identified: list[dict[str, Any]] = []
        replacements: dict[str, str] = {}
        for match in matches:
            if match.text not in found:
                notes.append(f"No document of {index} is called {match.text}.")
                continue
            artifact_id = found[match.text]["artifact_id"]
            title = found[match.text]["artifact_title"]
            identified.append(
                {"identifier": match.text, "artifact_id": artifact_id, "title": title}
            )
            replacements[match.text] = texts.get(UUID(artifact_id)) or title
        return {
            "query": replace_identifiers(query, matches, replacements),
            "identified": identified,
            "notes": notes,
        }


def find_identifier_matches(
    query: str, identifiers: Mapping[str, IdentifierSpec]
) -> tuple[list[FoundIdentifier], list[str]]:
    """Identifiers in a question, in order, each with a URL or prefix around it; and the names of
    the patterns that take too long. Of overlapping ones the first, then longest, is kept."""
    found, unfinished = find_identifiers(identifiers, query)
    kept: list[FoundIdentifier] = []
    for each in sorted(found, key=lambda each: (each.start, -each.end)):
        if not kept or each.start >= kept[-1].end:
            start, end = _include_url_or_prefix(query, each.start, each.end)
            kept.append(each._replace(start=start, end=end))
    return kept, unfinished


def find_identified_documents(
    target: Target, matches: Sequence[FoundIdentifier]
) -> dict[str, Payload]:
    """Identifier -> payload of a node of its document, if it exists; one store request."""
    # Any vector works: only the filter selects points.
    dense = np.full(target.spec.embedding.dimension, 1, dtype=np.float32)
    queries = [
        Query(dense=dense, filter=Match(match.field, _case_variants(match.text)), limit=1)
        for match in matches
    ]
    points = VisiblePoints(target.grant)
    answers = points.search_many([(target.collection, query) for query in queries])
    found = {
        match.text: hits[0].payload for match, hits in zip(matches, answers, strict=True) if hits
    }
    if target.grant.sees_all_documents:
        return found
    # A payload may be older than a change of its document's groups.
    ids = {payload["artifact_id"] for payload in found.values()}
    visible = Artifact.objects.visible_to(target.grant).filter(pk__in=ids)
    visible_ids = {str(pk) for pk in visible.values_list("pk", flat=True)}
    return {text: each for text, each in found.items() if each["artifact_id"] in visible_ids}


def read_titles_and_openings(artifact_ids: Sequence[UUID]) -> dict[UUID, str]:
    """Artifact id -> its title and the beginning of its text."""
    titles = dict(Artifact.objects.filter(pk__in=artifact_ids).values_list("pk", "title"))
    pages = Page.objects.filter(artifact__in=artifact_ids).exclude(text="").order_by("-index")
    beginnings = dict(pages.values_list("artifact_id", "text"))  # the first page comes last
    return {
        artifact_id: f"{title}. {beginnings.get(artifact_id, '')[:MAX_DOCUMENT_CHARS]}".strip()
        for artifact_id, title in titles.items()
    }


def replace_identifiers(
    query: str, matches: Sequence[FoundIdentifier], texts: Mapping[str, str]
) -> str:
    """The question with each identifier replaced by its text in ``texts``."""
    for match in reversed(matches):
        if match.text in texts:
            query = f"{query[: match.start]}{texts[match.text]}{query[match.end :]}"
    return query.strip()[:MAX_QUERY_CHARS]


def _include_url_or_prefix(query: str, start: int, end: int) -> tuple[int, int]:
    if before := _URL_OR_DOI_PREFIX.search(query, max(0, start - MAX_URL_CHARS), start):
        after = _URL_SUFFIX.match(query, end)
        is_address = not before[0].lower().startswith("doi")
        return before.start(), after.end() if after and is_address else end
    return start, end


def _case_variants(name: str) -> list[str]:
    """The identifier as written, in upper case and in lower case: the store compares exactly."""
    return list(dict.fromkeys([name, name.upper(), name.lower()]))
