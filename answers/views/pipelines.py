"""The declared query pipelines over HTTP."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import strata_types
from access.grants import Scope
from answers.exceptions import InvalidPipeline
from answers.pipelines.declaring import PipelineDeclaration, read_declarations
from core.openapi import operation
from core.paging import render_whole_list


class PipelineListView(APIView):
    """The query pipelines, each with its components in the order they run."""

    scopes = Scope.SEARCH

    @operation("list_pipelines", strata_types.PipelineList, tags=["Answers"])
    def get(self, request: Request) -> Response:
        """List the query pipelines."""
        pipelines, mistakes = read_pipelines()
        return Response({**render_whole_list(pipelines), "mistakes": mistakes})


def read_pipelines() -> tuple[list[dict[str, Any]], list[str]]:
    """The pipelines that can be read, and the mistakes of the others."""
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
