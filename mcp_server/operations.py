"""REST operations as tools call them: read from the OpenAPI document, sent with an HTTP client.

Tools ask REST, so that scopes, grants, checks of parameters and errors are those of REST.
"""

import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx
from drf_spectacular.generators import SchemaGenerator
from httpx_sse import ServerSentEvent, aconnect_sse

from core.exceptions import InvalidInput, StrataError

ALIAS = re.compile(r"The same as (\w+)\.")  # describes a second name of a parameter
OPTIONAL = "May be left out"  # in the description of a parameter
PATH_NAME = re.compile(r"{(\w+)}")
JSON = {"Content-Type": "application/json"}

_lock = Lock()


@dataclass(frozen=True, slots=True)
class Operation:
    """``schema``: the JSON schema of all arguments, whether they are in the path, the query string
    or the body. ``aliases``: other names of some, each with its own."""

    method: str
    path: str
    schema: dict[str, Any]
    aliases: dict[str, str]

    async def send(self, api: httpx.AsyncClient, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request with these arguments and return its answer.

        Raises:
            StrataError: REST refused it, or an argument that the path needs is missing.
        """
        names = PATH_NAME.findall(self.path)
        in_path = {name: arguments.get(name) for name in names}
        others = {name: value for name, value in arguments.items() if name not in names}
        return await self.send_to(api, in_path, others)

    async def send_to(
        self, api: httpx.AsyncClient, in_path: Mapping[str, Any], others: Mapping[str, Any]
    ) -> dict[str, Any]:
        """As ``send``, with the path's arguments apart: other arguments may have the same names."""
        path = self.path.format(
            **{name: self._quote_segment(name, value) for name, value in in_path.items()}
        )
        if self.method == "GET":
            query = {k: _format_query_value(v) for k, v in others.items() if v is not None}
            response = await api.get(path, params=query)
        else:
            response = await api.request(
                self.method, path, content=_dump(others), headers=dict(JSON)
            )
        answer: dict[str, Any] = response.json()
        if response.is_error:
            raise StrataError.from_json(answer)
        return answer

    async def stream(
        self, api: httpx.AsyncClient, arguments: Mapping[str, Any]
    ) -> AsyncIterator[ServerSentEvent]:
        """Send a request to an operation that answers with events.

        Raises:
            StrataError: REST refused it.
        """
        body = _dump(arguments)
        async with aconnect_sse(
            api, self.method, self.path, content=body, headers=dict(JSON)
        ) as events:
            if events.response.is_error:
                raise StrataError.from_json(json.loads(await events.response.aread()))
            async for event in events.aiter_sse():
                yield event

    def _quote_segment(self, name: str, value: Any) -> str:
        if value is None:
            raise InvalidInput(f"The argument {name} is missing.", field=name)
        text = str(value)
        if self.schema["properties"][name].get("format") == "uuid":
            try:
                return str(UUID(text))
            except ValueError:
                raise InvalidInput(f"{name} must be a UUID.", field=name) from None
        if text in {"", ".", ".."} or "/" in text:  # it would change the path
            raise InvalidInput(f"{name} is not a valid name.", field=name)
        return quote(text, safe="")


def _dump(arguments: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(arguments), allow_nan=False)
    except ValueError:
        raise InvalidInput("Numbers must not be NaN or infinite.") from None


def get_operation(operation_id: str) -> Operation:
    return _read_operations()[operation_id]


def load_operations() -> None:
    """Read them, which takes half a second, before the event loop asks for one."""
    with _lock:  # one thread reads the document while others wait for it
        _read_operations()


@cache
def _read_operations() -> dict[str, Operation]:
    """Once for each process."""
    document = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    components = document["components"]["schemas"]
    return {
        described["operationId"]: Operation(
            method.upper(), path, *_make_schema(described, components)
        )
        for path, methods in document["paths"].items()
        for method, described in methods.items()
    }


def _make_schema(
    described: Mapping[str, Any], components: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The schema of the arguments, and their other names."""
    properties: dict[str, Any] = {}
    aliases: dict[str, str] = {}
    required: list[str] = []
    for parameter in described.get("parameters", ()):
        if parameter["in"] == "header":
            continue
        name = parameter["name"]
        properties[name] = _inline(parameter["schema"], components)
        if "description" in parameter:
            properties[name]["description"] = parameter["description"]
        if parameter.get("required"):
            required.append(name)
    content = described.get("requestBody", {}).get("content", {}).get("application/json", {})
    body = _inline(content.get("schema", {}), components)
    body = body.get("oneOf", [body])[0]  # the other forms abbreviate the first
    properties |= body.get("properties", {})
    required += body.get("required", [])
    for name, schema in list(properties.items()):
        if alias := ALIAS.fullmatch(schema.get("description", "")):
            del properties[name]
            aliases[name] = alias[1]
            if OPTIONAL not in properties[alias[1]].get("description", ""):
                required.append(alias[1])  # it was optional only because of its second name
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(dict.fromkeys(required)),
        "additionalProperties": False,
    }
    return schema, aliases


def _inline(schema: Any, components: Mapping[str, Any]) -> Any:
    """The OpenAPI schema as JSON schema, each reference replaced by what it names."""
    if isinstance(schema, list):
        return [_inline(each, components) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    if "$ref" in schema:
        return _inline(components[schema["$ref"].rpartition("/")[2]], components)
    # A property may have the name of a keyword.
    properties = {k: _inline(v, components) for k, v in schema.get("properties", {}).items()}
    inlined: dict[str, Any] = {
        name: properties if name == "properties" else _inline(value, components)
        for name, value in schema.items()
    }
    if len(inlined.get("allOf", ())) == 1:  # OpenAPI's way to put a default beside a reference
        [only] = inlined.pop("allOf")
        inlined = only | inlined
    if isinstance(described := inlined.get("description"), str):
        # What follows repeats the choices.
        inlined["description"] = described.partition("* `")[0].strip()
        if not inlined["description"]:
            del inlined["description"]
    return inlined


def _format_query_value(value: Any) -> str:
    """Lists as REST takes them in a query string: with commas between the values."""
    if isinstance(value, list):
        return ",".join(str(each) for each in value)
    return value if isinstance(value, str) else json.dumps(value)
