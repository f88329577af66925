"""Schemas of arguments as every provider of language models takes them.

Gemini, OpenAI, Bedrock and Claude each refuse the whole list of tools for one keyword that they do
not know, and OpenAI's strict form has no objects with any fields. So only a type, a description and
choices are left, ranges and defaults are written in words, and such an object is JSON text.
``mcp_server.arguments`` reads whatever comes of it.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, Final

from mcp_server.arguments import list_forms

# Taken, and not listed: agents seldom need them, and each costs tokens in every conversation.
SELDOM: Final = frozenset(
    {
        "concept_limit", "concept_min_similarity", "concept_weight", "explain", "group_by",
        "history", "if_exists", "include_concepts", "input_type", "min_score", "min_similarity",
        "mode", "must", "must_not", "pages", "phrases", "pipeline", "relationship_limit",
        "relationship_min_similarity", "relationship_weight", "source_limit",
        "source_min_similarity", "source_weight", "stale", "threshold", "type", "urls", "vector",
        "verify", "versions", "why_not", "with_text", "is_partial", "media_type",
        "ordering", "part_of",
    }
)  # fmt: skip
MANY: Final = 1_000  # a bound that is not worth saying
MAX_CHOICES_CHARS: Final = 500  # of a field's values; list_values shows more

DESCRIPTIONS: Final[Mapping[str, str]] = {
    "filter": 'JSON text, such as {"year": {"gte": 2019}, "venue": ["ACL", "EMNLP"]}. null: has no '
    "value; all_of, any_of and not nest.",
    "metadata": 'JSON text of the fields, such as {"year": 2026}.',
    "limit": "At most.",
    "min_revision": "The revision of a write, as its answer has it, that must be visible.",
    "date": "Such as 2021-05-14, 2021-05 or 2021.",
    "offset": "How many to leave out, for the next page.",
    "source_id": "As a hit names it.",
    "document_id": "As a hit names it.",
    "concept_id": "As a hit names it.",
}
INDEX: Final = "Its name."
INDEXES: Final = "Names, with commas between them."
NEEDED: Final = "Needed if several hold what is sought."
OWN: Final = "x-own-description"  # marks a schema here; no agent sees it
OPERATORS: Final = {"all_of", "any_of", "not"}  # of filters
UUID_EXAMPLE: Final = "4b92a7cc-89b5-5aa8-821a-206bd0e6561e"
EXAMPLES: Final[Mapping[str, Any]] = {
    "filter": {"year": {"gte": 2019}},
    "metadata": {"year": 2026},
    "query": "last ferry to Ven",
    "limit": 10,
    "index": "library",
    "text": "The last ferry to Ven leaves at 21:40.",
    "input": ["ferry to Ven"],
    "like": ["supports"],
    "items": [{"content": "The ferry carries no cars.", "url": "https://example.org/ferry"}],
    "title": "Timetable",
}


def make_agent_schema(
    schema: Mapping[str, Any], unlisted: Collection[str], *, is_declared: bool = False
) -> dict[str, Any]:
    """The listed arguments, in the subset that all providers take. Required ones are listed.

    Args:
        is_declared: a spec describes them; else those of REST are described in fewer words.
    """
    if is_declared:
        schema = {**schema, "properties": {
            name: {OWN: True, **each} for name, each in schema.get("properties", {}).items()
        }}  # fmt: skip
    required = list(schema.get("required", ()))
    properties = {
        name: _simplify(name, each, is_required=name in required)
        for name, each in schema.get("properties", {}).items()
        if name in required or name not in unlisted
    }
    made = {"type": "object", "properties": properties}
    return made | ({"required": required} if required else {})


def make_example(schema: Mapping[str, Any], field: str, allowed: Collection[str]) -> str | None:
    """The argument of an error as it might be, as JSON; None if the tool has none of this name."""
    name = field.partition(".")[0]
    properties = schema.get("properties", {})
    if name not in properties:
        return None
    return json.dumps({name: _find_example(name, properties[name], allowed)}, ensure_ascii=False)


def _find_example(name: str, schema: Mapping[str, Any], allowed: Collection[str]) -> Any:
    form = list_forms(schema)[0]
    if name in allowed:  # they are arguments, not values of one
        allowed = ()
    if allowed and form["type"] == "string":
        return sorted(allowed)[0]
    if allowed and form["type"] == "object":  # the fields of a filter or of metadata
        return {min(set(allowed) - OPERATORS, default="field"): "..."}
    if name in EXAMPLES:
        return EXAMPLES[name]
    if "enum" in form:
        return form["enum"][0]
    if form["type"] in {"integer", "number"}:
        return form.get("default", form.get("minimum", 1))
    return {
        "boolean": True,
        "array": [UUID_EXAMPLE] if name == "ids" else ["..."],
        "object": {},
    }.get(form["type"], UUID_EXAMPLE if form.get("format") == "uuid" else "...")


def _simplify(name: str, schema: Mapping[str, Any], *, is_required: bool = True) -> dict[str, Any]:
    forms = {form["type"]: form for form in list_forms(schema)}
    kind = next(iter(forms))
    if "array" in forms and is_required:
        kind = "array"  # else names with commas between them, as REST takes them
    form = forms[kind]
    described = _describe(name, schema, form, is_list="array" in forms, is_required=is_required)
    if kind == "object" and "properties" not in form:
        return {"type": "string", **described}
    simple: dict[str, Any] = {"type": kind, **described}
    if kind == "array":
        simple["items"] = _simplify("", form.get("items", {"type": "string"}))
    elif kind == "object":
        required = form.get("required", ())
        inner = form["properties"].items()
        simple["properties"] = {
            key: _simplify(key, _shorten(each), is_required=key in required) for key, each in inner
        }
        if required:
            simple["required"] = list(required)
    elif choices := _list_choices(form):
        simple["enum"] = choices
    return simple


def _shorten(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    first, end, _ = schema.get("description", "").partition(". ")
    return {**schema, "description": f"{first}." if end else first}


def _describe(
    name: str, schema: Mapping[str, Any], form: Mapping[str, Any], *, is_list: bool,
    is_required: bool,
) -> dict[str, str]:  # fmt: skip
    own = schema.get("description", "").partition("* `")[0]
    text = own if OWN in schema else DESCRIPTIONS.get(name, own)
    if name == "index" and OWN not in schema:
        text = INDEX if is_required else f"{INDEXES if is_list else INDEX} {NEEDED}"
    if "enum" in form and not _list_choices(form):
        text = f"{text} One of: {json.dumps(form['enum'], ensure_ascii=False)}"
        text = f"{text[:MAX_CHOICES_CHARS]} …; list_values shows all."
    parts = [text]
    least, most = form.get("minimum"), form.get("maximum")
    if form["type"] in {"integer", "number"} and least is not None and most is not None:
        parts.append(f"{least:g} to {most:g}." if most < MANY else "")
    if form["type"] != "boolean" and form.get("default"):
        parts.append(f"Default {form['default']}.")
    text = " ".join(part for part in parts if part)
    return {"description": text} if text else {}


def _list_choices(form: Mapping[str, Any]) -> list[str]:
    """None of them if they are too many for a list of tools, of which some providers allow few."""
    choices = [str(each) for each in form.get("enum", ()) if each not in ("", None)]
    return choices if len(json.dumps(choices)) <= MAX_CHOICES_CHARS else []
