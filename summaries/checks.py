"""System checks of the prompts that specs name and of the language model settings."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from indexing.spec.loaded import get_specs
from language_models.exceptions import InvalidPrompt
from language_models.prompts import read_prompt_template


@register("specs")
def check_prompts(**kwargs: Any) -> list[CheckMessage]:
    """Check that every prompt named by a spec exists and is a valid template."""
    messages: list[CheckMessage] = []
    for spec in get_specs().values():
        for prompt in spec.prompt_names:
            try:
                read_prompt_template(prompt)
            except (InvalidPrompt, UnicodeDecodeError) as error:
                hint = ", ".join(getattr(error, "allowed", None) or []) or None
                messages.append(
                    Error(f"specs/{spec.name}.yaml: {error}", hint=hint, id="summaries.E001")
                )
    return messages


@register("strata")
def check_language_model_settings(**kwargs: Any) -> list[CheckMessage]:
    """Warn if only one of the two settings is set: rules would write the texts without notice."""
    if bool(settings.STRATA_LLM_BASE_URL) == bool(settings.STRATA_LLM_MODEL):
        return []
    return [
        Warning(
            "A language model needs both STRATA_LLM_BASE_URL and STRATA_LLM_MODEL; one of them "
            "is missing, so summaries are extractive.",
            hint="Set both, or neither.",
            id="summaries.W001",
        )
    ]
