"""A Haystack component that searches Strata."""

from collections.abc import Sequence
from typing import Any

from haystack import Document, component, default_to_dict

from strata_client.adapters.searching import Passage, PassageSearch
from strata_client.types import Filter


@component
class StrataRetriever:
    """Takes the arguments of ``PassageSearch``; in an ``AsyncPipeline`` it does not block the event
    loop. Clients are not written to YAML: a pipeline loaded from it uses ``STRATA_URL`` and
    ``STRATA_KEY``."""

    def __init__(self, index: str | Sequence[str], **search: Any) -> None:
        self._search = PassageSearch(index, **search)

    def to_dict(self) -> dict[str, Any]:
        search = self._search
        return default_to_dict(
            self,
            index=search.index, kind=search.kind, limit=search.limit, filter=search.filter,
            options=dict(search.options),
        )  # fmt: skip

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filter: Filter | None = None, limit: int | None = None
    ) -> dict[str, list[Document]]:
        """``filter`` and ``limit`` replace those of the component for this query."""
        passages = self._search.search(query, filter=filter, limit=limit)
        return {"documents": [_to_document(passage) for passage in passages]}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filter: Filter | None = None, limit: int | None = None
    ) -> dict[str, list[Document]]:
        passages = await self._search.search_async(query, filter=filter, limit=limit)
        return {"documents": [_to_document(passage) for passage in passages]}


def _to_document(passage: Passage) -> Document:
    return Document(id=passage.id, content=passage.text, meta=passage.metadata, score=passage.score)
