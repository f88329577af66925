"""System checks of query pipelines."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from answers.pipelines.declaring import find_pipeline_files, read_declarations
from answers.pipelines.loading import load_pipeline
from indexing.embedding import minilm
from indexing.spec.loaded import get_specs
from retrieval.exceptions import InvalidPipeline


@register("strata")
def check_pipelines(**kwargs: Any) -> list[CheckMessage]:
    """Check every pipeline file, as far as possible without Haystack."""
    folder = settings.STRATA_PIPELINES_DIR
    if not Path(folder).is_dir():
        return [
            Error(
                f"The folder of query pipelines, {folder}, does not exist.",
                hint="Make the folder, or set STRATA_PIPELINES_DIR to the right one.",
                id="retrieval.E001",
            )
        ]
    return [
        _make_check_error(each) for each in read_declarations() if isinstance(each, InvalidPipeline)
    ]


def check_pipelines_load(**kwargs: Any) -> list[CheckMessage]:
    """Check that every pipeline can be built: parameters, inputs and outputs exist and match.

    Imports Haystack, which takes seconds, so only ``strata check`` registers it.
    """
    messages: list[CheckMessage] = []
    for declaration in read_declarations():
        if isinstance(declaration, InvalidPipeline):
            continue  # check_pipelines reports it
        try:
            load_pipeline(declaration)
        except InvalidPipeline as error:
            messages.append(_make_check_error(error))
    return messages


@register("specs")
def check_pipelines_of_specs(**kwargs: Any) -> list[CheckMessage]:
    """Check that every pipeline that a spec names exists."""
    names = sorted(find_pipeline_files())
    return [
        Error(
            f"specs/{spec.name}.yaml: search.pipeline: there is no pipeline "
            f"{spec.search.pipeline!r}.",
            hint=", ".join(names),
            id="retrieval.E003",
        )
        for spec in get_specs().values()
        if spec.search.pipeline not in names
    ]


def _make_check_error(error: InvalidPipeline) -> CheckMessage:
    return Error(str(error), hint=", ".join(error.allowed or ()) or None, id="retrieval.E002")


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
                    id="retrieval.W001",
                )
            )
    return messages
