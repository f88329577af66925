"""Concepts, vocabulary and relationships from a file: JSON Lines, or GraphML.

What is there already is completed, never overwritten, so that a file can be given again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from concepts.evidence import add_instance
from concepts.exceptions import QuoteNotFound
from concepts.models import Concept, RelationshipType
from concepts.services import (
    create_concept,
    create_relationship_type,
    edit_concept,
    edit_relationship_type,
    find_concept,
    find_relationship_type,
    name_key,
    relate,
)
from core.exceptions import InvalidInput, StrataError, TooLarge
from core.parsers import iter_lines, load_json
from documents.models import Artifact
from documents.services import find_by_external_ids

DEFAULT_TYPE = "RELATED TO"  # of an edge that says nothing of its type
FIELDS = {
    "concept": {"label", "description", "search_terms", "evidence"},
    "relationship_type": {"name", "category", "description"},
    "relationship": {"source", "relationship_type", "target"},
}
QUOTE_FIELDS = {"quote", "source", "artifact", "document"}


@dataclass(frozen=True, slots=True)
class Statement:
    """What one line, node or edge says. ``error``: why it cannot be read."""

    where: str
    kind: str = ""
    content: Mapping[str, Any] | None = None
    error: StrataError | None = None


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one statement, or of one quote in it."""

    where: str
    kind: str  # concept, relationship_type, relationship, or instance
    is_new: bool = False
    error: StrataError | None = None


def read_statements(path: Path) -> Iterator[Statement]:
    """What a file says; ``.graphml`` is read as such, all else as JSON Lines.

    Raises:
        InvalidInput: it is not GraphML.
        OSError: it cannot be read.
    """
    if path.suffix.lower() == ".graphml":
        yield from _read_graph(path)
    else:
        yield from _read_lines(path)


def import_statement(index: str, statement: Statement) -> Iterator[Imported]:
    """Take one statement; what is wrong with it is told and does not hold up the others."""
    if statement.error is not None:
        yield Imported(statement.where, statement.kind, error=statement.error)
        return
    assert statement.content is not None
    take = {
        "concept": _take_concept,
        "relationship_type": _take_type,
        "relationship": _take_relationship,
    }[statement.kind]
    try:
        with transaction.atomic():
            taken = list(take(index, statement.where, statement.content))
    except StrataError as error:
        yield Imported(statement.where, statement.kind, error=error)
        return
    yield from taken


# --- Taking ----------------------------------------------------------------------------------


def _take_concept(index: str, where: str, content: Mapping[str, Any]) -> Iterator[Imported]:
    label = _text(content, "label", is_required=True)
    description = _text(content, "description")
    terms = _list(content, "search_terms", str)
    quotes = _list(content, "evidence", Mapping)
    concept = find_concept(index, label)
    if concept is None:
        concept = create_concept(index, label, description=description, search_terms=terms)
        yield Imported(where, "concept", is_new=True)
    else:
        _complete_concept(concept, description, terms)
        yield Imported(where, "concept")
    for number, quote in enumerate(quotes, start=1):
        place = f"{where}, quote {number}"
        try:
            yield _take_quote(index, place, concept, quote)
        except StrataError as error:
            yield Imported(place, "instance", error=error)


def _complete_concept(concept: Concept, description: str, terms: list[str]) -> None:
    held = {name_key(term) for term in concept.search_terms}
    new = [term for term in terms if name_key(term) not in held]
    if new or (description and not concept.description):
        edit_concept(
            concept.pk,
            description=concept.description or description,
            search_terms=[*concept.search_terms, *new],
        )


def _take_quote(index: str, where: str, concept: Concept, content: Mapping[str, Any]) -> Imported:
    _check_fields(content, QUOTE_FIELDS)
    source, artifact = _id(content, "source"), _id(content, "artifact")
    if document := _text(content, "document"):
        given: dict[str, Artifact] = find_by_external_ids(index, [document])
        if document not in given:
            raise QuoteNotFound(f"{index} has no document {document!r}.", field="document")
        artifact = given[document].pk
    _, is_new = add_instance(
        concept.pk,
        _text(content, "quote", is_required=True),
        source_id=source,
        artifact_id=artifact,
    )
    return Imported(where, "instance", is_new=is_new)


