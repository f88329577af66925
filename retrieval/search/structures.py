"""Structure search: artifacts by the chemical structures they hold, with or without words."""

from indexing import embedding
from retrieval.search.flat import search_compounds
from retrieval.search.request import SearchRequest
from retrieval.search.vector_spaces import (
    TEXT_SPACE,
    ArtifactsAnswer,
    answer_from_fused_spaces,
    answer_from_one_space,
    make_fusion_request,
    search_text_space,
)

STRUCTURE_SPACE = "structure"


def search_structures(request: SearchRequest, text: str | None = None) -> ArtifactsAnswer:
    """Search artifacts by the similarity of their structures to ``request.query``, a SMILES.

    With a ``text`` they are ranked by that as well, as ``search_artifacts`` does, and the
    reciprocals of both ranks make the score. ``request.min_score`` is for the structures alone.

    Raises:
        InvalidInput: naming the parameter; also where an index holds no structures.
        ModelUnavailable: RDKit is not installed.
        What ``search_chunks`` raises.
    """
    embedding.parse_smiles(request.query)
    if text is None:
        return answer_from_one_space(STRUCTURE_SPACE, search_compounds(request), request)
    answers = {
        STRUCTURE_SPACE: search_compounds(make_fusion_request(request)),
        TEXT_SPACE: search_text_space(request, text),
    }
    return answer_from_fused_spaces(answers, request)
