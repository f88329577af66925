"""The models that can be asked: each index, by its own query pipeline or by a named one."""

from collections.abc import Iterator
from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from access.authentication import get_grant
from access.grants import Grant
from core.exceptions import Unknown
from guests.errors import OpenAiView
from indexing.models import Index
from retrieval.hooks import find_pipelines

SEPARATOR: Final = ":"  # neither an index nor a pipeline has it in its name


class UnknownModel(Unknown):
    """There is no such model, or the key may not search its index."""

    code = "model_not_found"


def list_models(grant: Grant) -> Iterator[str]:
    """``INDEX``, then ``INDEX:PIPELINE``, of each index that may be searched."""
    rows = grant.limit(Index.objects.not_being_removed()).order_by("name")
    pipelines = sorted(find_pipelines())
    for index in rows.values_list("name", flat=True):
        yield index
        yield from (f"{index}{SEPARATOR}{pipeline}" for pipeline in pipelines)


def split_model(model: str) -> dict[str, str]:
    """The index and the pipeline, as parameters of a question."""
    index, _, pipeline = model.partition(SEPARATOR)
    return {"index": index, "pipeline": pipeline} if pipeline else {"index": model}


def make_unknown(model: str, grant: Grant) -> UnknownModel:
    allowed = [name for name in list_models(grant) if SEPARATOR not in name]
    return UnknownModel(
        f"The model {model[:100]!r} does not exist, or the key may not search its index.",
        field="model",
        allowed=allowed,
    )


class ModelListView(OpenAiView):
    def get(self, request: Request) -> Response:
        models = map(_render_model, list_models(get_grant(request)))
        return Response({"object": "list", "data": list(models)})


class ModelView(OpenAiView):
    def get(self, request: Request, model: str) -> Response:
        if model not in list_models(get_grant(request)):
            raise make_unknown(model, get_grant(request))
        return Response(_render_model(model))


def _render_model(model: str) -> dict[str, Any]:
    return {"id": model, "object": "model", "created": 0, "owned_by": "strata"}
