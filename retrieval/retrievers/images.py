"""Retriever of artifacts by what their images show."""

from typing import Any

from retrieval.retrievers.spaces import SpaceRetriever
from retrieval.search import ArtifactsAnswer, SearchAnswer, SearchRequest
from retrieval.search.flat import search_nodes


class ImageRetriever(SpaceRetriever):
    """Artifacts by their images, with a model that embeds words and images; ``with_text`` adds
    their passages.

    Searching also raises ``ModelUnavailable`` if the models are not installed.
    """

    space = "image"

    def __init__(self, index: Any, *, with_text: bool = True, **options: Any) -> None:
        super().__init__(index, **options)
        self.with_text = with_text

    def search(self, query: str) -> ArtifactsAnswer:
        return self.search_space_and_passages(query, query if self.with_text else None)

    def search_space(self, request: SearchRequest) -> SearchAnswer:
        return search_nodes(request, ["image"], self.grant)
