"""System checks of query pipelines."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from answers.exceptions import InvalidPipeline
from answers.pipelines.declaring import find_pipeline_files, read_declarations
from answers.pipelines.loading import load_pipeline
from indexing.spec.loaded import get_specs


@register("strata")
def check_pipelines(**kwargs: Any) -> list[CheckMessage]:
    """Check every pipeline file, as far as possible without Haystack."""
    folder = settings.STRATA_PIPELINES_DIR
    if not Path(folder).is_dir():
        return [
            Error(
                f"The folder of query pipelines, {folder}, does not exist.",
                hint="Make the folder, or set STRATA_PIPELINES_DIR to the right one.",
                id="answers.E001",
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
            id="answers.E003",
        )
        for spec in get_specs().values()
        if spec.search.pipeline not in names
    ]


def _make_check_error(error: InvalidPipeline) -> CheckMessage:
    return Error(str(error), hint=", ".join(error.allowed or ()) or None, id="answers.E002")
