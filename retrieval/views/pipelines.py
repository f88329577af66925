"""The declared query pipelines, as JSON and as a page that draws them."""

from typing import Any

from django.contrib.auth.decorators import user_passes_test
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from access.grants import Scope
from core.openapi import make_list_example, with_example
from core.paging import render_whole_list
from core.serializers import ListSerializer
from retrieval.exceptions import InvalidPipeline
from retrieval.pipelines.declaring import PipelineDeclaration, read_declarations


class PipelineComponentSerializer(serializers.Serializer):
    name = serializers.CharField()
    type = serializers.CharField()
    init_parameters = serializers.DictField()


class PipelineConnectionSerializer(serializers.Serializer):
    sender = serializers.CharField(help_text="component.output")
    receiver = serializers.CharField(help_text="component.input")


class PipelineSerializer(serializers.Serializer):
    name = serializers.CharField()
    title = serializers.CharField()
    description = serializers.CharField()
    components = PipelineComponentSerializer(many=True)
    connections = PipelineConnectionSerializer(many=True)


@with_example(
    make_list_example(
        {
            "name": "plain",
            "title": "Plain",
            "description": "One hybrid search.",
            "components": [
                {"name": "fusion", "type": "Fusion", "init_parameters": {}},
                {"name": "context", "type": "ContextBuilder", "init_parameters": {}},
            ],
            "connections": [{"sender": "fusion.passages", "receiver": "context.passages"}],
        }
    )
    | {"mistakes": []}
)
class PipelineListSerializer(ListSerializer):
    results = PipelineSerializer(many=True)
    mistakes = serializers.ListField(
        child=serializers.CharField(),
        help_text="The errors of the invalid files, which are left out.",
    )


class PipelineListView(APIView):
    """The query pipelines, each with its components in the order they run."""

    scopes = Scope.SEARCH

    @extend_schema(
        operation_id="list_pipelines", tags=["Answers"], responses=PipelineListSerializer
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
