"""Pipeline component that writes the answer: by a language model, or by quoting the passages."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from haystack import component

import strata_types
from answers.asking import Answer
from answers.citing import find_citations, make_citation
from answers.quoting import select_quotations
from answers.relationships import select_named, state_relationship
from core.exceptions import InvalidInput
from indexing import embedding
from indexing.embedding.vectors import Vectors
from indexing.exceptions import EmbeddingUnavailable, ModelUnavailable
from indexing.spec import EmbeddingSpec
from indexing.stores import get_bm25_encoder
from language_models import llm
from language_models.exceptions import LanguageModelError
from language_models.prompts import Prompt, read_prompt_template, render_prompt
from retrieval.passages import AnswerContext, QuotedRelationship
from retrieval.search.query_vectors import embed_query

EXTRACTIVE_MODEL_NAME: Final = "extractive"
NO_SENTENCE_TEXT: Final = (
    "No sentence of the passages found answers this question. The passages are listed as hits."
)
NOT_QUOTED_TEXT: Final = (
    "No sentence can be quoted, because the endpoint of the embedding model failed. The passages "
    "are listed as hits."
)

# Takes a piece of text. Returns None, or an event that is set once the reader has read all pieces.
OnPiece = Callable[[str], asyncio.Event | None]


@component
@dataclass(eq=False, repr=False)
class AnswerSynthesiser:
    """Write an answer from the contexts and cite the context that supports each sentence.

    If a language model is configured, it writes the answer and marks its sentences with the numbers
    of the contexts. Without one, or with ``uses_model`` off, the answer consists of at most
    ``sentences`` sentences that answer the question, the best first, and of the relationships that
    it names; it is labelled ``extractive``. If there is nothing to quote, the answer says so. If a
    configured model cannot answer, or has not begun within ``patience_seconds``, the component
    quotes, too, and a note says why.

    ``model``: empty for the model of the settings. ``prompt``: a file in ``templates/prompts/``.
    """

    sentences: int = 4
    uses_model: bool = True
    model: str = ""
    prompt: str = "answer"
    max_tokens: int = 1_024
    patience_seconds: float = 30.0

    def __post_init__(self) -> None:
        if not 1 <= self.sentences <= 20:
            raise InvalidInput("sentences must be between 1 and 20.", field="sentences")
        if self.max_tokens < 1:
            raise InvalidInput("max_tokens must be 1 or more.", field="max_tokens")
        read_prompt_template(self.prompt)  # raises if there is no such prompt

    @component.output_types(answer=Answer)
    def run(
        self,
        query: str,
        contexts: list[AnswerContext],
        wants_answer: bool = True,
        on_piece: OnPiece | None = None,
    ) -> dict[str, Any]:
        """Write the answer and call ``on_piece`` with each piece of text as it arrives. Raises
        ``LanguageModelError``: the model failed after it had begun."""
        if not wants_answer:
            return {}
        return asyncio.run(self.run_async(query, contexts, on_piece=on_piece))

    @component.output_types(answer=Answer)
    async def run_async(
        self,
        query: str,
        contexts: list[AnswerContext],
        wants_answer: bool = True,
        on_piece: OnPiece | None = None,
    ) -> dict[str, Any]:
        """Like ``run``, without blocking the event loop. Cancelling it closes the connection to the
        language model. It stops reading from the model until the reader has read all pieces."""
        emit_piece = on_piece or (lambda _: None)
        if not wants_answer:
            return {}
        quote = partial(self._quote, query, contexts, emit_piece)
        if not (contexts and self.uses_model and llm.is_configured()):
            return {"answer": await asyncio.to_thread(quote)}
        model, prompt = self._prepare_model_call(query, contexts)
        text = ""
        pieces = model.astream(
            prompt.system,
            prompt.user,
            max_tokens=self.max_tokens,
            patience_seconds=self.patience_seconds,
        )
        try:
            async with aclosing(pieces):  # type: ignore[type-var]
                async for piece in pieces:
                    text += piece
                    if (drained := emit_piece(piece)) is not None:
                        await drained.wait()
        except LanguageModelError as error:
            if text:
                raise
            why = f"because no model wrote it: {error.detail}"
            notes = (f"The answer is quoted from the documents, {why}",)
            return {"answer": replace(await asyncio.to_thread(quote), notes=notes)}
        cited = find_citations(text, contexts)
        answer = Answer(text, model.name, cited.citations, unknown_marks=cited.unknown_marks)
        return {"answer": answer}

    def _prepare_model_call(
        self, query: str, contexts: Sequence[AnswerContext]
    ) -> tuple[llm.LanguageModel, Prompt]:
        passages = [
            {
                "number": context.number,
                "title": context.passage.hit.payload["artifact_title"],
                "text": context.text,
            }
            for context in contexts
        ]
        relationships = _list_relationships(contexts)
        # render_prompt derives the fence from this text, so the text cannot contain the fence.
        fenced_text = "\n".join(
            [
                *(f"{each['title']}\n{each['text']}" for each in passages),
                *(each.statement for each in relationships),
            ]
        )
        prompt = render_prompt(
            self.prompt,
            fenced_text,
            passages=passages,
            relationships=relationships,
            question=query,
        )
        return llm.get_language_model(self.model), prompt

    def _quote(self, query: str, contexts: Sequence[AnswerContext], on_piece: OnPiece) -> Answer:
        if not contexts:
            return Answer("", EXTRACTIVE_MODEL_NAME, [])
        spec = contexts[0].passage.hit.spec
        try:
            quoted = select_quotations(
                query,
                contexts,
                max_sentences=self.sentences,
                embed=partial(_embed, spec.embedding),
                encoder=get_bm25_encoder(spec.sparse),
            )
        except (EmbeddingUnavailable, ModelUnavailable):
            if spec.embedding.provider != "openai":
                raise
            return _answer_in_one_piece(NOT_QUOTED_TEXT, on_piece)
        encoder = get_bm25_encoder(spec.sparse)
        named = select_named(query, _list_relationships(contexts), encoder)
        if not quoted and not named:
            return _answer_in_one_piece(NO_SENTENCE_TEXT, on_piece)
        text = ""
        citations: list[strata_types.Citation] = []
        for quotation in quoted:
            lead = " " if text else ""
            sentence = " ".join(quotation.sentence.text.split())
            start = len(text) + len(lead)
            piece = f"{lead}{sentence} [{quotation.context.number}]"
            citations.append(
                make_citation(
                    quotation.context,
                    quotation.sentence,
                    start,
                    start + len(sentence),
                    is_supported=True,
                )
            )
            on_piece(piece)
            text += piece
        for relationship in named:
            lead = "\n" if text else ""
            stated, cited = state_relationship(relationship, len(text) + len(lead))
            citations += cited
            on_piece(lead + stated)
            text += lead + stated
        return Answer(text, EXTRACTIVE_MODEL_NAME, citations)


def _list_relationships(contexts: Sequence[AnswerContext]) -> list[QuotedRelationship]:
    return [each for context in contexts for each in context.relationships]


def _answer_in_one_piece(text: str, on_piece: OnPiece) -> Answer:
    on_piece(text)
    return Answer(text, EXTRACTIVE_MODEL_NAME, [])


def _embed(spec: EmbeddingSpec, query: str, texts: Sequence[str]) -> tuple[Vectors, Vectors]:
    return embed_query(spec, query), embedding.get_embedder(spec).embed_documents(texts)
