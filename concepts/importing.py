"""Imports concepts, relationship types and relationships from a JSON Lines or GraphML file.

An import adds what is missing and overwrites nothing, so a file can be imported again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from concepts.exceptions import QuoteNotFound
from concepts.instances import add_instance
from concepts.models import Concept, RelationshipType, normalise_name
from concepts.services import (
    create_concept,
    create_relationship_type,
    edit_concept,
    edit_relationship_type,
    find_concept,
    find_relationship_type,
    relate_concepts,
)
from core.exceptions import InvalidInput, StrataError
from core.http_formats import iter_lines
from documents.models import Artifact
from documents.services import find_by_external_ids

DEFAULT_RELATIONSHIP_TYPE = "RELATED TO"  # of an edge without a type
ALLOWED_FIELDS = {
    "concept": {"label", "description", "search_terms", "evidence"},
    "relationship_type": {"name", "category", "description"},
    "relationship": {"source", "relationship_type", "target"},
}
ALLOWED_QUOTE_FIELDS = {"quote", "source", "artifact", "document"}


@dataclass(frozen=True, slots=True)
class ImportStatement:
    """One line, node or edge of the file. ``error`` says why it could not be read."""

    location: str
    kind: str = ""
    content: Mapping[str, Any] | None = None
    error: StrataError | None = None


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of importing one statement, or one quote in it."""

    location: str
    kind: str  # concept, relationship_type, relationship, or instance
    is_new: bool = False
    error: StrataError | None = None


def read_statements(path: Path) -> Iterator[ImportStatement]:
    """Read the statements of a file: ``.graphml`` as GraphML, every other suffix as JSON Lines.

    Raises:
        InvalidInput: the file is not GraphML.
        OSError: the file cannot be read.
    """
    if path.suffix.lower() == ".graphml":
        yield from _read_graphml(path)
    else:
        yield from _read_json_lines(path)


def import_statement(index: str, statement: ImportStatement) -> Iterator[ImportResult]:
    """Import one statement. An error is yielded with the result, not raised."""
    if statement.error is not None:
        yield ImportResult(statement.location, statement.kind, error=statement.error)
        return
    assert statement.content is not None
    import_one = {
        "concept": _import_concept,
        "relationship_type": _import_relationship_type,
        "relationship": _import_relationship,
    }[statement.kind]
    try:
        with transaction.atomic():
            results = list(import_one(index, statement.location, statement.content))
    except StrataError as error:
        yield ImportResult(statement.location, statement.kind, error=error)
        return
    yield from results


# --- Importing -------------------------------------------------------------------------------


def _import_concept(index: str, where: str, content: Mapping[str, Any]) -> Iterator[ImportResult]:
    label = _get_string(content, "label", is_required=True)
    description = _get_string(content, "description")
    terms = _get_list(content, "search_terms", str)
    quotes = _get_list(content, "evidence", Mapping)
    concept = find_concept(index, label)
    if concept is None:
        concept = create_concept(index, label, description=description, search_terms=terms)
        yield ImportResult(where, "concept", is_new=True)
    else:
        _add_missing_fields(concept, description, terms)
        yield ImportResult(where, "concept")
    for number, quote in enumerate(quotes, start=1):
        place = f"{where}, quote {number}"
        try:
            yield _import_quote(index, place, concept, quote)
        except StrataError as error:
            yield ImportResult(place, "instance", error=error)


def _add_missing_fields(concept: Concept, description: str, terms: list[str]) -> None:
    known_terms = {normalise_name(term) for term in concept.search_terms}
    new = [term for term in terms if normalise_name(term) not in known_terms]
    if new or (description and not concept.description):
        edit_concept(
            concept.pk,
            description=concept.description or description,
            search_terms=[*concept.search_terms, *new],
        )


def _import_quote(
    index: str, where: str, concept: Concept, content: Mapping[str, Any]
) -> ImportResult:
    _check_fields(content, ALLOWED_QUOTE_FIELDS)
    source, artifact = _get_uuid(content, "source"), _get_uuid(content, "artifact")
    if document := _get_string(content, "document"):
        artifact = _find_document(index, document).pk
    _, is_new = add_instance(
        concept.pk,
        _get_string(content, "quote", is_required=True),
        source_id=source,
        artifact_id=artifact,
    )
    return ImportResult(where, "instance", is_new=is_new)


def _find_document(index: str, name: str) -> Artifact:
    """The document with this external id, or else the only one with this file name.

    Raises:
        QuoteNotFound: there is none, or several have this file name.
    """
    found = list(find_by_external_ids(index, [name]).values())
    found = found or list(Artifact.objects.filter(index=index, file_name=name)[:2])
    if not found:
        raise QuoteNotFound(
            f"The index {index} has no document with the external id or the file name {name!r}.",
            field="document",
        )
    if len(found) > 1:
        raise QuoteNotFound(
            f"The index {index} has several documents with the file name {name!r}.",
            field="document",
            fix="Name the document by its external id.",
        )
    return found[0]


