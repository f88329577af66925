"""A LlamaIndex retriever that searches Strata."""

from collections.abc import Sequence
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from strata_client.adapters.searching import Passage, PassageSearch


class StrataRetriever(BaseRetriever):
    """Takes the arguments of ``PassageSearch``; its ``aretrieve`` does not block the event loop."""

    def __init__(self, index: str | Sequence[str], **search: Any) -> None:
        super().__init__()
        self._search = PassageSearch(index, **search)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_to_node(passage) for passage in self._search.search(query_bundle.query_str)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        passages = await self._search.search_async(query_bundle.query_str)
        return [_to_node(passage) for passage in passages]


def _to_node(passage: Passage) -> NodeWithScore:
    node = TextNode(id_=passage.id, text=passage.text, metadata=passage.metadata)
    return NodeWithScore(node=node, score=passage.score)
