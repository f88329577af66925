"""The declared query pipelines, as JSON and as a page that draws them."""

from typing import Any

from django.contrib.auth.decorators import user_passes_test
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import strata_types
from access.grants import Scope
from core.openapi import body_of
from core.paging import render_whole_list
from retrieval.exceptions import InvalidPipeline
from retrieval.pipelines.declaring import PipelineDeclaration, read_declarations


class PipelineListView(APIView):
    """The query pipelines, each with its components in the order they run."""

    scopes = Scope.SEARCH

    @extend_schema(
        operation_id="list_pipelines",
        tags=["Answers"],
        responses=body_of(strata_types.PipelineList),
    )
    def get(self, request: Request) -> Response:
        """List the query pipelines."""
        pipelines, mistakes = _read_pipelines()
        return Response({**render_whole_list(pipelines), "mistakes": mistakes})


@user_passes_test(lambda user: user.is_superuser, login_url="admin:login")
@require_safe
def pipelines_page(request: HttpRequest) -> HttpResponse:
    """List every pipeline; the page's script draws them from the same data."""
    pipelines, mistakes = _read_pipelines()
    return render(request, "pipelines.html", {"pipelines": pipelines, "mistakes": mistakes})


def _read_pipelines() -> tuple[list[dict[str, Any]], list[str]]:
    pipelines, mistakes = [], []
    for declaration in read_declarations():
        if isinstance(declaration, InvalidPipeline):
            mistakes.append(str(declaration))
        else:
            pipelines.append(render_pipeline(declaration))
    return pipelines, mistakes


def render_pipeline(declaration: PipelineDeclaration) -> dict[str, Any]:
    components = declaration.components
    return {
        "name": declaration.name,
        "title": declaration.metadata.title,
        "description": declaration.metadata.description,
        "components": [
            {
                "name": name,
                "type": components[name].type_name,
                "init_parameters": components[name].init_parameters,
            }
            for name in declaration.execution_order
        ],
        "connections": [connection.model_dump() for connection in declaration.connections],
    }
