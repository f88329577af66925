"""The answer, written by a language model or made of the passages' own sentences."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing, closing
from functools import partial
from typing import Any, Final

import numpy as np
from haystack import component
from numpy.typing import NDArray

from core.exceptions import InvalidInput
from indexing import embedding
from retrieval.answers.citing import cite, make_citation
from retrieval.answers.continuing import Continuation
from retrieval.answers.quoting import Embed, quote
from retrieval.passages import Answer, Citation, Context
from summaries import llm
from summaries.prompts import Prompt, read_template, render_prompt

EXTRACTIVE: Final = "extractive"

Vectors = NDArray[np.float32]
Speak = Callable[[str], None]


@component
class AnswerSynthesiser:
    """Answers from the contexts, with a citation for each sentence that rests on one.

    Where a language model is configured it writes, told to mark its sentences with the numbers of
    the contexts. Without one, or with ``uses_model`` off, the answer is made of the sentences that
    are nearest to the question, ``sentences`` of them at most, and labelled ``extractive``. A
    model that is configured and does not answer is an error: an answer of another kind would
    look like one it wrote.

    ``model`` empty: that of the settings. ``prompt`` names a file in ``templates/prompts/``.
    """

    def __init__(
        self,
        sentences: int = 4,
        uses_model: bool = True,
        model: str = "",
        prompt: str = "answer",
        max_tokens: int = 1_024,
    ) -> None:
        if not 1 <= sentences <= 20:
            raise InvalidInput("sentences lies between 1 and 20.", field="sentences")
        if max_tokens < 1:
            raise InvalidInput("max_tokens is at least 1.", field="max_tokens")
        read_template(prompt)  # that it is there
        self.sentences = sentences
        self.uses_model = uses_model
        self.model = model
        self.prompt = prompt
        self.max_tokens = max_tokens

    @component.output_types(answer=Answer)
    def run(
        self,
        query: str,
        contexts: list[Context],
        wants_answer: bool = True,
        on_piece: Speak | None = None,
        begun: str = "",
    ) -> dict[str, Any]:
        """``on_piece`` is called with each piece of text as it comes. With ``begun``, an answer
        that was cut off, the pieces are only what follows it, and the answer is the whole.

        Raises:
            EmbeddingUnavailable, LanguageModelUnavailable: retry helps.
            LanguageModelRefused, LanguageModelMisconfigured: it does not.
        """
        speak = on_piece or _keep_silent
        if not wants_answer:
            return {}
        if not (contexts and self._has_model()):
            return {"answer": self._quote(query, contexts, begun, speak)}
        model, prompt = self._prepare(query, contexts, begun)
        written = Continuation(begun)
        pieces = model.stream(prompt.system, prompt.user, max_tokens=self.max_tokens)
        with closing(pieces):  # type: ignore[type-var]
            for piece in pieces:
                if new := written.add(piece):
                    speak(new)
        return {"answer": _finish(written.text, contexts, model.name)}

    @component.output_types(answer=Answer)
    async def run_async(
        self,
        query: str,
        contexts: list[Context],
        wants_answer: bool = True,
        on_piece: Speak | None = None,
        begun: str = "",
    ) -> dict[str, Any]:
        """``run`` for an event loop, which it never blocks; cancelled, it closes the connection
        to the model."""
        speak = on_piece or _keep_silent
        if not wants_answer:
            return {}
        if not (contexts and self._has_model()):
            quoting = partial(self._quote, query, contexts, begun, speak)
            return {"answer": await asyncio.to_thread(quoting)}
        model, prompt = self._prepare(query, contexts, begun)
        written = Continuation(begun)
        pieces = model.astream(prompt.system, prompt.user, max_tokens=self.max_tokens)
        async with aclosing(pieces):  # type: ignore[type-var]
            async for piece in pieces:
                if new := written.add(piece):
                    speak(new)
        return {"answer": _finish(written.text, contexts, model.name)}

    def _has_model(self) -> bool:
        return self.uses_model and llm.is_configured()

    def _prepare(
        self, query: str, contexts: Sequence[Context], begun: str
    ) -> tuple[llm.LanguageModel, Prompt]:
        passages = [
            {
                "number": context.number,
                "title": context.passage.hit.payload["artifact_title"],
                "text": context.text,
            }
            for context in contexts
        ]
        # The fence is named after all that stands within it.
        within = "\n".join(f"{each['title']}\n{each['text']}" for each in passages)
        prompt = render_prompt(self.prompt, within, passages=passages, question=query, begun=begun)
        return llm.get_language_model(self.model), prompt

    def _quote(self, query: str, contexts: Sequence[Context], begun: str, speak: Speak) -> Answer:
        quoted = quote(query, contexts, sentences=self.sentences, embed=_embedding(contexts))
        text = ""
        citations: list[Citation] = []
        for quotation in quoted:
            lead = " " if text else ""
            sentence = " ".join(quotation.sentence.text.split())
            start = len(text) + len(lead)
            piece = f"{lead}{sentence} [{quotation.context.number}]"
            citations.append(
                make_citation(quotation.context, quotation.sentence, start, start + len(sentence))
            )
            # What was sent before the break is not sent again.
            if rest := piece[max(len(begun) - len(text), 0) :]:
                speak(rest)
            text += piece
        return Answer(text, EXTRACTIVE, citations)


def _finish(text: str, contexts: Sequence[Context], model_name: str) -> Answer:
    cited = cite(text, contexts)
    return Answer(text, model_name, cited.citations, unknown_marks=cited.unknown)


def _embedding(contexts: Sequence[Context]) -> Embed:
    """Question and texts in one batch, where no prefix tells them apart."""

    def embed(query: str, texts: Sequence[str]) -> tuple[Vectors, Vectors]:
        spec = contexts[0].passage.hit.spec.embedding
        embedder = embedding.get_embedder(spec)
        if spec.query_prefix != spec.document_prefix:
            return embedder.embed_query(query), embedder.embed_documents(texts)
        vectors = embedder.embed_documents([query, *texts])
        return vectors[0], vectors[1:]

    return embed


def _keep_silent(piece: str) -> None:
    pass
