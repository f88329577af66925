"""docs/reference/mcp.md shows the table of tools as it is; the how-to's configurations are JSON."""

import json
import re
from pathlib import Path

from django.conf import settings

from mcp_server.resources import TEMPLATES
from mcp_server.tools import TOOLS, AgentTool

GUIDE = Path(settings.BASE_DIR) / "docs" / "how-to" / "connect-agents.md"
REFERENCE = Path(settings.BASE_DIR) / "docs" / "reference" / "mcp.md"


def render_row(tool: AgentTool) -> str:
    schema = tool.make_schema()
    listed = tool.make_listed_schema()["properties"]
    required = [f"**{name}**" for name in schema["required"]]
    others = [name for name in listed if name not in schema["required"]]
    unlisted = [name for name in schema["properties"] if name not in listed]
    cells = tool.name, tool.scope, ", ".join([*required, *others]), ", ".join(unlisted)
    return f"| `{cells[0]}` | {' | '.join(cells[1:])} | {tool.description} |"


class TestReference:
    def test_has_a_row_for_each_tool(self):
        text = REFERENCE.read_text(encoding="utf-8")
        rows = [render_row(tool) for tool in TOOLS.values()]

        assert [line for line in text.splitlines() if line.startswith("| `")] == rows, "\n".join(
            rows
        )

    def test_names_every_resource(self):
        text = REFERENCE.read_text(encoding="utf-8")

        for uri, (_, description) in TEMPLATES.items():
            assert f"`{uri}`: {description}" in text


class TestGuide:
    def test_has_valid_configurations(self):
        text = GUIDE.read_text(encoding="utf-8")

        found = [
            json.loads(block)
            for block in re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        ]

        servers = [each.get("mcpServers") or each["servers"] for each in found]
        assert [list(each) for each in servers] == [["strata"]] * 3
        assert servers[0]["strata"]["args"][-1] == "mcp"
        assert all(each["strata"]["url"].endswith("/mcp") for each in servers[1:])
