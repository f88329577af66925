"""Renders the answers of searches in separate vector spaces as plain dicts, and these as text."""

from collections.abc import Iterator
from typing import Any

from retrieval.hit_text import Content, format_hit, join_parts, one_line
from retrieval.serializers.answers import render_answer, render_artifact_reference, render_chunk
from spaces.vector_spaces import TEXT_SPACE, ArtifactHit, ArtifactsAnswer

# Of hits that only one space has: the fields of the payload that are shown.
SPACE_FIELDS = {
    "structure": {"smiles": "text"},
    "image": {"media_type": "media_type", "sha256": "source_hash"},
}


def render_artifact_hits(answer: ArtifactsAnswer, space: str) -> dict[str, Any]:
    """As ``render_search_answer``, each hit an artifact."""
    hits = [
        {
            "score": hit.score,
            "score_kind": answer.score_kind,
            "artifact": render_artifact_reference(hit.any_hit.payload),
            "metadata": hit.any_hit.payload.get("metadata") or {},
            space: _render_space_hit(hit, space),
            "passage": _render_ranked_passage(hit),
        }
        for hit in answer.hits
    ]
    return render_answer(answer, "hits", hits, [hit.any_hit.index for hit in answer.hits])


def _render_space_hit(hit: ArtifactHit, space: str) -> dict[str, Any] | None:
    found = hit.hit_by_space.get(space)
    if found is None:
        return None
    return {
        "node_id": str(found.node_id),
        **{name: found.payload.get(field) for name, field in SPACE_FIELDS[space].items()},
        "similarity": found.score,
        "rank": hit.rank_by_space[space],
        "verdict": found.verdict,
    }


def _render_ranked_passage(hit: ArtifactHit) -> dict[str, Any] | None:
    passage = hit.hit_by_space.get(TEXT_SPACE)
    if passage is None:
        return None
    return render_chunk(passage, "rrf") | {"rank": hit.rank_by_space[TEXT_SPACE]}


def render_artifacts_as_text(content: Content) -> str:
    hits = enumerate(content["hits"], 1)
    return join_parts(content, [format_hit(n, hit, above=_list_matches(hit)) for n, hit in hits])


def _list_matches(hit: Content) -> Iterator[str]:
    for space in SPACE_FIELDS:
        if found := hit.get(space):
            described = one_line(found.get("smiles") or found.get("media_type") or "")
            yield f"{space}: {described}, similarity {found['similarity']:.3f}"
