"""Who writes: a language model where one is configured, else rules.

Writers know neither rows nor leases. They are handed inputs and give drafts, in whatever order
they are done.
"""

import hashlib
import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from django.conf import settings
from pydantic import BaseModel, Field, create_model

from core.exceptions import StrataError
from indexing import embedding
from indexing.spec import FieldSpec, IndexSpec
from summaries import extractive, llm
from summaries.exceptions import LanguageModelError
from summaries.models import StoredCompletion
from summaries.prompts import Prompt, render_prompt

EXTRACTIVE = "extractive"  # the model's name where rules wrote
BY_HAND = "by hand"

ANSWER_TOKENS = 150  # a few sentences, or a few questions

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class SummaryInput:
    """A page's text alone, or the summaries of an artifact's pages."""

    texts: Sequence[str]
    is_of_page: bool
    is_cache_bypassed: bool = False  # a kept answer will not do


@dataclass(frozen=True, slots=True)
class AnnotationInput:
    text: str
    heading: str
    title: str
    is_cache_bypassed: bool = False


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """``citations``: per sentence taken over as it is, the text it comes from (0-based) and its
    first and one past its last character there."""

    text: str
    model_name: str
    citations: Sequence[tuple[int, int, int]] = ()


@dataclass(frozen=True, slots=True)
class AnnotationDraft:
    """``dropped_count``: values that were outside their closed lists."""

    questions: list[str]
    summary: str
    fields: dict[str, Any]
    model_name: str
    dropped_count: int = 0


@dataclass(slots=True)
class Cost:
    """What came of it for the build's account."""

    call_count: int = 0
    reused_count: int = 0
    failure_count: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class DraftOutcome(Generic[Key]):
    key: Key
    draft: SummaryDraft | AnnotationDraft | None
    error: StrataError | None = None
    cost: Cost = field(default_factory=Cost)


