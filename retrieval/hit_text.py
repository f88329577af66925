"""Writes hits as text that a language model reads: passages with title, page, offsets, verdict, and
the score with its parts.

Documents are untrusted, and a language model may take their text for the service's. So texts stand
between two fence lines that cannot occur in them, and titles and labels on one line.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import indent
from typing import Any

from core.text import hash_text

Content = Mapping[str, Any]


def render_hits(content: Content) -> str:
    """The answer of a search with ``hits`` or ``artifacts``."""
    hits = [format_hit(number, hit) for number, hit in enumerate(content.get("hits", ()), 1)]
    hits += [
        _format_artifact(number, artifact)
        for number, artifact in enumerate(content.get("artifacts", ()), 1)
    ]
    return join_parts(content, hits)


def join_parts(content: Content, parts: Sequence[str]) -> str:
    """What was found, below the notes of the answer."""
    return "\n\n".join([*list_notes(content), *(parts or ["Nothing found."])])


def list_notes(content: Content) -> list[str]:
    return [f"Note: {one_line(note)}" for note in content.get("notes", ())]


def format_hit(
    number: int, hit: Content, *, above: Iterable[str] = (), below: Iterable[str] = ()
) -> str:
    """``above`` and ``below``: lines of one kind of hit, around its text."""
    lines = [f"[{number}] {join(format_place(hit), _format_score(hit))}"]
    lines.append(join(*_list_ids(hit)))
    if folded := hit.get("folded"):
        counted = f"{folded['versions']} other versions, {folded['copies']} copies"
        lines.append(f"Stands also for: {counted} (versions: all shows them)")
    if hit.get("warnings"):
        lines.append(f"Warnings of its page: {', '.join(hit['warnings'])}")
    if hit.get("question"):  # null where the passage itself was found
        lines.append(f"Question: {one_line(hit['question'])}")
    lines += above
    passage = hit.get("passage")
    if hit.get("text"):
        lines.append(fence(hit["text"]))
    elif passage is not None and "text" in passage:
        lines.append(format_hit(number, passage))
    lines += [
        f"Neighbour {each['id']}:\n{fence(each['text'])}" for each in hit.get("neighbours", ())
    ]
    lines += below
    return "\n".join(line for line in lines if line)


def _format_artifact(number: int, artifact: Content) -> str:
    title = one_line(artifact["artifact_title"] or "") or "(untitled)"
    lines = [f"[{number}] {title} · score {artifact['score']:.4f}", artifact["artifact_id"]]
    lines.append(one_line(artifact["summary_snippet"] or ""))
    for page in artifact["pages"]:
        lines.append(f"Page {page['page_index'] + 1} · score {page['score']:.4f}")
        lines.append(one_line(page["summary_snippet"] or ""))
        lines += [
            indent(format_hit(rank, chunk), "  ")
            for rank, chunk in enumerate(page["supporting_chunks"], 1)
        ]
    return "\n".join(line for line in lines if line)


def format_place(hit: Content) -> str:
    """What the hit is called, its index if several were searched, and its page."""
    artifact, page = hit.get("artifact") or {}, hit.get("page") or {}
    title = artifact.get("title") or hit.get("label") or hit.get("name") or ""
    title, heading = one_line(title) or "(untitled)", one_line(hit.get("heading") or "")
    number = page.get("index")
    return join(
        title,
        heading if heading != title else None,
        f"page {number + 1}" if number is not None else None,
        f"index {hit['index']}" if "index" in hit else None,
    )


def _format_score(hit: Content) -> str | None:
    if "score" not in hit:
        return None
    verdict = hit.get("verdict") or ("stale" if hit.get("stale") else "exact")
    parts = list(_list_score_parts(hit))
    shown = f"{hit['score_kind']} {hit['score']:.4f}" + (f" ({', '.join(parts)})" if parts else "")
    return join(verdict, shown)


def _list_score_parts(hit: Content) -> Iterator[str]:
    explained = hit.get("explain")
    if isinstance(explained, Mapping):
        for name in ("dense", "sparse"):
            if share := explained.get(name):
                yield f"{name} {share['score']:.4f} at rank {share['rank']}"
    for way in hit.get("ways", ()):
        yield f"{way['way']} {way['similarity']:.4f} × {way['weight']:g}"
    if hit.get("similarity") is not None and "ways" not in hit:
        yield f"cosine {hit['similarity']:.4f}"


def _list_ids(hit: Content) -> Iterator[str | None]:
    """The ids that other tools take, and where in the source the text is."""
    source = hit.get("source")
    if not isinstance(source, Mapping):  # a hit by question has the file's name there
        source = hit.get("passage") or {}
    if source.get("id"):
        start, end = hit.get("start_offset"), hit.get("end_offset")
        place = f"characters {start} to {end} of " if start is not None else ""
        yield f"{place}source {source['id']}"
    elif hit.get("id"):
        yield f"{hit.get('kind') or 'source'} {hit['id']}"
    if chunks := hit.get("chunks"):
        places = (f"{each['start_offset']} to {each['end_offset']}" for each in chunks)
        yield f"found by its characters {', '.join(places)}"
    if (artifact := hit.get("artifact") or {}).get("id"):
        yield f"document {artifact['id']}"


def format_relationship(edge: Content) -> str:
    ends = edge["source"]["label"], edge["type"]["name"], edge["target"]["label"]
    return one_line(" ".join(ends))


def fence(text: str) -> str:
    """The text between two lines made from its hash, which it cannot contain."""
    line = f"--- {hash_text(text)[:24]} ---"
    return f"{line}\n{text}\n{line}"


def one_line(text: str) -> str:
    """The text without line breaks and other control characters."""
    shown = (" " if unicodedata.category(each) == "Cc" else each for each in text)
    return " ".join("".join(shown).split())  # split also removes U+2028 and U+2029


def join(*parts: str | None) -> str:
    return " · ".join(part for part in parts if part)
