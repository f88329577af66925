"""Writers of summaries and annotations: a language model if one is configured, else rules.

Writers do not use database rows or leases. They take inputs and yield drafts, in the order in
which they finish.
"""

import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from pydantic import BaseModel, Field, create_model

from core.exceptions import StrataError
from indexing import embedding
from indexing.spec import FieldSpec, IndexSpec, QuestionSpec
from indexing.spec.sections import PageSummarySpec
from language_models import llm
from language_models.call_counts import estimate_tokens
from language_models.exceptions import (
    InvalidCompletion,
    LanguageModelCost,
    LanguageModelError,
    LanguageModelSilent,
)
from language_models.llm import complete_in_room
from language_models.prompts import Prompt, join_texts_within_limit, render_prompt
from language_models.response_schemas import item_count, max_chars
from summaries import extractive
from summaries.models import EXTRACTIVE_MODEL_NAME, StoredCompletion
from summaries.response_faults import (
    ASK_AGAIN,
    asks_for_own_language,
    find_foreign_names,
    find_lasting_faults,
    find_summary_fault,
    find_untrue_parts,
    is_in_other_language,
    shorten_summary,
)
from text.quotable_sentences import MAX_SENTENCE_CHARS

BY_HAND_MODEL_NAME = "by hand"

QUESTIONS_FIX = (
    "Set STRATA_LLM_BASE_URL and STRATA_LLM_MODEL to have questions written; for documents that "
    "are already there, run strata regenerate --type question."
)

MAX_SILENT_ATTEMPTS = 2  # of a text; if the model is still silent, rules write it
ESTIMATED_COMPLETION_TOKENS = 150  # a few sentences, or a few questions

Key = TypeVar("Key")
Value = TypeVar("Value")


def describe_missing_texts(specs: Mapping[str, IndexSpec]) -> str | None:
    """Say which of these indexes lack texts that only a language model writes; None if none."""
    if llm.is_configured():
        return None
    names_by_fault = {
        "without questions; passages are found by their words.": [
            name for name, spec in specs.items() if spec.questions is not None
        ],
        "summaries quote the text and do not count in hierarchical searches.": [
            name for name, spec in specs.items() if spec.page_summaries is not None
        ],
    }
    for name, spec in specs.items():
        for section in spec.app_sections:
            if fault := section.lack_without_model:
                names_by_fault.setdefault(fault, []).append(name)
    missing = [f"{', '.join(names)}: {fault}" for fault, names in names_by_fault.items() if names]
    return f"No language model is set. {' '.join(missing)}" if missing else None


@dataclass(frozen=True, slots=True)
class SummaryInput:
    """What to summarise: the text of one page, or the summaries of an artifact's pages."""

    texts: Sequence[str]
    is_of_page: bool
    is_cache_bypassed: bool = False  # do not reuse a stored completion
    artifact_id: UUID | None = None  # the document with which the completion is deleted
    attempt: int = 1  # of how many the claim is, with this one


@dataclass(frozen=True, slots=True)
class AnnotationInput:
    text: str
    heading: str
    title: str
    is_cache_bypassed: bool = False
    page_label: str = ""  # the top heading of most formats
    artifact_id: UUID | None = None
    attempt: int = 1

    @property
    def all_text(self) -> str:
        return "\n\n".join([self.title, self.page_label, self.heading, self.text])


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """A written summary. ``citations``: for each sentence quoted from a page, the offsets of its
    first and one past its last character there."""

    text: str
    model_name: str
    citations: Sequence[tuple[int, int]] = ()
    note: str = ""  # why rules wrote it although a language model is configured


@dataclass(frozen=True, slots=True)
class AnnotationDraft:
    """A written annotation. ``dropped_value_count``: values outside their closed lists."""

    questions: list[str]
    summary: str
    fields: dict[str, Any]
    model_name: str
    dropped_value_count: int = 0
    note: str = ""  # a fault with which the annotation is still stored


@dataclass(frozen=True, slots=True)
class SegmentationDraft:
    """Found boundaries: the offsets at which a text turns to another topic, in rising order."""

    boundaries: list[int]
    model_name: str
    note: str = ""  # why there are none


