"""Artifacts by the pictures they are, and by the passages they hold."""

from retrieval.search.flat import search_pictures
from retrieval.search.request import SearchRequest
from retrieval.search.spaces import (
    TEXT,
    ArtifactsAnswer,
    answer_alone,
    answer_fused,
    as_asked_of_each,
    search_text,
)

IMAGE = "image"


def search_images(request: SearchRequest, *, with_text: bool = True) -> ArtifactsAnswer:
    """The artifacts whose pictures show what the query says, best first.

    ``with_text`` ranks artifacts by their passages as well, as ``search_artifacts`` does, and the
    reciprocals of both ranks make the score. ``request.min_score`` is for the pictures alone.

    Raises:
        InvalidInput: naming the parameter; also where an index holds no images, or, with text,
            no chunks.
        ModelUnavailable: the models are not at hand and cannot be fetched.
        What ``search_chunks`` raises.
    """
    if not with_text:
        return answer_alone(IMAGE, search_pictures(request), request)
    answers = {
        IMAGE: search_pictures(as_asked_of_each(request)),
        TEXT: search_text(request, request.query),
    }
    return answer_fused(answers, request)