class Writer(Protocol):
    def summarise(
        self, inputs: Mapping[Key, SummaryInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[Key]]: ...

    def annotate(
        self, inputs: Mapping[Key, AnnotationInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[Key]]: ...


def get_writer() -> Writer:
    return LanguageModelWriter() if llm.is_configured() else ExtractiveWriter()


def batch_size() -> int:
    """Inputs to claim at once: enough for one round of calls, or of the embedding model."""
    return settings.STRATA_LLM_CONCURRENCY * 4 if llm.is_configured() else 64


# --- Rules -----------------------------------------------------------------------------------


class ExtractiveWriter:
    """Sentences and phrases of the text itself: nothing is invented, no one is asked."""

    def summarise(
        self, inputs: Mapping[Key, SummaryInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[Key]]:
        embed = embedding.get_embedder(spec.embedding).embed_documents
        for is_of_page in (True, False):
            keys = [key for key, given in inputs.items() if given.is_of_page == is_of_page]
            if not keys:
                continue
            texts = ["\n\n".join(inputs[key].texts) for key in keys]
            count = _sentences(spec, is_of_page=is_of_page)
            chosen = extractive.summarise_many(texts, sentences=count, embed=embed)
            for key, sentences in zip(keys, chosen, strict=True):
                yield DraftOutcome(
                    key,
                    SummaryDraft(
                        text=" ".join(sentence.text for sentence in sentences),
                        model_name=EXTRACTIVE,
                        citations=_cite(inputs[key].texts, sentences),
                    ),
                )

    def annotate(
        self, inputs: Mapping[Key, AnnotationInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[Key]]:
        assert spec.questions is not None
        for key, given in inputs.items():
            yield DraftOutcome(
                key,
                AnnotationDraft(
                    questions=extractive.propose_questions(
                        given.text,
                        heading=given.heading,
                        title=given.title,
                        count=spec.questions.count,
                    ),
                    summary=extractive.name_line(given.text, heading=given.heading),
                    fields=extractive.match_values(given.text, spec.metadata),
                    model_name=EXTRACTIVE,
                ),
            )


def _cite(
    texts: Sequence[str], sentences: Sequence[extractive.CitedSentence]
) -> list[tuple[int, int, int]]:
    """Places in the joined texts as places in each."""
    citations, starts, position = [], [], 0
    for text in texts:
        starts.append(position)
        position += len(text) + 2
    for sentence in sentences:
        number = max(n for n, start in enumerate(starts) if start <= sentence.start)
        citations.append((number, sentence.start - starts[number], sentence.end - starts[number]))
    return citations


# --- Language models -------------------------------------------------------------------------


class SummaryAnswer(BaseModel):
    summary: str = Field(min_length=1)


class LanguageModelWriter:
    """One call an input, as many at a time as the settings allow. What was answered before is
    taken from there.

    One that does not ask gives only that, and for each other input what a call would cost.
    """

    def __init__(self, *, asks: bool = True) -> None:
        self._asks = asks

    def summarise(
        self, inputs: Mapping[Key, SummaryInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[Key]]:
        prompts = {}
        for key, given in inputs.items():
            about = spec.page_summaries if given.is_of_page else spec.artifact_summaries
            assert about is not None
            text = fit_texts(given.texts, settings.STRATA_LLM_CONTEXT_CHARS)
            prompts[key] = render_prompt(about.prompt, text, sentences=about.sentences), about.model
        for key, answer, error, cost in self.ask(prompts, SummaryAnswer, _asked_anew(inputs)):
            draft = None
            if answer is not None:
                said: Any = answer.value
                draft = SummaryDraft(said.summary.strip(), answer.model_name)
            yield DraftOutcome(key, draft, error, cost)

    def annotate(
        self, inputs: Mapping[Key, AnnotationInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[Key]]:
        about = spec.questions
        assert about is not None
        fields = {name: each for name, each in spec.metadata.items() if each.type == "keyword"}
        prompts = {
            key: (
                render_prompt(
                    about.prompt,
                    given.text[: settings.STRATA_LLM_CONTEXT_CHARS],
                    heading=given.heading,
                    count=about.count,
                    fields=fields,
                ),
                about.model,
            )
            for key, given in inputs.items()
        }
        for key, answer, error, cost in self.ask(
            prompts, annotation_schema(fields), _asked_anew(inputs)
        ):
            draft = None
            if answer is not None:
                draft = read_annotation(answer.value, answer.model_name, fields, about.count)
            yield DraftOutcome(key, draft, error, cost)

    def ask(
        self,
        prompts: Mapping[Key, tuple[Prompt, str]],
        schema: type[BaseModel],
        asked_anew: set[Key],
    ) -> Iterator[tuple[Key, "Answered | None", StrataError | None, Cost]]:
        """An answer or the error for each prompt. An outage ends it once what was under way is
        in: the prompts left get neither."""
        kept_keys = {
            key: _answer_key(prompt, schema, llm.get_language_model(model).name)
            for key, (prompt, model) in prompts.items()
        }
        kept = StoredCompletion.objects.in_bulk(set(kept_keys.values()))
        wanted: dict[str, list[Key]] = {}
        for key, kept_key in kept_keys.items():
            if kept_key in kept and key not in asked_anew:
                answer = kept[kept_key]
                value = schema.model_validate(answer.content)
                yield key, Answered(value, answer.model_name), None, Cost(reused_count=1)
            else:
                wanted.setdefault(kept_key, []).append(key)
        if not self._asks:
            for key in (keys[0] for keys in wanted.values()):
                yield key, None, None, _estimate(prompts[key][0])
            return
        # A call begins once an earlier answer is kept: a kill loses only what is under way.
        waiting = deque(wanted)
        under_way: dict[Future[llm.Completion[Any]], str] = {}
        pool = ThreadPoolExecutor(settings.STRATA_LLM_CONCURRENCY)
        try:
            while waiting or under_way:
                while waiting and len(under_way) < settings.STRATA_LLM_CONCURRENCY:
                    kept_key = waiting.popleft()
                    prompt, model = prompts[wanted[kept_key][0]]
                    complete = llm.get_language_model(model).complete
                    call = pool.submit(complete, prompt.system, prompt.user, schema)
                    under_way[call] = kept_key
                done, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for call in done:
                    kept_key = under_way.pop(call)
                    first, *others = wanted[kept_key]
                    try:
                        completion = call.result()
                    except LanguageModelError as error:
                        if error.is_retryable or error.is_about_setup:
                            waiting.clear()
                        yield first, None, error, _cost_of_failure(error)
                        for key in others:
                            yield key, None, error, Cost()
                        continue
                    StoredCompletion.objects.update_or_create(
                        key=kept_key,
                        defaults={
                            "model_name": completion.model_name,
                            "content": completion.value.model_dump(mode="json"),
                        },
                    )
                    cost = Cost(
                        call_count=completion.call_count,
                        prompt_tokens=completion.prompt_tokens,
                        completion_tokens=completion.completion_tokens,
                    )
                    answered = Answered(completion.value, completion.model_name)
                    yield first, answered, None, cost
                    for key in others:
                        yield key, answered, None, Cost(reused_count=1)
        finally:  # told to stop, what has not been sent stays unsent
            pool.shutdown(wait=False, cancel_futures=True)


def _cost_of_failure(error: LanguageModelError) -> Cost:
    return Cost(
        call_count=error.call_count,
        failure_count=1,
        prompt_tokens=error.prompt_tokens,
        completion_tokens=error.completion_tokens,
    )


def _estimate(prompt: Prompt) -> Cost:
    """What a call would cost, by the rule of thumb of four characters a token."""
    asked = len(prompt.system) + len(prompt.user)
    return Cost(call_count=1, prompt_tokens=asked // 4, completion_tokens=ANSWER_TOKENS)


def _asked_anew(inputs: Mapping[Key, Any]) -> set[Key]:
    return {key for key, given in inputs.items() if given.is_cache_bypassed}


@dataclass(frozen=True, slots=True)
class Answered:
    value: BaseModel
    model_name: str


def annotation_schema(fields: Mapping[str, FieldSpec]) -> type[BaseModel]:
    """Questions, summary and a value or list of values for each field, with closed lists as
    enumerations: what is outside them all the same is dropped later, and counted."""
    members: dict[str, Any] = {
        "questions": (list[str], Field(min_length=1)),
        "summary": (str, ...),
    }
    for name, about in fields.items():
        one: dict[str, Any] = {"type": "string"}
        if about.closed_values is not None:
            one["enum"] = list(about.closed_values)
        extra: dict[str, Any]
        if about.many:
            extra = {"items": one}
            members[name] = (list[str], Field(default_factory=list, json_schema_extra=extra))
        else:
            extra = {"anyOf": [one, {"type": "null"}]}
            members[name] = (str | None, Field(default=None, json_schema_extra=extra))
    return create_model("ChunkAnnotation", **members)


def read_annotation(
    value: Any, model_name: str, fields: Mapping[str, FieldSpec], count: int
) -> AnnotationDraft:
    """What an answer says, within what was declared."""
    questions = [question.strip()[:500] for question in value.questions]
    found: dict[str, Any] = {}
    dropped = 0
    for name, about in fields.items():
        given = getattr(value, name)
        said = given if about.many else [] if given is None else [given]
        kept = []
        for each in said:
            each = each.strip().lower() if about.lowercase else each.strip()
            if about.closed_values is not None and each not in about.closed_values:
                dropped += 1
            elif each and len(each) <= 200 and each not in kept:
                kept.append(each)
        if kept:
            found[name] = kept if about.many else kept[0]
    return AnnotationDraft(
        questions=list(dict.fromkeys(question for question in questions if question))[:count],
        summary=" ".join(value.summary.split())[:1_000],
        fields=found,
        model_name=model_name,
        dropped_count=dropped,
    )


def fit_texts(texts: Sequence[str], limit: int) -> str:
    """The texts with a blank line between, each cut to its share of ``limit`` characters."""
    if sum(len(text) + 2 for text in texts) - 2 <= limit:
        return "\n\n".join(texts)
    while len(texts) > max(1, limit // 100):  # a share below a sentence says nothing
        texts = texts[::2]
    room = limit - 2 * (len(texts) - 1)
    # What the short ones leave goes to the long ones.
    share, lengths = room, sorted(len(text) for text in texts)
    for number, length in enumerate(lengths):
        share = (room - sum(lengths[:number])) // (len(lengths) - number)
        if length > share:
            break
    return "\n\n".join(text[:share] for text in texts)


def _answer_key(prompt: Prompt, schema: type[BaseModel], model_name: str) -> str:
    asked = [
        prompt.fingerprint, prompt.system, prompt.user, schema.model_json_schema(), model_name,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _sentences(spec: IndexSpec, *, is_of_page: bool) -> int:
    about = spec.page_summaries if is_of_page else spec.artifact_summaries
    assert about is not None
    return about.sentences
