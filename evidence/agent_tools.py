"""The tools for findings that agents call, and their answers as text."""

from collections.abc import Iterator
from typing import Any

from access.grants import Scope
from retrieval.agent_tools import Tool
from retrieval.hit_text import Content, fence, format_hit, join, join_parts, one_line

MAX_SHOWN = 10  # repeats of a finding, and authors of one or of a repeat
MAX_NEAR_SHOWN = 5  # findings near one


def render_findings(content: Content) -> str:
    hits = enumerate(content["hits"], 1)
    return join_parts(content, [_format_finding(number, hit) for number, hit in hits])


def _format_finding(number: int, hit: Content) -> str:
    published = _format_publication(hit, hit["citation"].get("title"))
    above = [f"From {published}"] if published else []
    return format_hit(number, hit, above=above, below=_list_findings_near(hit))


def _format_publication(finding: Content, shown_title: str | None = None) -> str:
    """Where a finding or a repeat comes from; without its title where that is shown already."""
    citation = finding["citation"]
    named = [finding["url"], *map(citation.get, ("url", "title", "source", "date", "authors"))]
    shown = dict.fromkeys(map(_list_on_one_line, named))
    return join(*(each for each in shown if each != _list_on_one_line(shown_title)))


def _list_on_one_line(value: Any) -> str:
    """A value of a citation: of a document that was not added as a finding, it has any type."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    shown = ", ".join(one_line(str(each)) for each in values[:MAX_SHOWN])
    if count := len(values[MAX_SHOWN:]):
        shown += f" and {count} other{'s' if count > 1 else ''}"
    return shown


def _list_findings_near(finding: Content) -> Iterator[str]:
    """What repeats a finding, and what is similar to it and has other words."""
    references = finding["references"]
    for each in references[:MAX_SHOWN]:
        yield f"Repeated by {_format_publication(each)} · cosine {each['similarity']:.4f}"
        yield fence(each["content"])
    if count := len(references[MAX_SHOWN:]):
        yield f"Repeated {count} more time{'s' if count > 1 else ''}."
    near = finding["similar_to"]
    label = "Near it, with other words"
    for each in near[:MAX_NEAR_SHOWN]:
        place = f"document {each['artifact_id']} · cosine {each['similarity']:.4f}"
        yield f"{label}: {join(one_line(each['url'] or ''), place)}"
        yield fence(each["content"])
    if count := len(near[MAX_NEAR_SHOWN:]):
        yield f"{label}: {count} more."


TOOLS = (
    Tool(
        "add_evidence",
        ("add_evidence",),
        "Keep findings of your research, each with its URL. A finding that says what a stored one "
        "says is kept only as a reference of the stored one, which its verdict names.",
        scope=Scope.WRITE,
    ),
    Tool(
        "find_similar_evidence",
        ("find_related_evidence", "find_similar_evidence"),
        "Find stored findings that are similar to a claim or a question, with their URLs and what "
        "repeats them. Near-repeats of a better finding come only if there are too few others.",
        to_text=render_findings,
    ),
)
