"""Artifacts by the chemical structures they hold, and together with a query in words."""

from indexing import embedding
from retrieval.search.flat import search_compounds
from retrieval.search.request import SearchRequest
from retrieval.search.spaces import (
    TEXT,
    ArtifactsAnswer,
    answer_alone,
    answer_fused,
    as_asked_of_each,
    search_text,
)

STRUCTURE = "structure"


def search_structures(request: SearchRequest, text: str | None = None) -> ArtifactsAnswer:
    """The artifacts whose structures are nearest to ``request.query``, a SMILES, best first.

    With a ``text`` they are ranked by that as well, as ``search_artifacts`` does, and the
    reciprocals of both ranks make the score. ``request.min_score`` is for the structures alone.

    Raises:
        InvalidInput: naming the parameter; also where an index holds no structures.
        ModelUnavailable: RDKit is not installed.
        What ``search_chunks`` raises.
    """
    embedding.parse_smiles(request.query)
    if text is None:
        return answer_alone(STRUCTURE, search_compounds(request), request)
    answers = {
        STRUCTURE: search_compounds(as_asked_of_each(request)),
        TEXT: search_text(request, text),
    }
    return answer_fused(answers, request)
