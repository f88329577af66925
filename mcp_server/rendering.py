"""Writes REST's answers as text that a language model reads, by the rules of
``retrieval.hit_text``.
"""

import json
from collections.abc import Mapping
from typing import Any

import yaml

from retrieval.hit_text import (
    fence,
    format_place,
    join,
)

Content = Mapping[str, Any]


def render_as_yaml(content: Content) -> str:
    text: str = yaml.safe_dump(dict(content), allow_unicode=True, sort_keys=False, width=1_000)
    return text


def render_source(content: Content) -> str:
    """A source between its neighbours, in the order of the document."""
    heading = format_place(content)
    passages = sorted([content, *content["neighbours"]], key=lambda each: each["ordinal"])
    lines = [heading]
    for each in passages:
        note = " (the source that was asked for)" if each is content else ""
        lines.append(f"# Source {each['ordinal']}, id {each['id']}{note}\n{fence(each['text'])}")
    return "\n\n".join(lines)


def render_indexes(content: Content) -> str:
    return "\n".join(_format_index(index) for index in content["results"]) or "No index is visible."


def render_vectors(content: Content) -> str:
    """A line for each, which takes half the tokens of YAML."""
    facts = {name: value for name, value in content.items() if name != "vectors"}
    return "\n".join([render_as_yaml(facts).rstrip(), *map(json.dumps, content["vectors"])])


def render_error(problem: Content) -> str:
    """What went wrong and in which field, what is allowed, what to do, and an example."""
    field = problem.get("field", "")
    is_named = field.rpartition(".")[2] in problem["detail"]
    code = problem["code"] if is_named else f"{problem['code']}, field {field}"
    parts = [f"{code}: {problem['detail']}"]
    if allowed := problem.get("allowed"):
        parts.append(f"Allowed: {', '.join(allowed)}.")
    if fix := problem.get("fix"):
        parts.append(fix)
    if example := problem.get("example"):
        parts.append(f"Example: {example}")
    return " ".join(parts)


def _format_index(index: Content) -> str:
    build = "no build is live" if index["build"] is None else f"build {index['build']}"
    return join(
        index["name"],
        index["title"],
        index["description"],
        f"{index['artifacts']} documents",
        build,
        f"kinds: {', '.join(index['kinds'])}",
        index["problem"],
    )
