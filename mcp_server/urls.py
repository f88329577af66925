"""Routes of the endpoint of MCP."""

from django.urls import path

from mcp_server.endpoint import answer_mcp

urlpatterns = [
    path("mcp", answer_mcp, name="mcp"),
    path("mcp/", answer_mcp),
]