Draft = SummaryDraft | AnnotationDraft | SegmentationDraft


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Key, Value]):
    """What came of one input: a value or an error. Neither, if only the cost is estimated."""

    key: Key
    value: Value | None = None
    error: StrataError | None = None
    cost: LanguageModelCost = field(default_factory=LanguageModelCost)


DraftOutcome = Outcome[Key, Draft]
CompletionOutcome = Outcome[Key, llm.Completion[Any]]


def get_writer() -> "LanguageModelWriter | ExtractiveWriter":
    return LanguageModelWriter() if llm.is_configured() else ExtractiveWriter()


def get_claim_batch_size() -> int:
    """The number of inputs to claim at once: four per parallel call, or one embedding batch."""
    return settings.STRATA_LLM_CONCURRENCY * 4 if llm.is_configured() else 64


# --- Rules -----------------------------------------------------------------------------------


class ExtractiveWriter:
    """Writes by rules: selects sentences of the text, and calls no language model."""

    def summarise(
        self, inputs: Mapping[Key, SummaryInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[Key]]:
        embed = embedding.get_embedder(spec.embedding).embed_documents
        for is_of_page in (True, False):
            keys = [key for key, each in inputs.items() if each.is_of_page == is_of_page]
            if not keys:
                continue
            texts = ["\n\n".join(inputs[key].texts) for key in keys]
            count = _get_summary_spec(spec, is_of_page).sentences
            summaries = extractive.summarise_texts(texts, sentence_count=count, embed=embed)
            for key, sentences in zip(keys, summaries, strict=True):
                yield Outcome(
                    key,
                    SummaryDraft(
                        text=" ".join(sentence.text for sentence in sentences),
                        model_name=EXTRACTIVE_MODEL_NAME,
                        citations=[(each.start, each.end) for each in sentences if is_of_page],
                    ),
                )

    def annotate(
        self, inputs: Mapping[Key, AnnotationInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[Key]]:
        """Write no questions: those of rules find no more than the passages' own words."""
        many_valued = {name: field for name, field in spec.metadata.items() if field.many}
        for key, chunk in inputs.items():
            yield Outcome(
                key,
                AnnotationDraft(
                    questions=[],
                    summary=extractive.summarise_in_one_line(chunk.text, heading=chunk.heading),
                    fields=extractive.match_field_values(
                        # No wording matches across a blank line.
                        "\n\n".join([chunk.page_label, chunk.heading, chunk.text]),
                        many_valued,
                    ),
                    model_name=EXTRACTIVE_MODEL_NAME,
                ),
            )


# --- Language models -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A prompt to complete by a model; the name is empty for the default model. The stored
    completion is deleted with its document."""

    prompt: Prompt
    schema: type[BaseModel]
    model: str
    is_cache_bypassed: bool
    artifact_id: UUID | None
    find_fault: Callable[[Any], str | None] | None = None  # as of ``LanguageModel.complete``


@cache
def make_summary_schema(sentence_count: int) -> type[BaseModel]:
    # Servers that decode by a grammar refuse longer texts.
    limit = min(sentence_count * MAX_SENTENCE_CHARS, 2_000)
    summary: Any = (Annotated[str, max_chars(limit)], Field(min_length=1))
    return create_model("SummaryResponse", summary=summary)


class LanguageModelWriter:
    """Makes one language model call per input, in parallel as far as the settings allow. Stored
    completions are reused.

    With ``may_call_model=False`` it makes no call: it yields the stored completions, and for
    each other input an estimate of the call's cost.
    """

    def __init__(self, *, may_call_model: bool = True) -> None:
        self._may_call_model = may_call_model

    def summarise(
        self, inputs: Mapping[Key, SummaryInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[Key]]:
        calls, texts, counts = {}, {}, {}
        for key, each in inputs.items():
            summary_spec = _get_summary_spec(spec, each.is_of_page)
            texts[key], counts[key] = "\n\n".join(each.texts), summary_spec.sentences
            text = join_texts_within_limit(each.texts, settings.STRATA_LLM_CONTEXT_CHARS)
            prompt = render_prompt(summary_spec.prompt, text, sentences=counts[key])
            calls[key] = ModelCall(
                prompt,
                make_summary_schema(counts[key]),
                summary_spec.model,
                each.is_cache_bypassed,
                each.artifact_id,
                partial(_find_fault_of_summary, texts[key], counts[key], prompt),
            )

        def parse(key: Key, value: Any, model_name: str) -> SummaryDraft:
            summary = shorten_summary(value.summary, counts[key])
            is_own_language = asks_for_own_language(calls[key].prompt.system)
            _refuse(find_lasting_faults(summary, texts[key], is_own_language=is_own_language))
            return SummaryDraft(summary, model_name)

        return self._draft(
            self.complete(calls),
            parse,
            lambda key: ExtractiveWriter().summarise({key: inputs[key]}, spec),
            inputs,
        )

    def annotate(
        self, inputs: Mapping[Key, AnnotationInput], spec: IndexSpec
    ) -> Iterator[DraftOutcome[Key]]:
        question_spec = spec.questions
        assert question_spec is not None
        fields = {name: each for name, each in spec.metadata.items() if each.type == "keyword"}
        schema = make_annotation_schema(fields, question_spec)
        calls = {}
        for key, chunk in inputs.items():
            prompt = render_prompt(
                question_spec.prompt,
                chunk.text[: settings.STRATA_LLM_CONTEXT_CHARS],
                heading=chunk.heading,
                count=question_spec.count,
                min_count=question_spec.min_count,
                fields=fields,
            )
            find_fault = partial(_find_fault_of_questions, chunk, question_spec, prompt)
            calls[key] = ModelCall(
                prompt,
                schema,
                question_spec.model,
                chunk.is_cache_bypassed,
                chunk.artifact_id,
                find_fault,
            )

        def parse(key: Key, value: Any, model_name: str) -> AnnotationDraft:
            chunk, prompt = inputs[key], calls[key].prompt
            questions = _list_valid_questions(value.questions, chunk, prompt)
            if not questions:
                _refuse(_find_untrue_parts(" ".join(value.questions), chunk.all_text, prompt))
            value.questions = questions
            if _find_untrue_parts(value.summary, chunk.all_text, prompt):
                value.summary = extractive.summarise_in_one_line(chunk.text, heading=chunk.heading)
            return parse_annotation(value, model_name, fields, question_spec)

        return self._draft(
            self.complete(calls),
            parse,
            lambda key: ExtractiveWriter().annotate({key: inputs[key]}, spec),
            inputs,
        )

    def _draft(
        self,
        completions: Iterator[CompletionOutcome[Key]],
        parse: Callable[[Key, Any, str], Draft],
        write_by_rules: Callable[[Key], Iterator[DraftOutcome[Key]]],
        inputs: Mapping[Key, SummaryInput] | Mapping[Key, AnnotationInput],
    ) -> Iterator[DraftOutcome[Key]]:
        """Make a draft of each completion; rules write what the model cannot."""
        for outcome in completions:
            completion, error, draft = outcome.value, outcome.error, None
            if completion is not None:
                try:
                    draft = parse(outcome.key, completion.value, completion.model_name)
                except InvalidCompletion as unusable:
                    error = unusable
            if is_final(error, inputs[outcome.key].attempt):
                assert error is not None
                [by_rules] = write_by_rules(outcome.key)
                assert by_rules.value is not None
                note = f"Written by rules instead: {error.with_fix()}"
                draft, error = replace(by_rules.value, note=note), None
            yield Outcome(outcome.key, draft, error, outcome.cost)

    def complete(self, calls: Mapping[Key, ModelCall]) -> Iterator[CompletionOutcome[Key]]:
        """Yield the completion or the error of each call. After an outage no further call is
        made: running calls finish, and nothing is yielded for the remaining ones."""
        completion_keys = {
            key: _completion_key(call, llm.get_language_model(call.model).name)
            for key, call in calls.items()
        }
        stored_completions = StoredCompletion.objects.in_bulk(set(completion_keys.values()))
        keys_to_call: dict[str, list[Key]] = {}
        for key, completion_key in completion_keys.items():
            if completion_key in stored_completions and not calls[key].is_cache_bypassed:
                stored = stored_completions[completion_key]
                value = calls[key].schema.model_validate(stored.content)
                cost = LanguageModelCost(reused_count=1)
                completion = llm.Completion(value, stored.model_name, cost)
                yield Outcome(key, completion, cost=cost)
            else:
                keys_to_call.setdefault(completion_key, []).append(key)
        if not self._may_call_model:
            for key in (keys[0] for keys in keys_to_call.values()):
                yield Outcome(key, cost=_estimate_call_cost(calls[key].prompt))
            return
        # Store each completion before the next call starts: a kill loses only running calls.
        queued = deque(keys_to_call)
        running: dict[Future[llm.Completion[Any]], str] = {}
        while queued or running:
            while queued:
                call = calls[keys_to_call[queued[0]][0]]
                model = llm.get_language_model(call.model)
                if len(running) >= _count_parallel_calls(model):
                    break
                completion_key = queued.popleft()
                future = _call_in_thread(
                    complete_in_room,
                    model,
                    call.prompt.system,
                    call.prompt.user,
                    call.schema,
                    call.find_fault,
                )
                running[future] = completion_key
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                completion_key = running.pop(future)
                first, *duplicate_keys = keys_to_call[completion_key]
                try:
                    completion = future.result()
                except LanguageModelError as error:
                    if error.is_expected:
                        queued.clear()
                    cost = replace(error.cost, failure_count=1)
                    yield Outcome(first, error=error, cost=cost)
                    for key in duplicate_keys:
                        yield Outcome(key, error=error)
                    continue
                with suppress(IntegrityError), transaction.atomic():  # its document is deleted
                    StoredCompletion.objects.update_or_create(
                        key=completion_key,
                        defaults={
                            "artifact_id": calls[first].artifact_id,
                            "model_name": completion.model_name,
                            "content": completion.value.model_dump(mode="json"),
                        },
                    )
                yield Outcome(first, completion, cost=completion.cost)
                for key in duplicate_keys:
                    yield Outcome(key, completion, cost=LanguageModelCost(reused_count=1))


def _call_in_thread(
    function: Callable[..., llm.Completion[Any]], *arguments: Any
) -> Future[llm.Completion[Any]]:
    """Not in a pool: a process that stops would wait for its threads, and a call takes minutes."""
    future: Future[llm.Completion[Any]] = Future()

    def call() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:  # noqa: BLE001 - the reader of the future raises it
            future.set_exception(error)

    threading.Thread(target=call, name="language model", daemon=True).start()
    return future


def _count_parallel_calls(model: llm.LanguageModel) -> int:
    return 1 if model.pace.is_slow() else settings.STRATA_LLM_CONCURRENCY


def is_final(error: StrataError | None, attempt: int) -> bool:
    """Whether the model is not to be asked for the text again."""
    if isinstance(error, LanguageModelSilent):
        return attempt >= MAX_SILENT_ATTEMPTS
    return isinstance(error, LanguageModelError) and not error.is_expected


def _estimate_call_cost(prompt: Prompt) -> LanguageModelCost:
    return LanguageModelCost(
        call_count=1,
        prompt_tokens=estimate_tokens(len(prompt.system) + len(prompt.user)),
        completion_tokens=ESTIMATED_COMPLETION_TOKENS,
    )


def make_annotation_schema(
    fields: Mapping[str, FieldSpec], question_spec: QuestionSpec
) -> type[BaseModel]:
    """Make the response schema: questions, summary, and a value or list of values per field.

    Closed lists become enumerations; ``parse_annotation`` drops and counts values outside them.
    """
    field_definitions: dict[str, Any] = {
        "questions": (
            Annotated[
                list[Annotated[str, max_chars(500)]],
                item_count(question_spec.min_count or 1, question_spec.count),
            ],
            Field(min_length=1),
        ),
        "summary": (Annotated[str, max_chars(1_000)], ...),
    }
    for name, field_spec in fields.items():
        value_schema: dict[str, Any] = {"type": "string", "maxLength": 200}
        if field_spec.closed_values is not None:
            value_schema["enum"] = list(field_spec.closed_values)
        extra: dict[str, Any]
        if field_spec.many:
            extra = {"items": value_schema, "maxItems": 50}
            field_definitions[name] = (list[str], Field(default=[], json_schema_extra=extra))
        else:
            extra = {"anyOf": [value_schema, {"type": "null"}]}
            field_definitions[name] = (str | None, Field(default=None, json_schema_extra=extra))
    return create_model("ChunkAnnotation", **field_definitions)


def parse_annotation(
    value: Any, model_name: str, fields: Mapping[str, FieldSpec], question_spec: QuestionSpec
) -> AnnotationDraft:
    """Make a draft from a response, without values the spec does not allow."""
    questions = _drop_repeated_questions(value.questions)[: question_spec.count]
    found: dict[str, Any] = {}
    dropped_value_count = 0
    for name, field_spec in fields.items():
        response_value = getattr(value, name)
        response_values = (
            response_value
            if field_spec.many
            else []
            if response_value is None
            else [response_value]
        )
        normalised, closed = field_spec.normalise(response_values), field_spec.closed_values
        allowed = [each for each in normalised if closed is None or each in closed]
        dropped_value_count += len(normalised) - len(allowed)
        allowed = list(dict.fromkeys(allowed))
        if valid_values := [each for each in allowed if 0 < len(each) <= 200]:
            found[name] = valid_values if field_spec.many else valid_values[0]
    return AnnotationDraft(
        questions=questions,
        summary=" ".join(value.summary.split())[:1_000],
        fields=found,
        model_name=model_name,
        dropped_value_count=dropped_value_count,
        note=(
            f"The language model wrote {len(questions)} questions, also when asked again; "
            f"{question_spec.min_count} are wanted."
            if len(questions) < (question_spec.min_count or 0)
            else ""
        ),
    )


def _find_untrue_parts(written: str, text: str, prompt: Prompt) -> list[str]:
    is_own_language = asks_for_own_language(prompt.system)
    return find_untrue_parts(written, text, is_own_language=is_own_language)


def _refuse(faults: Sequence[str]) -> None:
    """Refuse a text that still has faults. Raises ``InvalidCompletion``: there are faults, so that
    rules write the text."""
    if faults:
        detail = f"The language model's text was refused twice. {' '.join(faults)}"
        raise InvalidCompletion(detail)


def _find_fault_of_summary(text: str, count: int, prompt: Prompt, value: Any) -> str | None:
    is_own_language = asks_for_own_language(prompt.system)
    return find_summary_fault(value.summary, text, count, is_own_language=is_own_language)


def _find_fault_of_questions(
    chunk: AnnotationInput, question_spec: QuestionSpec, prompt: Prompt, value: Any
) -> str | None:
    """What to tell the model about its questions and its summary of a chunk."""
    faults = _find_untrue_parts(value.summary, chunk.all_text, prompt)
    count = len(_list_valid_questions(value.questions, chunk, prompt))
    if count < (min_count := question_spec.min_count or 1):
        faults.append(
            f"These are {count} different questions about the text; give at least {min_count}."
        )
    return " ".join([*faults, ASK_AGAIN]) if faults else None


def _list_valid_questions(
    questions: Sequence[str], chunk: AnnotationInput, prompt: Prompt
) -> list[str]:
    """Those in the language of the chunk and without names that it does not have, each once."""
    distinct = _drop_repeated_questions(questions)
    is_own_language = asks_for_own_language(prompt.system)
    if is_own_language and is_in_other_language(" ".join(distinct), chunk.all_text):
        return []
    return [each for each in distinct if not find_foreign_names(each, chunk.all_text)]


def _drop_repeated_questions(questions: Sequence[str]) -> list[str]:
    """The questions that are not blank, each once."""
    distinct: dict[str, str] = {}
    for question in questions:
        if stripped := question.strip()[:500]:
            distinct.setdefault(" ".join(stripped.casefold().split()), stripped)
    return list(distinct.values())


def _completion_key(call: ModelCall, model_name: str) -> str:
    prompt = call.prompt
    call_inputs = [
        prompt.fingerprint, prompt.system, prompt.user, call.schema.model_json_schema(), model_name,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(call_inputs, sort_keys=True).encode()).hexdigest()


def _get_summary_spec(spec: IndexSpec, is_of_page: bool) -> PageSummarySpec:
    summary_spec = spec.page_summaries if is_of_page else spec.artifact_summaries
    assert summary_spec is not None
    return summary_spec
