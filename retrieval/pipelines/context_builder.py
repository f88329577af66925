"""The final hits, and what of them an answer is written from."""

from collections.abc import Sequence
from typing import Any

from haystack import component

from core.exceptions import InvalidInput
from indexing.chunking.sentences import find_sentences
from retrieval.passages import Context, Passage
from retrieval.search import Verdict

LEAST_CHARS = 200  # of a passage that is cut: less says too little


@component
class ContextBuilder:
    """Takes the best ``limit`` passages for hits, and of these as many for contexts as
    ``max_chars`` hold, best first.

    A context has its hit's number, counted from 1. A text that stands in another already is left
    out, such as that of a copy or of a second strategy; the last that does not fit whole is cut at
    the end of a sentence. No answer rests on a hit whose document has changed since.
    """

    def __init__(self, max_chars: int = 12_000) -> None:
        if max_chars < LEAST_CHARS:
            raise InvalidInput(f"max_chars is at least {LEAST_CHARS}.", field="max_chars")
        self.max_chars = max_chars

    @component.output_types(passages=list[Passage], contexts=list[Context])
    def run(self, query: str, passages: list[Passage], limit: int = 10) -> dict[str, Any]:
        hits = passages[:limit]
        contexts: list[Context] = []
        room = self.max_chars
        for number, passage in enumerate(hits, start=1):
            text = read_text(passage)
            if passage.hit.verdict == Verdict.STALE or _stands_in(text, contexts):
                continue
            fitting = text if len(text) <= room else _cut(text, room)
            if fitting:
                contexts.append(Context(number, passage, fitting))
            if len(fitting) < len(text):
                break
            room -= len(text)
        return {"passages": hits, "contexts": contexts}


def read_text(passage: Passage) -> str:
    """The passage's own words; of a question, those of the chunk it was asked of."""
    payload = passage.hit.payload
    return str(payload["chunk_text"] if payload.get("kind") == "question" else payload["text"])


def _stands_in(text: str, contexts: Sequence[Context]) -> bool:
    """Whether an earlier context says all of this."""
    return any(text in context.text for context in contexts)


def _cut(text: str, room: int) -> str:
    """Its first sentences, as many as fit; none where that would be next to nothing."""
    end = 0
    for sentence in find_sentences(text):
        if sentence.end > room:
            break
        end = sentence.end
    return text[:end] if end >= LEAST_CHARS else ""
