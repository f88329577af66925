"""Errors of language model calls."""

from core.exceptions import StrataError


class LanguageModelError(StrataError):
    """The language model returned nothing usable."""

    code = "language_model_error"

    def __init__(
        self,
        detail: str | None = None,
        *,
        fix: str | None = None,
        call_count: int = 0,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
    ) -> None:
        super().__init__(detail, fix=fix)
        # Calls and tokens used before the failure: they are billed too.
        self.call_count = call_count
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens


class LanguageModelMissing(LanguageModelError):
    """No language model is configured."""

    code = "language_model_missing"
    is_about_setup = True


class LanguageModelMisconfigured(LanguageModelError):
    """The language model's endpoint refuses the key, the address or the model's name."""

    code = "language_model_misconfigured"
    is_about_setup = True


class LanguageModelCallsSpent(LanguageModelError):
    """The build has used all its allowed calls of the language model."""

    code = "language_model_calls_spent"
    is_about_setup = True


class LanguageModelUnavailable(LanguageModelError):
    """The language model did not answer; safe to retry."""

    code = "language_model_unavailable"
    is_retryable = True
    retry_after: float | None = None  # seconds, where the endpoint says when to come back


class LanguageModelBusy(LanguageModelUnavailable):
    """Other calls of this process take all the slots; safe to retry."""


class LanguageModelRefused(LanguageModelError):
    """The language model refused this text; a retry will not help."""

    code = "language_model_refused"


class InvalidCompletion(LanguageModelError):
    """The language model's response does not match the schema, or was truncated."""

    code = "invalid_completion"
    is_truncated = False  # more room, or a shorter response, may help
