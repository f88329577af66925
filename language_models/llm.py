"""A language model that returns responses of a given schema, or streams text."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import ExitStack, aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from django.conf import settings
from pydantic import BaseModel, ValidationError

from core.circuit_breaker import CircuitBreaker
from core.import_lock import import_lock
from core.outbound import parse_retry_after
from core.stages import stage
from language_models.exceptions import (
    InvalidCompletion,
    LanguageModelBusy,
    LanguageModelCost,
    LanguageModelError,
    LanguageModelMisconfigured,
    LanguageModelMissing,
    LanguageModelRefused,
    LanguageModelSilent,
    LanguageModelUnavailable,
)

if TYPE_CHECKING:
    import openai
    from llama_index.llms.openai_like import OpenAILike

from language_models.call_counts import note_use
from language_models.calls import Call, CallClock, estimate_prompt_tokens
from language_models.concurrency import (
    Deadline,
    call_semaphore,
    make_retry_delays,
    next_retry_delay,
)
from language_models.pace import Pace
from language_models.prompts import FenceFilter, remove_fences
from language_models.response_schemas import (
    list_validation_errors,
    make_correction_prompt,
    make_response_format,
)

T = TypeVar("T", bound=BaseModel)

CONNECT_SECONDS: Final = 10
STREAM_SECONDS: Final = 3_600  # for a whole answer that comes piece by piece
MAX_ANSWER_BYTES: Final = 16 * 2**20  # a streamed token has some hundred bytes
REFUSED_STATUSES: Final = {400, 413, 422}  # the endpoint rejects the request's content
RETRYABLE_STATUSES: Final = {408, 409, 429}  # and all from 500 on
# Sent if no key is set. Without any key, the client would look for one in the environment.
PLACEHOLDER_API_KEY: Final = "none"
MAX_TOKENS: Final = 1_024  # of a response
SHORT_ANSWER_TOKENS: Final = 40  # the least that an answer takes for which someone waits
MORE_MAX_TOKENS: Final = 4_096  # of a response that was truncated at MAX_TOKENS
ASK_FOR_LESS: Final = (
    "Your last answer was too long and was cut off. Write much shorter texts and shorter lists, "
    "and end the JSON."
)
SETTINGS_FIX: Final = "Check STRATA_LLM_BASE_URL, STRATA_LLM_MODEL and STRATA_LLM_API_KEY."


@dataclass(frozen=True, slots=True)
class Completion(Generic[T]):
    """A validated response, and its cost as the endpoint counts it."""

    value: T
    model_name: str  # as requested, not as the endpoint reports it
    cost: LanguageModelCost


def is_configured() -> bool:
    """Whether the settings name an endpoint and a model; sends no request."""
    return bool(settings.STRATA_LLM_BASE_URL and settings.STRATA_LLM_MODEL)


def get_language_model(name: str = "") -> "LanguageModel":
    """Return the model of this name at the configured endpoint; the configured model by default.

    This sends no request: a wrong address, key or name causes an error at the first call.

    Raises:
        LanguageModelMissing: the settings name no endpoint or no model.
    """
    if not is_configured():
        raise LanguageModelMissing(fix="Set STRATA_LLM_BASE_URL and STRATA_LLM_MODEL.")
    return _make_model(
        name or settings.STRATA_LLM_MODEL, settings.STRATA_LLM_BASE_URL, settings.STRATA_LLM_API_KEY
    )


@cache
def _get_breaker(base_url: str) -> CircuitBreaker:
    """One for all models of an endpoint."""
    return CircuitBreaker(
        LanguageModelUnavailable, except_for=(LanguageModelBusy, LanguageModelSilent)
    )


@cache
def _get_silence_breaker(base_url: str, patience_seconds: float | None) -> CircuitBreaker:
    """One for each patience: a model that is silent for 8 s may well answer within 30."""
    return CircuitBreaker(LanguageModelSilent)


class LanguageModel:
    """One model at one endpoint. Threads and event loops may share it.

    Each call opens its own connection: closing it makes the server stop, and no open connection
    is shared with a forked process or a second event loop.

    Both calls raise these errors:
        LanguageModelUnavailable: after all retries there was no response, or an overloaded server;
            safe to retry later.
        LanguageModelSilent: the response did not begin in its time, and the call is not repeated.
        LanguageModelTooSlow: the response did not end in its time.
        LanguageModelRefused: the endpoint or the model refuses this text; retry does not help.
        LanguageModelMisconfigured: the endpoint rejects the key, the address or the model's name.
    """

    def __init__(self, name: str, base_url: str, api_key: str = "") -> None:
        self.name = name
        self._base_url = base_url
        self._api_key = api_key
        self.pace = Pace()
        self._asks_for_usage = True

    def __repr__(self) -> str:
        return f"<LanguageModel {self.name}>"

    def complete(
        self,
        system: str,
        user: str,
        schema: type[T],
        *,
        max_tokens: int = MAX_TOKENS,
        patience_seconds: float | None = None,
        find_fault: Callable[[T], str | None] | None = None,
    ) -> Completion[T]:
        """Return a response that matches ``schema``, at temperature 0.

        An invalid response is sent back to the model once, with its validation errors. So is a
        valid one with the fault that ``find_fault`` describes; if the second one is not valid, the
        first is returned. If someone is waiting, ``patience_seconds`` limits each call and its wait
        for a slot, and no call starts after it.

        Raises:
            InvalidCompletion: invalid twice, or truncated at ``max_tokens``; the same call would
                fail again.
        """
        messages, cost = [("system", system), ("user", user)], LanguageModelCost()
        deadline = Deadline(patience_seconds)
        if patience_seconds is not None:
            tokens = estimate_prompt_tokens(messages)
            self.pace.check_patience(tokens, SHORT_ANSWER_TOKENS, patience_seconds)
        # In the background, each text is tried again until its queue gives up.
        with self._stage(cost), self._guarding(patience_seconds):
            value = self._ask_twice_if_faulty(
                lambda: self._complete_turn(messages, schema, max_tokens, cost, deadline),
                messages,
                schema,
                find_fault,
            )
        return Completion(value, self.name, cost)

    def _ask_twice_if_faulty(
        self,
        ask: Callable[[], str],
        messages: list[tuple[str, str]],
        schema: type[T],
        find_fault: Callable[[T], str | None] | None,
    ) -> T:
        response, value = ask(), None
        try:
            value = schema.model_validate_json(response)
            fault = None if find_fault is None else find_fault(value)
            if fault is None:
                return value
        except ValidationError as error:
            fault = make_correction_prompt(error)
        messages += [("assistant", response), ("user", fault)]
        try:
            return schema.model_validate_json(ask())
        except (ValidationError, InvalidCompletion) as error:
            if value is not None:
                return value
            if isinstance(error, InvalidCompletion):
                raise
            raise InvalidCompletion(
                f"The language model's response does not match {schema.__name__} after two "
                f"attempts: {'; '.join(list_validation_errors(error))}"
            ) from None

    async def astream(
        self,
        system: str,
        user: str,
        *,
        max_tokens: int = MAX_TOKENS,
        patience_seconds: float | None = None,
    ) -> AsyncIterator[str]:
        """Yield the response text piece by piece.

        A failed call is retried only if no piece has arrived. ``patience_seconds`` limits the wait
        for a slot and for the first piece, and no call starts after it.

        If cancelled while waiting for a piece, it closes the connection itself. A caller that
        may be cancelled between two pieces must close the iterator:
        ``async with contextlib.aclosing(model.astream(…)) as pieces``.
        """
        cost = LanguageModelCost()
        pieces = self._astream(system, user, max_tokens, cost, Deadline(patience_seconds))
        with self._stage(cost), self._guarding(patience_seconds):
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece

    async def _astream(
        self, system: str, user: str, max_tokens: int, cost: LanguageModelCost, deadline: Deadline
    ) -> AsyncGenerator[str, None]:
        messages, waits = [("system", system), ("user", user)], make_retry_delays()
        await asyncio.to_thread(_import_clients)
        while True:
            has_begun, fences = False, FenceFilter()
            try:
                async with call_semaphore.ahold_slot(max_seconds=deadline.remaining_seconds()):
                    call = self._make_call(messages, max_tokens, deadline.remaining_seconds())
                    async with aclosing(self._read(call, cost)) as deltas:
                        async for delta in deltas:
                            has_begun = True
                            if piece := fences.feed(delta):
                                yield piece
                if rest := fences.finish():
                    yield rest
                return
            except LanguageModelUnavailable as error:
                if has_begun or isinstance(error, LanguageModelSilent):
                    raise
                wait = next_retry_delay(error, waits, deadline)
            await asyncio.sleep(wait)

    def _complete_turn(
        self,
        messages: list[tuple[str, str]],
        schema: type[T],
        max_tokens: int,
        cost: LanguageModelCost,
        deadline: Deadline,
    ) -> str:
        """Return one complete response text, with the retries that the settings allow. A call that
        had its time is not sent again."""
        _import_clients()
        waits = make_retry_delays()
        while True:
            try:
                seconds = deadline.remaining_seconds()
                with call_semaphore.hold_slot(goes_first=seconds is not None, max_seconds=seconds):
                    seconds = deadline.remaining_seconds()
                    call = self._make_call(
                        messages,
                        max_tokens,
                        seconds,
                        seconds,
                        response_format=make_response_format(schema),
                    )
                    text = asyncio.run(self._read_whole(call, cost))
                break
            except LanguageModelUnavailable as error:
                if isinstance(error, LanguageModelSilent):
                    raise
                wait = next_retry_delay(error, waits, deadline)
            time.sleep(wait)
        if call.finish_reason == "length":
            truncated = InvalidCompletion(
                f"The language model's response was truncated at {max_tokens} tokens."
            )
            truncated.is_truncated = True
            raise truncated
        if call.finish_reason == "content_filter" or call.is_refused:
            raise LanguageModelRefused("The language model declines to answer about this text.")
        return remove_fences(text)

    def _make_call(
        self,
        messages: list[tuple[str, str]],
        max_tokens: int,
        silence_seconds: float | None = None,
        total_seconds: float | None = None,
        **options: Any,
    ) -> Call:
        limit = settings.STRATA_LLM_TIMEOUT_SECONDS
        silence = self.pace.find_silence_limit(estimate_prompt_tokens(messages), max_tokens)
        clock = CallClock(
            silence if silence_seconds is None else min(silence, silence_seconds),
            limit if total_seconds is None else min(limit, total_seconds),
        )
        if self._asks_for_usage:
            options["stream_options"] = {"include_usage": True}
        return Call(messages, max_tokens, clock, options)

    async def _read_whole(self, call: Call, cost: LanguageModelCost) -> str:
        text = "".join([delta async for delta in self._read(call, cost)])
        if call.finish_reason is None:
            raise LanguageModelUnavailable("The language model broke off its response.")
        return text

    async def _read(self, call: Call, cost: LanguageModelCost) -> AsyncGenerator[str, None]:
        """Make one call; yield the text of its response as it arrives. Every call is streamed: its
        progress tells a slow model from one that is down, and closing it stops the server."""
        clock = call.clock
        try:
            with self._count_and_translate_errors(cost):
                try:
                    async with self._aopen_client() as model:
                        async with asyncio.timeout(clock.remaining_seconds()):
                            chunks = await model.astream_chat(
                                _to_chat_messages(call.messages),
                                max_tokens=call.max_tokens,
                                **call.options,
                            )
                        while True:
                            async with asyncio.timeout(clock.remaining_seconds()):
                                chunk = await anext(chunks, None)
                            if chunk is None:
                                break
                            if delta := call.note_chunk(chunk):
                                yield delta
                except TimeoutError:
                    raise clock.make_error() from None
                if not clock.has_begun:
                    raise ValueError("an empty stream")
        finally:
            if clock.has_begun:
                cost.prompt_tokens += call.prompt_tokens
                cost.completion_tokens += call.completion_tokens
                note_use(tokens=call.prompt_tokens + call.completion_tokens)
                self.pace.add(
                    call.prompt_tokens,
                    clock.reading_seconds,
                    call.completion_tokens,
                    clock.writing_seconds,
                )

    @contextmanager
    def _count_and_translate_errors(self, cost: LanguageModelCost) -> Iterator[None]:
        """Count the call, and translate the libraries' exceptions into Strata's.

        The cause is left out, because the libraries' messages may contain the API key.
        """
        import httpx
        import openai

        unsendable = (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL)
        misconfigured = LanguageModelMisconfigured(
            "The language model's address or key is not valid.", fix=SETTINGS_FIX
        )
        cost.call_count += 1
        note_use(calls=1)
        try:
            yield
        except openai.APIStatusError as error:
            raise self._translate_status_error(error) from None
        except (openai.APITimeoutError, httpx.TimeoutException):
            raise LanguageModelUnavailable(
                f"The language model did not accept a connection within {CONNECT_SECONDS} s."
            ) from None
        except (openai.APIError, httpx.HTTPError, httpx.InvalidURL) as error:
            cause = error.__cause__ or error
            if isinstance(cause, unsendable):  # its message may quote the key in an encoded form
                raise misconfigured from None
            raise LanguageModelUnavailable(
                f"The language model did not answer: {self._redact(str(cause))}"
            ) from None
        except UnicodeEncodeError as error:
            if error.encoding == "ascii":  # in a header; the body is UTF-8
                raise misconfigured from None
            raise LanguageModelRefused(
                "The text contains an unpaired surrogate, which is not valid Unicode and cannot be "
                "sent to the language model."
            ) from None
        except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
            # The body violates the protocol: for example a proxy's page, or a truncated response.
            raise LanguageModelUnavailable(
                "The language model returned a malformed response."
            ) from None

    @contextmanager
    def _guarding(self, patience_seconds: float | None) -> Iterator[None]:
        """Call a model that failed lately at once as failed, if someone waits."""
        with ExitStack() as guards:
            if patience_seconds is not None:
                guards.enter_context(_get_breaker(self._base_url).guarding())
                silence = _get_silence_breaker(self._base_url, patience_seconds)
                guards.enter_context(silence.guarding())
            yield

    @contextmanager
    def _stage(self, cost: LanguageModelCost) -> Iterator[None]:
        """A call with its retries. States its cost, on errors too."""
        with stage("language_model", "LLM") as opened:
            try:
                yield
            except LanguageModelError as error:
                error.cost = cost
                raise
            finally:
                opened.set_attributes(
                    {
                        "llm.model_name": self.name,
                        "llm.token_count.prompt": cost.prompt_tokens,
                        "llm.token_count.completion": cost.completion_tokens,
                    }
                )

    def _translate_status_error(
        self, error: "openai.APIStatusError"
    ) -> LanguageModelUnavailable | LanguageModelRefused | LanguageModelMisconfigured:
        status = error.status_code
        body = error.body
        reason = body.get("message") if isinstance(body, dict) else body
        redacted_reason = self._redact(" ".join(str(reason or "no message").split()))
        detail = f"The language model's endpoint answered {status}: {redacted_reason}"
        if status in RETRYABLE_STATUSES or status >= 500:
            unavailable = LanguageModelUnavailable(detail)
            unavailable.retry_after = parse_retry_after(error.response.headers)
            return unavailable
        if status in REFUSED_STATUSES:
            if self._asks_for_usage and "stream_options" in redacted_reason:
                self._asks_for_usage = False  # not every endpoint knows it; the next call succeeds
                return LanguageModelUnavailable(detail)
            return LanguageModelRefused(detail)
        return LanguageModelMisconfigured(detail, fix=SETTINGS_FIX)

    def _redact(self, text: str) -> str:
        """Truncate a server's message, and remove the API key from it."""
        return (text.replace(self._api_key, "…") if self._api_key else text)[:300]

    @asynccontextmanager
    async def _aopen_client(self) -> AsyncIterator["OpenAILike"]:
        import httpx
        import openai

        from core.outbound import make_async_client

        async with openai.AsyncOpenAI(
            http_client=make_async_client(max_bytes=MAX_ANSWER_BYTES, seconds=STREAM_SECONDS),
            api_key=self._api_key or PLACEHOLDER_API_KEY,
            base_url=self._base_url,
            # The call's clock limits the rest.
            timeout=httpx.Timeout(None, connect=CONNECT_SECONDS),
            max_retries=0,  # _complete_turn and astream retry
        ) as client:
            yield self._make_llm(client)

    def _make_llm(self, client: "openai.AsyncOpenAI") -> "OpenAILike":
        from llama_index.llms.openai_like import OpenAILike

        try:
            return OpenAILike(
                model=self.name,
                api_base=self._base_url,
                api_key=self._api_key or PLACEHOLDER_API_KEY,
                is_chat_model=True,
                temperature=0,
                max_retries=0,  # complete and astream retry
                async_openai_client=client,
            )
        except ValueError:  # LlamaIndex knows this model as one without chat completions
            raise LanguageModelMisconfigured(
                f"The model {self.name} does not support chat completions.",
                fix="Set STRATA_LLM_MODEL to another model.",
            ) from None


