"""Properties that hold for every cut."""

from itertools import pairwise

import regex


def assert_sound(text, chunks):
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    covered = 0
    for chunk in chunks:
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.text == chunk.text.strip() != ""
        assert not text[covered : chunk.start].strip()
        assert chunk.start >= covered
        covered = chunk.end
    assert not text[covered:].strip()


def graphemes_cut(text, chunks):
    """Cuts that fall inside a grapheme; white space between two chunks does not count."""
    ends = {match.end() for match in regex.finditer(r"\X", text)}
    return [
        before.end
        for before, after in pairwise(chunks)
        if before.end == after.start and before.end not in ends
    ]
