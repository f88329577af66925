"""The model: asked for an answer of a schema, or for text as it comes."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from django.conf import settings
from pydantic import BaseModel, ValidationError

from core.import_lock import importing
from summaries.exceptions import (
    InvalidCompletion,
    LanguageModelMisconfigured,
    LanguageModelMissing,
    LanguageModelRefused,
    LanguageModelUnavailable,
)

if TYPE_CHECKING:
    import openai
    from llama_index.llms.openai_like import OpenAILike

from summaries.llm.schemas import describe_problems, list_problems, response_format
from summaries.llm.waiting import Patience, make_waits, read_retry_after, slots, wait_after

T = TypeVar("T", bound=BaseModel)

CONNECT_SECONDS: Final = 10
REFUSALS: Final = {400, 413, 422}  # of what was sent
PASSING: Final = {408, 409, 429}  # and all from 500 on: another try may succeed
NO_KEY: Final = "none"  # sent where no key is set; without any, the client looks for one itself
CHECK_SETTINGS: Final = "Check STRATA_LLM_BASE_URL, STRATA_LLM_MODEL and STRATA_LLM_API_KEY."


@dataclass(frozen=True, slots=True)
class Completion(Generic[T]):
    """A checked answer and what it cost, in what the endpoint counts."""

    value: T
    model_name: str  # as it was asked for, whatever the endpoint calls it
    prompt_tokens: int
    completion_tokens: int
    call_count: int  # HTTP calls made: those that failed count too


def is_configured() -> bool:
    """Whether an endpoint and a model are named; not whether they answer."""
    return bool(settings.STRATA_LLM_BASE_URL and settings.STRATA_LLM_MODEL)


def get_language_model(name: str = "") -> "LanguageModel":
    """The model of this name at the endpoint of the settings; theirs where none is named.

    Nothing is sent yet: a wrong address, key or name shows at the first call.

    Raises:
        LanguageModelMissing: the settings name no endpoint or no model.
    """
    if not is_configured():
        raise LanguageModelMissing(fix="Set STRATA_LLM_BASE_URL and STRATA_LLM_MODEL.")
    return _load(
        name or settings.STRATA_LLM_MODEL,
        settings.STRATA_LLM_BASE_URL,
        settings.STRATA_LLM_API_KEY,
    )


@cache
def _load(name: str, base_url: str, api_key: str) -> "LanguageModel":
    return LanguageModel(name, base_url, api_key)


class LanguageModel:
    """One model at one endpoint. Threads and event loops may share it.

    Each call has a connection of its own: to close that is what tells a server to stop, and
    nothing stays open that a fork or a second event loop could trip over.

    All three calls raise the same:
        LanguageModelUnavailable: no answer, an overloaded server, a time-out, after the retries;
            safe to retry later.
        LanguageModelRefused: the endpoint or the model refuses this text, and would again.
        LanguageModelMisconfigured: it refuses the key, the address or the model's name.
    """

    def __init__(self, name: str, base_url: str, api_key: str = "") -> None:
        self.name = name
        self._base_url = base_url
        self._api_key = api_key

    def __repr__(self) -> str:
        return f"<LanguageModel {self.name}>"

    def complete(
        self,
        system: str,
        user: str,
        schema: type[T],
        *,
        max_tokens: int = 1024,
        patience_seconds: float | None = None,
    ) -> Completion[T]:
        """An answer in the form of ``schema``, asked for at temperature 0.

        An answer of another form is shown to the model once, with what is wrong with it. Where
        somebody waits for it, ``patience_seconds`` is the longest that one call may take, and
        after that none is begun.

        Raises:
            InvalidCompletion: wrong twice, or cut off at ``max_tokens``; the same call would
                end the same way.
        """
        spent = _Spent()
        turns = [("system", system), ("user", user)]
        patience = Patience(patience_seconds)
        answer = self._ask(turns, schema, max_tokens, spent, patience)
        try:
            value = schema.model_validate_json(answer)
        except ValidationError as error:
            turns += [("assistant", answer), ("user", describe_problems(error))]
            answer = self._ask(turns, schema, max_tokens, spent, patience)
            try:
                value = schema.model_validate_json(answer)
            except ValidationError as still:
                raise InvalidCompletion(
                    f"The language model's answer is not a {schema.__name__}, asked twice: "
                    f"{'; '.join(list_problems(still))}",
                    **asdict(spent),
                ) from None
        return Completion(value=value, model_name=self.name, **asdict(spent))

    def stream(self, system: str, user: str, *, max_tokens: int = 1024) -> Iterator[str]:
        """The answer's text, piece by piece.

        The call begins with the first piece and ends with the last, or when the iterator is
        closed: that closes the connection, so the server stops writing. A failure is tried
        again only while no piece has come.
        """
        turns = [("system", system), ("user", user)]
        _import_clients()
        waits, spent = make_waits(), _Spent()
        while True:
            has_begun = False
            try:
                with slots.held(), self._calling(spent), self._connection() as model:
                    for chunk in model.stream_chat(_messages(turns), max_tokens=max_tokens):
                        has_begun = True
                        if chunk.delta:
                            yield chunk.delta
                    if not has_begun:
                        raise ValueError("an empty stream")
                    return
            except LanguageModelUnavailable as error:
                if has_begun:
                    raise
                wait = wait_after(error, waits)
            time.sleep(wait)

    async def astream(
        self, system: str, user: str, *, max_tokens: int = 1024
    ) -> AsyncIterator[str]:
        """``stream`` for an event loop, which it never blocks.

        Cancelled while it waits for a piece, it closes the connection itself. Where the caller
        may be cancelled between two pieces, it has to close the iterator:
        ``async with contextlib.aclosing(model.astream(…)) as pieces``.
        """
        turns = [("system", system), ("user", user)]
        waits, spent = make_waits(), _Spent()
        await asyncio.to_thread(_import_clients)
        while True:
            has_begun = False
            try:
                async with slots.aheld():
                    with self._calling(spent):
                        async with self._aconnection() as model:
                            chunks = await model.astream_chat(
                                _messages(turns), max_tokens=max_tokens
                            )
                            async for chunk in chunks:
                                has_begun = True
                                if chunk.delta:
                                    yield chunk.delta
                            if not has_begun:
                                raise ValueError("an empty stream")
                            return
            except LanguageModelUnavailable as error:
                if has_begun:
                    raise
                wait = wait_after(error, waits)
            await asyncio.sleep(wait)

    def _ask(
        self,
        turns: list[tuple[str, str]],
        schema: type[T],
        max_tokens: int,
        spent: "_Spent",
        patience: "Patience",
    ) -> str:
        """The model's next turn, a whole one; tried again as the settings say."""
        _import_clients()
        waits = make_waits()
        while True:
            try:
                connection = self._connection(patience.left())
                with slots.held(), self._calling(spent), connection as model:
                    answer = model.chat(
                        _messages(turns),
                        max_tokens=max_tokens,
                        response_format=response_format(schema),
                    )
                    raw: Any = answer.raw
                    usage, [choice, *_] = raw.usage, raw.choices
                break
            except LanguageModelUnavailable as error:
                wait = wait_after(error, waits)
                if patience.ends_within(wait):
                    raise
            time.sleep(wait)
        if usage is not None:
            spent.prompt_tokens += usage.prompt_tokens or 0
            spent.completion_tokens += usage.completion_tokens or 0
        if choice.finish_reason == "length":
            raise InvalidCompletion(
                f"The language model's answer was cut off at {max_tokens} tokens.",
                **asdict(spent),
            )
        if choice.finish_reason == "content_filter" or getattr(choice.message, "refusal", None):
            raise LanguageModelRefused(
                "The language model declines to answer about this text.", **asdict(spent)
            )
        return choice.message.content or ""

    @contextmanager
    def _calling(self, spent: "_Spent") -> Iterator[None]:
        """Counts the call, and turns what the libraries raise meanwhile into our conditions.

        Without the cause: what the libraries say may quote the key.
        """
        import httpx
        import openai

        unsendable = (httpx.LocalProtocolError, httpx.UnsupportedProtocol, httpx.InvalidURL)
        cannot_be_sent = LanguageModelMisconfigured(
            "The language model's address or key cannot be sent.", fix=CHECK_SETTINGS
        )
        spent.call_count += 1
        try:
            yield
        except openai.APIStatusError as error:
            raise self._condition(error, spent) from None
        except (openai.APITimeoutError, httpx.TimeoutException):
            seconds = settings.STRATA_LLM_TIMEOUT_SECONDS
            raise LanguageModelUnavailable(
                f"The language model did not answer within {seconds:g} s.", **asdict(spent)
            ) from None
        except (openai.APIError, httpx.HTTPError, httpx.InvalidURL) as error:
            cause = error.__cause__ or error
            if isinstance(cause, unsendable):  # and it may quote the key in other characters
                raise cannot_be_sent from None
            raise LanguageModelUnavailable(
                f"The language model did not answer: {self._redact(str(cause))}", **asdict(spent)
            ) from None
        except UnicodeEncodeError as error:
            if error.encoding == "ascii":  # a header; the body is UTF-8
                raise cannot_be_sent from None
            raise LanguageModelRefused(
                "The text holds half a character, which cannot be sent.", **asdict(spent)
            ) from None
        except (AttributeError, LookupError, TypeError, ValueError):
            # A body that is not what the protocol says: a proxy's page, half an answer.
            raise LanguageModelUnavailable(
                "The language model's answer is no answer.", **asdict(spent)
            ) from None

    def _condition(
        self, error: "openai.APIStatusError", spent: "_Spent"
    ) -> LanguageModelUnavailable | LanguageModelRefused | LanguageModelMisconfigured:
        status = error.status_code
        body = error.body
        reason = body.get("message") if isinstance(body, dict) else body
        said = self._redact(" ".join(str(reason or "nothing else").split()))
        detail = f"The language model's endpoint answered {status}: {said}"
        if status in PASSING or status >= 500:
            passing = LanguageModelUnavailable(detail, **asdict(spent))
            passing.retry_after = read_retry_after(error.response.headers)
            return passing
        if status in REFUSALS:
            return LanguageModelRefused(detail, **asdict(spent))
        return LanguageModelMisconfigured(detail, fix=CHECK_SETTINGS, **asdict(spent))

    def _redact(self, text: str) -> str:
        """The beginning, which is where such servers say why, and never the key."""
        return (text.replace(self._api_key, "…") if self._api_key else text)[:300]

    @contextmanager
    def _connection(self, seconds: float | None = None) -> Iterator["OpenAILike"]:
        import httpx
        import openai

        transport = httpx.Client(verify=_tls())
        with openai.OpenAI(http_client=transport, **self._client_options(seconds)) as client:
            yield self._llama_index(openai_client=client)

    @asynccontextmanager
    async def _aconnection(self) -> AsyncIterator["OpenAILike"]:
        import httpx
        import openai

        transport = httpx.AsyncClient(verify=_tls())
        async with openai.AsyncOpenAI(http_client=transport, **self._client_options()) as client:
            yield self._llama_index(async_openai_client=client)

    def _client_options(self, most: float | None = None) -> dict[str, Any]:
        import httpx

        seconds = settings.STRATA_LLM_TIMEOUT_SECONDS
        seconds = seconds if most is None else min(seconds, most)
        return {
            "api_key": self._api_key or NO_KEY,
            "base_url": self._base_url,
            "timeout": httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
            "max_retries": 0,  # ours are the only ones
        }

    def _llama_index(self, **client: Any) -> "OpenAILike":
        from llama_index.llms.openai_like import OpenAILike

        try:
            return OpenAILike(
                model=self.name,
                api_base=self._base_url,
                api_key=self._api_key or NO_KEY,
                is_chat_model=True,
                temperature=0,
                max_retries=0,  # ours are the only ones
                **client,
            )
        except ValueError:  # a name it knows to lack chat completions
            raise LanguageModelMisconfigured(
                f"The model {self.name} does not answer chat completions.",
                fix="Name another in STRATA_LLM_MODEL.",
            ) from None


@dataclass(slots=True)
class _Spent:
    """What one call of ours has cost so far."""

    call_count: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@cache
def _tls() -> ssl.SSLContext:
    """Reading the certificates takes longer than all else that a call prepares."""
    import httpx

    return httpx.create_ssl_context()


def _import_clients() -> None:
    """What takes seconds the first time, for callers that may not wait where they are."""
    with importing:
        import llama_index.llms.openai_like  # noqa: F401

    _tls()


def _messages(turns: list[tuple[str, str]]) -> list[Any]:
    from llama_index.core.base.llms.types import ChatMessage

    return [ChatMessage(role=role, content=content) for role, content in turns]