_make_model = cache(LanguageModel)  # one for each name, address and key


def _import_clients() -> None:
    """Import the client libraries, which takes seconds the first time, before a slot is held."""
    with import_lock:
        import llama_index.llms.openai_like  # noqa: F401
        import openai.resources.chat  # noqa: F401 - imported by the first call otherwise


def _to_chat_messages(messages: list[tuple[str, str]]) -> list[Any]:
    from llama_index.core.base.llms.types import ChatMessage

    return [ChatMessage(role=role, content=content) for role, content in messages]


def complete_in_room(
    model: LanguageModel,
    system: str,
    user: str,
    schema: type[T],
    find_fault: Callable[[T], str | None] | None,
) -> Completion[T]:
    """Complete as ``LanguageModel.complete`` does; if the response is truncated, ask again with
    more room, then for a shorter one. The result or the error has the cost of all calls."""
    attempts = [
        (user, MAX_TOKENS),
        (user, MORE_MAX_TOKENS),
        (f"{user}\n\n{ASK_FOR_LESS}", MAX_TOKENS),
    ]
    cost = LanguageModelCost()
    truncated: LanguageModelError | None = None
    for request, max_tokens in attempts:
        if truncated is not None and model.pace.would_exceed_limit(max_tokens):
            continue
        try:
            completion = model.complete(
                system, request, schema, max_tokens=max_tokens, find_fault=find_fault
            )
        except LanguageModelError as error:
            cost += error.cost
            error.cost = cost
            is_truncated = isinstance(error, InvalidCompletion) and error.is_truncated
            # The larger request may be refused because it exceeds the model's context.
            if error.is_expected or not (is_truncated or truncated):
                raise
            truncated = truncated or error
        else:
            cost += completion.cost
            return replace(completion, cost=cost)
    assert truncated is not None  # after the first attempt
    raise truncated
