"""Test components that replace a language model or record their calls."""

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from haystack import component

from answers.asking import Answer, QueryRanking, Refusal
from core.exceptions import InvalidInput
from retrieval.passages import AnswerContext, Passage


@component
class ContextBuilder:
    """Returns the first passages unchanged."""

    @component.output_types(passages=list[Passage], contexts=list[AnswerContext])
    def run(self, query: str, passages: list[Passage], limit: int = 10) -> dict[str, Any]:
        kept = passages[:limit]
        contexts = [
            AnswerContext(number, passage, passage.hit.payload["text"])
            for number, passage in enumerate(kept, start=1)
        ]
        return {"passages": kept, "contexts": contexts}


@component
class AnswerSynthesiser:
    """Emits each of ``pieces`` after a pause; ``spoken`` counts the pieces of the last run."""

    pieces: ClassVar[list[str]] = ["It ", "stands ", "still."]
    pause: ClassVar[float] = 0.0  # seconds
    spoken: ClassVar[int] = 0

    @component.output_types(answer=Answer)
    def run(
        self,
        query: str,
        contexts: list[AnswerContext],
        wants_answer: bool = True,
        on_piece: Callable[[str], None] | None = None,
    ) -> dict[str, Any]:
        return asyncio.run(self.run_async(query, contexts, wants_answer, on_piece))

    @component.output_types(answer=Answer)
    async def run_async(
        self,
        query: str,
        contexts: list[AnswerContext],
        wants_answer: bool = True,
        on_piece: Callable[[str], None] | None = None,
    ) -> dict[str, Any]:
        if not wants_answer:
            return {}
        cls = AnswerSynthesiser
        cls.spoken = 0
        for piece in cls.pieces:
            await asyncio.sleep(cls.pause)
            cls.spoken += 1
            if on_piece is not None:
                on_piece(piece)
        return {"answer": Answer("".join(cls.pieces), "a test", [])}


@component
class FilterParser:
    """Refuses questions about pizza, fails on "broken", and reads a year."""

    def __init__(
        self,
        min_similarity: float = 0.0,
        languages: list[str] | None = None,
        embedding_model: str = "",
    ) -> None:
        self.settings = min_similarity, languages, embedding_model  # Strata's pipelines set them

    @component.output_types(
        query=str,
        filter=dict[str, Any] | None,
        parsed=dict[str, Any],
        notes=list[str],
        refusal=Refusal,
    )
    def run(self, index: str, query: str, filter: dict[str, Any] | None = None) -> dict[str, Any]:
        if "pizza" in query:
            return {"refusal": Refusal("There is no pizza here.", "Ask about birds.")}
        if "broken" in query:
            raise InvalidInput("This is broken.", field="query")
        words, _, year = query.partition(" since ")
        parsed = {"year": {"gte": int(year)}} if year else {}
        both = {"all_of": [part for part in (filter, parsed) if part]}
        return {
            "query": words,
            "filter": both if both["all_of"] else None,
            "parsed": parsed,
            "notes": ["Nothing is known of awards."] if "award" in query else [],
        }


@component
class Reformulator:
    """Returns the query, and its words in reverse order."""

    def __init__(self, count: int = 2) -> None:
        self.count = count

    @component.output_types(queries=list[str])
    def run(self, index: str, query: str) -> dict[str, Any]:
        return {"queries": [query, " ".join(reversed(query.split()))][: self.count]}


@component
class Needy:
    """Requires an input that no run sets."""

    @component.output_types(rankings=list[QueryRanking])
    def run(self, wish: str) -> dict[str, Any]:
        return {"rankings": []}


STAND_INS = dict.fromkeys(
    ("ContextBuilder", "AnswerSynthesiser", "FilterParser", "Reformulator", "Needy"), __name__
)
