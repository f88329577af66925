"""Hits in separate vector spaces as a language model reads them."""

import pytest

from mcp_server.tools import TOOLS
from tests.hit_texts import CHUNK, fenced


@pytest.mark.parametrize(
    ("kind", "found", "line"),
    [
        ("structures", {"structure": {"smiles": "C\nC"}}, "structure: C C, similarity 0.750"),
        ("images", {"image": {"media_type": "image/png"}}, "image: image/png, similarity 0.750"),
    ],
)
def test_search_shows_what_was_found_above_the_passage(kind, found, line):
    found = {space: fields | {"similarity": 0.75} for space, fields in found.items()}
    hit = {
        "score": 0.5, "score_kind": "rrf", "artifact": CHUNK["artifact"], "passage": CHUNK, **found,
    }  # fmt: skip

    shown = TOOLS["search"].render({"hits": [hit]}, {"kind": kind})

    lines = shown.splitlines()
    assert lines[0].startswith("[1] Handbook")
    assert lines[2] == line
    assert lines[-3:] == fenced(CHUNK["text"])
