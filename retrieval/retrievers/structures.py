"""Retriever of artifacts by the chemical structures they hold."""

from typing import Any

from indexing import embedding
from retrieval.retrievers.chunks import keep_best_of_each_artifact
from retrieval.retrievers.spaces import SpaceRetriever
from retrieval.search import ArtifactsAnswer, SearchAnswer, SearchRequest
from retrieval.search.flat import search_nodes
from retrieval.search.targets import find_builds


class StructureRetriever(SpaceRetriever):
    """Artifacts by the similarity of their structures to the query, a SMILES; ``text`` also
    searches their passages.

    Searching also raises ``ModelUnavailable`` if RDKit is not installed.
    """

    space = "structure"

    def __init__(self, index: Any, *, text: str | None = None, **options: Any) -> None:
        super().__init__(index, **options)
        self.text = text

    def search(self, query: str) -> ArtifactsAnswer:
        find_builds(self.indexes, self.grant)  # before errors that tell what is installed
        embedding.parse_smiles(query)
        return self.search_space_and_passages(query, self.text)

    def search_space(self, request: SearchRequest) -> SearchAnswer:
        return search_nodes(
            request, ["compound"], self.grant, keep_distinct=keep_best_of_each_artifact
        )
