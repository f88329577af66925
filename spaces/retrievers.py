"""Retrievers that rank documents in a separate vector space."""

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from llama_index.core.schema import NodeWithScore

from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.nodes import to_document_node, to_passage_nodes
from retrieval.search import Mode, SearchAnswer, SearchOptions
from retrieval.search.flat import keep_best_of_each
from retrieval.search.targets import find_builds
from spaces import rdkit_model
from spaces.vector_spaces import (
    ARTIFACTS_PER_SPACE,
    TEXT_SPACE,
    ArtifactsAnswer,
    answer_from_spaces,
)


class SpaceRetriever(IndexRetriever[ArtifactsAnswer]):
    """Artifacts by a kind of node with its own embedding model, and by their passages. The score
    is the sum of both reciprocal ranks. ``min_score`` applies to the separate space only.
    """

    takes = frozenset({"limit", "offset", "filter", "min_score", "verify", "stale", "min_revision"})
    space: ClassVar[str]
    kind: ClassVar[str]

    def search_space_and_passages(self, query: str, text: str | None) -> ArtifactsAnswer:
        """Search the space for ``query``, and passages for ``text`` if it is given."""
        options = replace(self.options, mode=Mode.DENSE)
        if text is not None:
            options = replace(options, limit=ARTIFACTS_PER_SPACE, offset=0)
        answers = {self.space: self._search(self.kind, query, options)}
        if text is not None:
            of_passages = replace(options, mode=Mode.HYBRID, min_score=None)
            answers[TEXT_SPACE] = self._search("chunk", text, of_passages)
        return answer_from_spaces(answers, self.options)

    def _search(self, kind: str, query: str, options: SearchOptions) -> SearchAnswer:
        """The best node of each artifact."""
        best_of_each = partial(keep_best_of_each, "artifact_id")
        return self._search_nodes(query, [kind], options, keep_distinct=best_of_each)

    def to_nodes(self, answer: ArtifactsAnswer) -> list[NodeWithScore]:
        """For each artifact, the best node of the space, or its best passage if there is none."""
        passages = [
            replace(hit.hit_by_space[TEXT_SPACE], score=hit.score)
            for hit in answer.hits
            if self.space not in hit.hit_by_space
        ]
        passage_nodes = iter(to_passage_nodes(passages))
        return [
            next(passage_nodes)
            if found is None
            else to_document_node(
                found, found.payload["text"], hit.score, {"media_type": found.payload["media_type"]}
            )
            for hit in answer.hits
            for found in [hit.hit_by_space.get(self.space)]
        ]


class StructureRetriever(SpaceRetriever):
    """Artifacts by the similarity of their structures to the query, a SMILES; ``text`` also
    searches their passages.

    Searching also raises ``ModelUnavailable`` if RDKit is not installed.
    """

    space, kind = "structure", "compound"

    def __init__(self, index: Any, *, text: str | None = None, **options: Any) -> None:
        super().__init__(index, **options)
        self.text = text

    def search(self, query: str) -> ArtifactsAnswer:
        find_builds(self.indexes, self.grant)  # before errors that tell what is installed
        rdkit_model.parse_smiles(query)
        return self.search_space_and_passages(query, self.text)


class ImageRetriever(SpaceRetriever):
    """Artifacts by their images, with a model that embeds words and images; ``with_text`` adds
    their passages.

    Searching also raises ``ModelUnavailable`` if the models are not installed.
    """

    space, kind = "image", "image"

    def __init__(self, index: Any, *, with_text: bool = True, **options: Any) -> None:
        super().__init__(index, **options)
        self.with_text = with_text

    def search(self, query: str) -> ArtifactsAnswer:
        return self.search_space_and_passages(query, query if self.with_text else None)
