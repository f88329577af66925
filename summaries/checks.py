"""System checks of what people write for summaries: prompts named by specs, settings."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from indexing.exceptions import InvalidSpec
from indexing.spec.loaded import get_specs
from summaries.prompts import read_template


@register
def check_prompts(**kwargs: Any) -> list[CheckMessage]:
    """Every prompt a spec names is there, and is one."""
    try:
        specs = get_specs()
    except (InvalidSpec, OSError, UnicodeDecodeError):
        return []  # indexing's check says so
    messages: list[CheckMessage] = []
    for spec in specs.values():
        for about in (
            spec.page_summaries,
            spec.artifact_summaries,
            spec.questions,
            spec.concepts,
        ):
            if about is None:
                continue
            try:
                read_template(about.prompt)
            except (InvalidSpec, UnicodeDecodeError) as error:
                hint = ", ".join(getattr(error, "allowed", None) or []) or None
                messages.append(
                    Error(f"specs/{spec.name}.yaml: {error}", hint=hint, id="summaries.E001")
                )
    return messages


@register
def check_language_model(**kwargs: Any) -> list[CheckMessage]:
    """Half a configuration would leave everything to the extractive rules, unnoticed."""
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
