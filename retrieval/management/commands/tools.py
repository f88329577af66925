from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from django.core.management.base import CommandParser

from core.command_options import add_json_option, parse_assignments, parse_json
from retrieval.management.answer_printing import AnswerCommand

TYPES_READ_AS_JSON = ("integer", "number", "boolean")


class Command(AnswerCommand):
    help = "List the tools that an index's spec declares, or call one of them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index")
        parser.add_argument("tool", nargs="?", help="The tool to call; without it, list all.")
        parser.add_argument(
            "arguments", nargs="*", metavar="NAME=VALUE", help="The tool's arguments, and limit."
        )
        add_json_option(parser)

    def handle(
        self, *, index: str, tool: str | None, arguments: Sequence[str], json: bool, **options: Any
    ) -> None:
        assignments = parse_assignments(arguments, "An argument")
        path = f"indexes/{quote(index, safe='')}/tools/"
        answer = self.api.get(path)
        if tool is not None:
            schemas = {each["name"]: each["parameters"] for each in answer["results"]}
            # The API refuses an unknown tool.
            properties = schemas.get(tool, {"properties": {}})["properties"]
            answer = self.api.post(
                f"{path}{quote(tool, safe='')}/",
                {
                    name: parse_json(value, name)
                    if properties.get(name, {}).get("type") in TYPES_READ_AS_JSON
                    else value
                    for name, value in assignments.items()
                },
            )
        if tool is None and not json:
            self._print_tools(answer["results"])
        else:
            self.print_answer(answer, as_json=json)

    def _print_tools(self, tools: Sequence[dict[str, Any]]) -> None:
        if not tools:
            self.stdout.write("The index declares no tools.")
        for tool in tools:
            self.stdout.write(f"{tool['name']}: {tool['description']}")
            for name, schema in tool["parameters"]["properties"].items():
                values = ", ".join(schema["enum"]) if "enum" in schema else schema["type"]
                description = f": {schema['description']}" if "description" in schema else ""
                self.stdout.write(f"   {name} ({values}){description}")
