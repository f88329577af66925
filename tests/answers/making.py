"""Makes contexts for tests without an index."""

from uuid import NAMESPACE_OID, uuid5

from indexing.spec import IndexSpec
from retrieval.passages import AnswerContext, Passage
from retrieval.search import Hit

SPEC = IndexSpec(name="plain")


def make_passage(number, text, *, start_offset=0, similarity=None, heading="", **payload):
    named = {name: str(uuid5(NAMESPACE_OID, f"{name} {number}")) for name in ("artifact", "source")}
    content = {
        "kind": "chunk",
        "text": text,
        "start_offset": start_offset,
        "artifact_id": named["artifact"],
        "artifact_title": f"Document {number}",
        "source_id": named["source"],
        **payload,
    }
    hit = Hit(uuid5(NAMESPACE_OID, f"node {number}"), "plain", 1, 1 / number, content, None, SPEC)
    return Passage(hit, hit.score, "rrf", similarity, heading=heading)


def make_context(number, text, **given):
    return AnswerContext(number, make_passage(number, text, **given), text)
