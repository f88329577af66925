"""A LangChain retriever that searches Strata."""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from strata_client.adapters.searching import Passage, PassageSearch


class StrataRetriever(BaseRetriever):
    """Takes the arguments of ``PassageSearch``; its ``ainvoke`` does not block the event loop."""

    _search: PassageSearch = PrivateAttr()

    def __init__(self, index: str | Sequence[str], **search: Any) -> None:
        super().__init__()
        self._search = PassageSearch(index, **search)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [_to_document(passage) for passage in self._search.search(query)]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [_to_document(passage) for passage in await self._search.search_async(query)]


def _to_document(passage: Passage) -> Document:
    return Document(id=passage.id, page_content=passage.text, metadata=passage.metadata)
