"""Imports concepts, relationship types and relationships from a JSON Lines or GraphML file.

An import adds what is missing and overwrites nothing, so a file can be imported again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from rest_framework import serializers

from concepts.exceptions import QuoteNotFound
from concepts.models import Concept, RelationshipType, normalise_name
from concepts.quotes import add_quote
from concepts.serializers import (
    ConceptInputSerializer,
    QuoteSerializer,
    RelationshipTypeInputSerializer,
)
from concepts.services import MAX_CHARS, E, create_entity, edit_entity, find_entity, relate_concepts
from core.exceptions import InvalidInput, StrataError
from core.http_formats import iter_lines
from core.serializers import StrictSerializer, StringField, TitleField
from core.text import clean_name
from documents.identity import find_by_external_ids
from documents.models import Artifact

DEFAULT_RELATIONSHIP_TYPE = "RELATED TO"  # of an edge without a type


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of importing one line, node or edge of the file, or one quote in it."""

    location: str
    kind: str = ""  # concept, relationship_type, relationship, or quote
    is_new: bool = False
    error: StrataError | None = None


def import_file(index: str, path: Path) -> Iterator[ImportResult]:
    """Import a file: ``.graphml`` as GraphML, every other suffix as JSON Lines. An error in it is
    yielded with the result, not raised.

    Raises:
        InvalidInput: the file is not GraphML.
        OSError: the file cannot be read.
    """
    read = _read_graphml if path.suffix.lower() == ".graphml" else _read_json_lines
    for where, content in read(path):
        try:
            if isinstance(content, StrataError):
                raise content
            with transaction.atomic():
                results = list(_import_statement(index, where, content))
        except StrataError as error:
            results = [ImportResult(where, error=error)]
        yield from results


# --- Importing -------------------------------------------------------------------------------


class ConceptSerializer(ConceptInputSerializer):
    evidence = serializers.ListField(child=serializers.DictField(), required=False)


class ImportedQuoteSerializer(QuoteSerializer):
    document = StringField(required=False)


class RelationshipSerializer(StrictSerializer):
    source = TitleField(max_length=MAX_CHARS["label"])  # type: ignore[assignment]
    relationship_type = TitleField(max_length=MAX_CHARS["name"])
    target = TitleField(max_length=MAX_CHARS["label"])


def _import_statement(index: str, where: str, content: dict[str, Any]) -> Iterator[ImportResult]:
    kind = str(content.pop("type", ""))
    if kind not in IMPORTERS:
        raise InvalidInput("Each line must have a type.", field="type", allowed=IMPORTERS)
    serializer, import_one = IMPORTERS[kind]
    yield from import_one(index, where, **serializer.read(content))


def _import_concept(
    index: str, where: str, label: str, evidence: Sequence[dict[str, Any]] = (), **texts: Any
) -> Iterator[ImportResult]:
    concept, is_new = _create_or_complete(Concept, index, label, **texts)
    yield ImportResult(where, "concept", is_new=is_new)
    for number, quote in enumerate(evidence, start=1):
        place = f"{where}, quote {number}"
        try:
            is_new = _import_quote(index, concept, **ImportedQuoteSerializer.read(quote))
            yield ImportResult(place, "quote", is_new=is_new)
        except StrataError as error:
            yield ImportResult(place, error=error)


def _import_relationship_type(
    index: str, where: str, name: str, **texts: str
) -> Iterator[ImportResult]:
    _, is_new = _create_or_complete(RelationshipType, index, name, **texts)
    yield ImportResult(where, "relationship_type", is_new=is_new)


def _create_or_complete(model: type[E], index: str, name: str, **texts: Any) -> tuple[E, bool]:
    """Create a concept or type, or complete the existing one; return it and whether it is new."""
    entity = find_entity(model, index, name)
    if entity is None:
        return create_entity(model, index, **{model.text_fields[0]: name}, **texts), True
    missing = {}
    for field, text in texts.items():
        known = getattr(entity, field)
        if field == "search_terms":
            known_names = set(map(normalise_name, known))
            text = [*known, *(term for term in text if normalise_name(term) not in known_names)]
        if text != known and (field == "search_terms" or not known):
            missing[field] = text
    if missing:
        entity = edit_entity(model, entity.pk, **missing)
    return entity, False


def _import_quote(
    index: str, concept: Concept, quote: str, document: str | None = None, **place: Any
) -> bool:
    if document is not None:
        place["artifact_id"] = _find_document(index, document).pk
    _, is_new = add_quote(concept.pk, quote, **place)
    return is_new


def _find_document(index: str, name: str) -> Artifact:
    """The document with this external id, or else the only one with this file name. Raises
    ``QuoteNotFound``: there is none, or several have this file name."""
    found = list(find_by_external_ids(index, [name]).values())
    found = found or list(Artifact.objects.filter(index=index, file_name=clean_name(name))[:2])
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


def _import_relationship(
    index: str, where: str, relationship_type: str, **labels: str
) -> Iterator[ImportResult]:
    ends = {}
    for field, label in labels.items():
        concept = find_entity(Concept, index, label)
        if concept is None:
            raise InvalidInput(f"The index {index} has no concept {label[:100]!r}.", field=field)
        ends[field] = concept.pk
    kind, _ = _create_or_complete(RelationshipType, index, relationship_type)
    _, is_new = relate_concepts(index, ends["source"], kind.pk, ends["target"])
    yield ImportResult(where, "relationship", is_new=is_new)


IMPORTERS: dict[str, tuple[type[StrictSerializer], Callable[..., Iterator[ImportResult]]]] = {
    "concept": (ConceptSerializer, _import_concept),
    "relationship_type": (RelationshipTypeInputSerializer, _import_relationship_type),
    "relationship": (RelationshipSerializer, _import_relationship),
}


# --- Reading ---------------------------------------------------------------------------------

Statement = tuple[str, dict[str, Any] | StrataError]  # where it is, and its content


def _read_json_lines(path: Path) -> Iterator[Statement]:
    with path.open("rb") as file:
        for line in iter_lines(file, limit=settings.STRATA_MAX_JSON_BYTES):
            content: Any
            try:
                content = line.load_json()
                if not isinstance(content, dict):
                    raise InvalidInput("Each line must be a JSON object.")
            except StrataError as error:
                content = error
            yield f"{path.name}:{line.number}", content


def _read_graphml(path: Path) -> Iterator[Statement]:
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
            "type": "concept",
            "label": labels[node],
            "description": str(attributes.get("description") or ""),
            "search_terms": [term.strip() for term in terms if term.strip()],
        }
        yield f"{path.name}: node {node}", content
    for source, target, attributes in graph.edges(data=True):
        where = f"{path.name}: edge {source} -> {target}"
        given_types = (attributes.get(name) for name in ("type", "relationship_type", "label"))
        name = next((str(each) for each in given_types if each), DEFAULT_RELATIONSHIP_TYPE)
        if category := str(attributes.get("category") or ""):
            yield where, {"type": "relationship_type", "name": name, "category": category}
        ends = {"source": labels[source], "target": labels[target]}
        yield where, {"type": "relationship", **ends, "relationship_type": name}
