"""The search that all adapters share, and the passages that they convert to documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from strata_client._async.client import AsyncStrata
from strata_client._sync.client import Strata
from strata_client.types import Filter, SearchKind


@dataclass(frozen=True, slots=True)
class Passage:
    """``metadata``: the document's metadata, with title, page, offsets, verdict and ids, which
    replace its fields of the same names."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PassageSearch:
    """What to search for each query.

    Args:
        index: the name of an index, or of several.
        kind: ``pages``, ``summaries`` or ``questions``.
        limit: the maximum number of hits.
        filter: as in the API, such as ``{"year": {"gte": 2019}}``.
        options: other options of ``Strata.search``, such as ``mode``.
        client, async_client: the caller closes them. Without one, each search makes one from
            ``STRATA_URL`` and ``STRATA_KEY`` and closes it.
    """

    index: str | Sequence[str]
    kind: SearchKind = "pages"
    limit: int = 10
    filter: Filter | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    client: Strata | None = None
    async_client: AsyncStrata | None = None

    def search(self, query: str, **changed: Any) -> list[Passage]:
        """Search the index, and return its passages.

        Raises:
            StrataError: as ``Strata.search``.
        """
        if self.client is None:
            with Strata() as client:
                return replace(self, client=client).search(query, **changed)
        answer: Any = self.client.search(self.index, query, **self._options(changed))
        return [_to_passage(hit) for hit in answer["hits"]]

    async def search_async(self, query: str, **changed: Any) -> list[Passage]:
        """Search the index, and return its passages.

        Raises:
            StrataError: as ``AsyncStrata.search``.
        """
        if self.async_client is None:
            async with AsyncStrata() as client:
                return await replace(self, async_client=client).search_async(query, **changed)
        answer: Any = await self.async_client.search(self.index, query, **self._options(changed))
        return [_to_passage(hit) for hit in answer["hits"]]

    def _options(self, changed: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in changed.items() if value is not None}
        return {
            **self.options, "kind": self.kind, "limit": self.limit, "filter": self.filter, **given
        }  # fmt: skip


OF_QUESTION_HITS = ("question", "chunk_id", "summary")


def _to_passage(hit: Mapping[str, Any]) -> Passage:
    # A hit by question has the name of the file in ``source``, and the source in ``passage``.
    source = hit.get("passage") or hit["source"] or {}
    page = hit["page"] or {}
    facts = {
        "title": hit["artifact"]["title"],
        "page": page.get("index"),  # counted from 0
        "start_offset": hit["start_offset"],
        "end_offset": hit["end_offset"],
        "verdict": hit["verdict"],
        "score": hit["score"],
        "score_kind": hit["score_kind"],
        "artifact_id": hit["artifact"]["id"],
        "source_id": source.get("id"),
        "node_id": hit["node_id"],
        **{name: hit[name] for name in OF_QUESTION_HITS if name in hit},
    }
    return Passage(
        id=hit["node_id"],
        text=hit["text"] or "",
        score=hit["score"],
        metadata={**hit["metadata"], **facts},
    )
