"""The tool with which agents ask, and an answer as text."""

from answers.answer_stream import JoinedAnswer
from retrieval.agent_tools import Tool
from retrieval.hit_text import (
    Content,
    fence,
    format_relationship,
    list_notes,
    one_line,
    render_hits,
)


def render_ask(content: Content) -> str:
    """The answer, whose marks such as [1] name the passages below it."""
    refusal = content.get("refusal") or {}
    refused = " ".join(filter(None, (refusal.get("detail"), refusal.get("fix"))))
    answer = content.get("answer")
    parts = [fence(answer) if answer else refused or "There is no answer."]
    parts += list_notes(content)
    cited = content.get("citations", ())
    parts += [
        f"Note: passage [{number}] does not support a sentence that cites it."
        for number in sorted({each["number"] for each in cited if not each["is_supported"]})
    ]
    if hits := content.get("hits"):
        parts += ["# Passages", render_hits({"hits": hits})]
    if edges := content.get("relationships"):
        parts.append("\n".join(["# Relationships", *map(_format_quoted_relationship, edges)]))
    return "\n\n".join(parts)


def _format_quoted_relationship(edge: Content) -> str:
    quotes = [f'"{one_line(each["quote"])}" [{each["number"]}]' for each in edge["quotes"]]
    return f"{format_relationship(edge)}: {' '.join(quotes)}"


TOOLS = (
    Tool(
        "ask",
        ("ask_by_body", "ask"),
        "Ask a question in a whole sentence. The answer cites the passages below it by their "
        "numbers. Filters such as years and names are read from the question.",
        to_text=render_ask,
        join_events=JoinedAnswer,
    ),
)
