from core.apps import StrataApp


class McpServerConfig(StrataApp):
    name = "mcp_server"
    urls = "mcp_server.urls"
    asynchronous_paths = frozenset({"/mcp", "/mcp/"})
