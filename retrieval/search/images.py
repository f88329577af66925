"""Image search: artifacts by their images, and by their passages."""

from retrieval.search.flat import search_image_nodes
from retrieval.search.request import SearchRequest
from retrieval.search.vector_spaces import (
    TEXT_SPACE,
    ArtifactsAnswer,
    answer_from_fused_spaces,
    answer_from_one_space,
    make_fusion_request,
    search_text_space,
)

IMAGE_SPACE = "image"


def search_images(request: SearchRequest, *, with_text: bool = True) -> ArtifactsAnswer:
    """Search artifacts by their images: the best match to the query in words first.

    ``with_text`` ranks artifacts by their passages as well, as ``search_artifacts`` does, and the
    reciprocals of both ranks make the score. ``request.min_score`` is for the pictures alone.

    Raises:
        InvalidInput: naming the parameter; also where an index holds no images, or, with text,
            no chunks.
        ModelUnavailable: the models are not at hand and cannot be fetched.
        What ``search_chunks`` raises.
    """
    if not with_text:
        return answer_from_one_space(IMAGE_SPACE, search_image_nodes(request), request)
    answers = {
        IMAGE_SPACE: search_image_nodes(make_fusion_request(request)),
        TEXT_SPACE: search_text_space(request, request.query),
    }
    return answer_from_fused_spaces(answers, request)
