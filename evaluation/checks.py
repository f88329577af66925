"""System check of thresholds of similarity."""

from typing import Any

from django.core.checks import CheckMessage, Warning, register

from indexing.embedding import minilm
from indexing.spec.loaded import get_specs


@register("specs", "thresholds")
def check_thresholds_of_models(**kwargs: Any) -> list[CheckMessage]:
    """Warn where thresholds that were measured for the default model meet another one."""
    messages: list[CheckMessage] = []
    for spec in get_specs().values():
        unmeasured = [
            name
            for section in spec.app_sections
            for name, threshold in section.thresholds.items()
            if threshold == section.measured_thresholds[name]
        ]
        if spec.embedding.model not in minilm.NAMES and unmeasured:
            messages.append(
                Warning(
                    f"specs/{spec.name}.yaml: {' and '.join(unmeasured)} were measured for the "
                    f"embedding model {minilm.NAME}, not for {spec.embedding.model}.",
                    hint=f"strata measure_thresholds {spec.name} prints values for its model.",
                    id="evaluation.W001",
                )
            )
    return messages