def _take_type(index: str, where: str, content: Mapping[str, Any]) -> Iterator[Imported]:
    name = _text(content, "name", is_required=True)
    category, description = _text(content, "category"), _text(content, "description")
    kind = find_relationship_type(index, name)
    if kind is None:
        create_relationship_type(index, name, category=category, description=description)
    elif (category and not kind.category) or (description and not kind.description):
        edit_relationship_type(
            kind.pk,
            category=kind.category or category,
            description=kind.description or description,
        )
    yield Imported(where, "relationship_type", is_new=kind is None)


def _take_relationship(index: str, where: str, content: Mapping[str, Any]) -> Iterator[Imported]:
    ends = [_existing_concept(index, content, field) for field in ("source", "target")]
    name = _text(content, "relationship_type", is_required=True)
    kind = find_relationship_type(index, name) or _new_type(index, name)
    _, is_new = relate(index, ends[0].pk, kind.pk, ends[1].pk)
    yield Imported(where, "relationship", is_new=is_new)


def _existing_concept(index: str, content: Mapping[str, Any], field: str) -> Concept:
    label = _text(content, field, is_required=True)
    concept = find_concept(index, label)
    if concept is None:
        raise InvalidInput(f"{index} has no concept {label[:100]!r}.", field=field)
    return concept


def _new_type(index: str, name: str) -> RelationshipType:
    return create_relationship_type(index, name)


# --- Reading ---------------------------------------------------------------------------------


def _read_lines(path: Path) -> Iterator[Statement]:
    with path.open("rb") as file:
        for line in iter_lines(file, limit=settings.STRATA_MAX_JSON_BYTES):
            where = f"{path.name}:{line.number}"
            try:
                if line.content is None:
                    raise TooLarge(f"A line may have {settings.STRATA_MAX_JSON_BYTES:,} bytes.")
                content = load_json(line.content)
                if not isinstance(content, dict):
                    raise InvalidInput("A line holds a JSON object.")
                kind = content.pop("type", None)
                if kind not in FIELDS:
                    raise InvalidInput(
                        "A line says what type it is of.", field="type", allowed=FIELDS
                    )
                _check_fields(content, FIELDS[kind])
            except StrataError as error:
                yield Statement(where, error=error)
                continue
            yield Statement(where, kind, content)


def _read_graph(path: Path) -> Iterator[Statement]:
    import networkx

    try:
        graph = networkx.read_graphml(path)
    except (networkx.NetworkXError, SyntaxError, ValueError, KeyError) as error:
        raise InvalidInput(f"{path.name} is not GraphML: {error}") from None
    labels = {}
    for node, attributes in graph.nodes(data=True):
        labels[node] = str(attributes.get("label") or attributes.get("name") or node)
        terms = str(attributes.get("search_terms") or "").replace("|", ";").split(";")
        content = {
            "label": labels[node],
            "description": str(attributes.get("description") or ""),
            "search_terms": [term.strip() for term in terms if term.strip()],
        }
        yield Statement(f"{path.name}: node {node}", "concept", content)
    for source, target, attributes in graph.edges(data=True):
        where = f"{path.name}: edge {source} -> {target}"
        said = (attributes.get(name) for name in ("type", "relationship_type", "label"))
        name = next((str(each) for each in said if each), DEFAULT_TYPE)
        if category := str(attributes.get("category") or ""):
            about = {"name": name, "category": category}
            yield Statement(where, "relationship_type", about)
        ends = {"source": labels[source], "target": labels[target]}
        yield Statement(where, "relationship", {**ends, "relationship_type": name})


def _check_fields(content: Mapping[str, Any], allowed: set[str]) -> None:
    for name in content:
        if name not in allowed:
            shown = str(name)[:100]
            raise InvalidInput(f"There is no field {shown!r} here.", field=shown, allowed=allowed)


def _text(content: Mapping[str, Any], field: str, *, is_required: bool = False) -> str:
    value = content.get(field, "")
    if not isinstance(value, str):
        raise InvalidInput(f"{field} is a string.", field=field)
    if is_required and not value.strip():
        raise InvalidInput(f"{field} is missing.", field=field)
    return value


def _list(content: Mapping[str, Any], field: str, of: type[Any]) -> list[Any]:
    value = content.get(field, [])
    if not isinstance(value, list) or not all(isinstance(each, of) for each in value):
        what = "strings" if of is str else "objects"
        raise InvalidInput(f"{field} is a list of {what}.", field=field)
    return value


def _id(content: Mapping[str, Any], field: str) -> UUID | None:
    value = _text(content, field)
    if not value:
        return None
    try:
        return UUID(value)
    except ValueError:
        raise InvalidInput(f"{field} is an id.", field=field) from None
