"""Finds the names of documents in a question, by the patterns of the spec."""

import time
from collections.abc import Mapping
from typing import NamedTuple

import regex

from indexing.spec import IdentifierSpec
from indexing.spec.identifiers import SECONDS, compile_whole_word


class FoundIdentifier(NamedTuple):
    """``start`` and ``end`` are places in the text."""

    text: str
    field: str
    start: int
    end: int


def find_identifiers(
    identifiers: Mapping[str, IdentifierSpec], text: str
) -> tuple[list[FoundIdentifier], list[str]]:
    """The identifiers in a text, and the names of those patterns whose time was over."""
    found: list[FoundIdentifier] = []
    unfinished = []
    deadline = time.monotonic() + SECONDS
    for name, spec in identifiers.items():
        try:
            remaining = max(deadline - time.monotonic(), SECONDS / 100)
            matches = compile_whole_word(spec.pattern).finditer(text, timeout=remaining)
            found += [FoundIdentifier(each[0], spec.field, *each.span()) for each in matches]
        except (TimeoutError, regex.error):
            unfinished.append(name)
    return found, unfinished
