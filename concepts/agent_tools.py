"""The tools for concepts that agents call, and answers with concepts as text."""

from collections.abc import Iterable, Iterator

from retrieval.agent_tools import Tool
from retrieval.hit_text import Content, format_hit, format_relationship, join, join_parts, one_line


def render_knowledge(content: Content) -> str:
    """The answer of any search of concepts, sources or relationship types."""
    parts = _format_hits(content.get("hits", ()))
    for name in ("concepts", "sources", "relationship_types"):
        if found := content.get(name):
            parts += [f"# {name.replace('_', ' ').capitalize()}", *_format_hits(found)]
    if edges := content.get("relationships"):
        parts.append("\n".join(["# Relationships", *map(format_relationship, edges)]))
    return join_parts(content, parts)


def _format_hits(hits: Iterable[Content]) -> list[str]:
    return [
        format_hit(number, hit, below=_list_knowledge(hit)) for number, hit in enumerate(hits, 1)
    ]


def _list_knowledge(hit: Content) -> Iterator[str]:
    yield from (_format_quote(each) for each in hit.get("evidence", ()))
    yield from (_format_quote(each["evidence"], each) for each in hit.get("concepts", ()))
    yield from map(format_relationship, hit.get("relationships", ()))


def render_concept_context(content: Content) -> str:
    label = one_line(content["concept"]["label"])
    return "\n\n".join([f"# Sources that quote {label}", *_format_hits(content["sources"])])


def render_paths(content: Content) -> str:
    lines = [
        join(
            f"{path['similarity']:.3f}: {'; '.join(map(format_relationship, path['steps']))}",
            f"concepts {', '.join(path['concepts'])}",
        )
        for path in content["paths"]
    ]
    return "\n".join(lines) or "There is no such path."


def render_shared(content: Content) -> str:
    edges = [
        *content["relationships"],
        *(edge for each in content["neighbours"] for edge in each["relationships"]),
    ]
    labels = ", ".join(one_line(each["label"]) for each in content["concepts"])
    parts = [f"# Shared by {labels}", *map(format_relationship, edges)]
    return "\n\n".join(
        ["\n".join(parts), *(_format_hits(content["sources"]) or ["No source quotes two of them."])]
    )


def _format_quote(quote: Content, concept: Content | None = None) -> str:
    """The quote, where it stands in which source, and the concept if the hit is not the concept."""
    of_concept = "" if concept is None else f" of {concept['label']}, concept {concept['id']}"
    place = ""
    if quote["verdict"] == "exact":  # else the offsets are those of an earlier text
        place = f", characters {quote['start_offset']} to {quote['end_offset']} of source "
        place += quote["source"]["id"]
    return one_line(f"Quote{of_concept} ({quote['verdict']}){place}: {quote['quote']}")


TOOLS = (
    Tool(
        "search_concepts",
        ("search_concepts_by_body", "search_concepts"),
        "Search concepts by their meaning, with the quotes that support them.",
        to_text=render_knowledge,
        is_public=True,
    ),
    Tool(
        "get_concept_context",
        ("read_concept_context",),
        "Read the sources that a concept quotes, and their neighbours.",
        to_text=render_concept_context,
    ),
    Tool(
        "find_paths",
        ("find_paths",),
        "Find chains of relationships that begin at a concept and whose types are similar to given "
        "words, such as supports or contradicts.",
        to_text=render_paths,
    ),
    Tool(
        "find_shared",
        ("find_shared",),
        "Find what several concepts share: the relationships between them, the concepts that two "
        "or more of them are related to, and the sources that quote two or more of them, with the "
        "quotes.",
        to_text=render_shared,
    ),
)