def _import_relationship_type(
    index: str, where: str, content: Mapping[str, Any]
) -> Iterator[ImportResult]:
    name = _get_string(content, "name", is_required=True)
    category, description = _get_string(content, "category"), _get_string(content, "description")
    relationship_type = find_relationship_type(index, name)
    if relationship_type is None:
        create_relationship_type(index, name, category=category, description=description)
    elif (category and not relationship_type.category) or (
        description and not relationship_type.description
    ):
        edit_relationship_type(
            relationship_type.pk,
            category=relationship_type.category or category,
            description=relationship_type.description or description,
        )
    yield ImportResult(where, "relationship_type", is_new=relationship_type is None)


def _import_relationship(
    index: str, where: str, content: Mapping[str, Any]
) -> Iterator[ImportResult]:
    ends = [_require_concept(index, content, field) for field in ("source", "target")]
    name = _get_string(content, "relationship_type", is_required=True)
    relationship_type = find_relationship_type(index, name) or _create_type(index, name)
    _, is_new = relate_concepts(index, ends[0].pk, relationship_type.pk, ends[1].pk)
    yield ImportResult(where, "relationship", is_new=is_new)


def _require_concept(index: str, content: Mapping[str, Any], field: str) -> Concept:
    label = _get_string(content, field, is_required=True)
    concept = find_concept(index, label)
    if concept is None:
        raise InvalidInput(f"The index {index} has no concept {label[:100]!r}.", field=field)
    return concept


def _create_type(index: str, name: str) -> RelationshipType:
    return create_relationship_type(index, name)


# --- Reading ---------------------------------------------------------------------------------


def _read_json_lines(path: Path) -> Iterator[ImportStatement]:
    with path.open("rb") as file:
        for line in iter_lines(file, limit=settings.STRATA_MAX_JSON_BYTES):
            where = f"{path.name}:{line.number}"
            try:
                content = line.load_json()
                if not isinstance(content, dict):
                    raise InvalidInput("Each line must be a JSON object.")
                kind = content.pop("type", None)
                if kind not in ALLOWED_FIELDS:
                    raise InvalidInput(
                        "Each line must have a type.", field="type", allowed=ALLOWED_FIELDS
                    )
                _check_fields(content, ALLOWED_FIELDS[kind])
            except StrataError as error:
                yield ImportStatement(where, error=error)
                continue
            yield ImportStatement(where, kind, content)


def _read_graphml(path: Path) -> Iterator[ImportStatement]:
    import networkx

    try:
        graph = networkx.read_graphml(path)
    except (networkx.NetworkXError, SyntaxError, ValueError, KeyError) as error:
        raise InvalidInput(f"{path.name} is not valid GraphML: {error}") from None
    labels = {}
    for node, attributes in graph.nodes(data=True):
        labels[node] = str(attributes.get("label") or attributes.get("name") or node)
        terms = str(attributes.get("search_terms") or "").replace("|", ";").split(";")
        content = {
            "label": labels[node],
            "description": str(attributes.get("description") or ""),
            "search_terms": [term.strip() for term in terms if term.strip()],
        }
        yield ImportStatement(f"{path.name}: node {node}", "concept", content)
    for source, target, attributes in graph.edges(data=True):
        where = f"{path.name}: edge {source} -> {target}"
        given_types = (attributes.get(name) for name in ("type", "relationship_type", "label"))
        name = next((str(each) for each in given_types if each), DEFAULT_RELATIONSHIP_TYPE)
        if category := str(attributes.get("category") or ""):
            type_content = {"name": name, "category": category}
            yield ImportStatement(where, "relationship_type", type_content)
        ends = {"source": labels[source], "target": labels[target]}
        yield ImportStatement(where, "relationship", {**ends, "relationship_type": name})


def _check_fields(content: Mapping[str, Any], allowed: set[str]) -> None:
    for name in content:
        if name not in allowed:
            shown = str(name)[:100]
            raise InvalidInput(f"There is no field {shown!r}.", field=shown, allowed=allowed)


def _get_string(content: Mapping[str, Any], field: str, *, is_required: bool = False) -> str:
    value = content.get(field, "")
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be a string.", field=field)
    if is_required and not value.strip():
        raise InvalidInput(f"{field} is missing.", field=field)
    return value


def _get_list(content: Mapping[str, Any], field: str, element_type: type[Any]) -> list[Any]:
    value = content.get(field, [])
    if not isinstance(value, list) or not all(isinstance(each, element_type) for each in value):
        what = "strings" if element_type is str else "objects"
        raise InvalidInput(f"{field} must be a list of {what}.", field=field)
    return value


def _get_uuid(content: Mapping[str, Any], field: str) -> UUID | None:
    value = _get_string(content, field)
    if not value:
        return None
    try:
        return UUID(value)
    except ValueError:
        raise InvalidInput(f"{field} must be an id (a UUID).", field=field) from None
