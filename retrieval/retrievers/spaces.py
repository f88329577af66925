"""The base of the retrievers that rank artifacts in a separate vector space, and by passages."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from llama_index.core.schema import NodeRelationship, NodeWithScore, RelatedNodeInfo

from access.grants import EVERYTHING, Grant
from indexing.models import IndexBuild
from retrieval.retrievers.base import IndexRetriever
from retrieval.retrievers.chunks import ChunkRetriever
from retrieval.retrievers.nodes import make_text_node, to_passage_nodes
from retrieval.search import (
    ArtifactHit,
    ArtifactsAnswer,
    Hit,
    Mode,
    SearchAnswer,
    SearchRequest,
    StaleHitPolicy,
)
from retrieval.search.vector_spaces import (
    ARTIFACTS_PER_SPACE,
    TEXT_SPACE,
    answer_from_fused_spaces,
    answer_from_one_space,
)


class SpaceRetriever(IndexRetriever[ArtifactsAnswer]):
    """Artifacts by a kind of node with its own embedding model, and by their passages. The score
    is the sum of both reciprocal ranks. ``min_score`` applies to the separate space only.
    """

    space: ClassVar[str]

    def __init__(
        self,
        index: str | IndexBuild | Sequence[str | IndexBuild],
        *,
        grant: Grant = EVERYTHING,
        top_k: int = 10,
        offset: int = 0,
        filter: Mapping[str, Any] | None = None,
        min_score: float | None = None,
        verify: bool = True,
        stale: StaleHitPolicy | str = StaleHitPolicy.FLAG,
        min_revision: int | None = None,
    ) -> None:
        super().__init__(index, grant=grant)
        self.top_k = top_k
        self.offset = offset
        self.filter = filter
        self.min_score = min_score
        self.verify = verify
        self.stale = StaleHitPolicy(stale)
        self.min_revision = min_revision

    @abstractmethod
    def search_space(self, request: SearchRequest) -> SearchAnswer:
        """Rank the nodes of the separate space."""

    def search_space_and_passages(self, query: str, text: str | None) -> ArtifactsAnswer:
        """Search the space for ``query``, and passages for ``text`` if it is given."""
        request = SearchRequest(
            indexes=self.indexes,
            query=query,
            mode=Mode.DENSE,
            limit=self.top_k,
            offset=self.offset,
            filter=self.filter,
            min_score=self.min_score,
            verify=self.verify,
            stale=self.stale,
            min_revision=self.min_revision,
        )
        if text is None:
            return answer_from_one_space(self.space, self.search_space(request), request)
        chunks = ChunkRetriever(
            self.indexes,
            grant=self.grant,
            is_one_per_artifact=True,
            top_k=ARTIFACTS_PER_SPACE,
            filter=self.filter,
            verify=self.verify,
            stale=self.stale,
            min_revision=self.min_revision,
        )
        answers = {
            self.space: self.search_space(replace(request, limit=ARTIFACTS_PER_SPACE, offset=0)),
            TEXT_SPACE: chunks.search(text),
        }
        return answer_from_fused_spaces(answers, request)

    def to_nodes(self, answer: ArtifactsAnswer) -> list[NodeWithScore]:
        """For each artifact, the best node of the space, or its best passage if there is none."""
        return [
            NodeWithScore(node=_to_space_node(found), score=hit.score)
            if (found := hit.hit_by_space.get(self.space)) is not None
            else _to_passage_node(hit)
            for hit in answer.hits
        ]


def _to_space_node(hit: Hit) -> Any:
    payload = hit.payload
    metadata = {
        **payload["metadata"],
        "index": hit.index,
        "artifact_id": payload["artifact_id"],
        "title": payload["artifact_title"],
        "file_name": payload.get("file_name"),
        "media_type": payload["media_type"],
        "verdict": None if hit.verdict is None else str(hit.verdict),
    }
    artifact = RelatedNodeInfo(node_id=payload["artifact_id"])
    return make_text_node(
        str(hit.node_id), payload["text"], metadata, {NodeRelationship.SOURCE: artifact}
    )


def _to_passage_node(hit: ArtifactHit) -> NodeWithScore:
    [node] = to_passage_nodes([(hit.hit_by_space[TEXT_SPACE], hit.score)])
    return node
