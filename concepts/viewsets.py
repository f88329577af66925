"""REST endpoints of concepts, instances, relationship types and relationships."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.authentication import get_grant
from access.grants import Grant, Scope
from concepts import instances, services
from concepts.exceptions import (
    UnknownConcept,
    UnknownInstance,
    UnknownRelationship,
    UnknownRelationshipType,
)
from concepts.models import Concept, Instance, Relationship, RelationshipType
from concepts.serializers import (
    ConceptFilterSerializer,
    ConceptInputSerializer,
    ConceptPatchSerializer,
    MergeSerializer,
    QuoteSerializer,
    RelationshipFilterSerializer,
    RelationshipInputSerializer,
    RelationshipTypeFilterSerializer,
    RelationshipTypeInputSerializer,
    RelationshipTypePatchSerializer,
    render_concepts,
    render_instance,
    render_relationship,
    render_relationship_type,
)
from core.openapi import ERROR, body_of
from core.paging import paginate
from core.serializers import PagingSerializer
from documents.index_catalog import require_index


@extend_schema(tags=["Concepts"])
class ConceptViewSet(viewsets.ViewSet):
    """The concepts of an index. Each concept has an id of its own."""

    scopes = {
        "list": Scope.SEARCH,
        "create": Scope.WRITE,
        "retrieve": Scope.SEARCH,
        "partial_update": Scope.WRITE,
        "destroy": Scope.WRITE,
        "merge": Scope.WRITE,
        "instances": Scope.SEARCH,
        "add_instance": Scope.WRITE,
    }

    @extend_schema(
        operation_id="list_concepts",
        parameters=[ConceptFilterSerializer],
        responses=body_of(strata_types.ConceptList),
    )
    def list(self, request: Request, index: str) -> Response:
        """List the concepts of an index, by label."""
        require_index(index)
        parameters = ConceptFilterSerializer.read(request.query_params)
        grant = get_grant(request)
        concepts = Concept.objects.visible_to(grant).of_index(index)
        if parameters.get("evidence") == "none":
            concepts = concepts.without_evidence()
        elif parameters.get("evidence") == "some":
            concepts = concepts.with_evidence()
        if "label" in parameters:
            concepts = concepts.filter(label__icontains=parameters["label"])
        page, answer = paginate(request, concepts.order_by("label", "pk"), parameters)
        return Response({**answer, "results": render_concepts(list(page), grant)})

    @extend_schema(
        operation_id="create_concept",
        request=ConceptInputSerializer,
        responses={201: body_of(strata_types.Concept), 409: ERROR},
    )
    def create(self, request: Request, index: str) -> Response:
        """Add a concept.

        The concept is embedded, so that searches find it by meaning.
        """
        require_index(index)
        data = ConceptInputSerializer.read(request.data)
        concept = services.create_concept(index, data.pop("label"), **data)
        rendered = _render_concept(concept.pk, get_grant(request))
        return Response(rendered, status=status.HTTP_201_CREATED)

    @extend_schema(operation_id="read_concept", responses=body_of(strata_types.Concept))
    def retrieve(self, request: Request, concept_id: UUID) -> Response:
        """Read a concept."""
        return Response(_render_concept(concept_id, get_grant(request)))

    @extend_schema(
        operation_id="edit_concept",
        request=ConceptPatchSerializer,
        responses={200: body_of(strata_types.Concept), 409: ERROR},
    )
    def partial_update(self, request: Request, concept_id: UUID) -> Response:
        """Change a concept's label, description or search terms.

        Omitted fields stay unchanged.
        """
        grant = get_grant(request)
        data = ConceptPatchSerializer.read(request.data)
        get_concept(concept_id, grant)
        services.edit_concept(concept_id, **data)
        return Response(_render_concept(concept_id, grant))

    @extend_schema(
        operation_id="remove_concept",
        responses={200: body_of(strata_types.Deletion), 409: ERROR},
    )
    def destroy(self, request: Request, concept_id: UUID) -> Response:
        """Delete a concept with its evidence and relationships.

        Its point is deleted in the background.
        """
        grant = get_grant(request)
        get_concept(concept_id, grant)
        return Response(_render_deletion(concept_id, services.remove_concept(concept_id, grant)))

    @extend_schema(
        operation_id="merge_concepts",
        request=MergeSerializer,
        responses=body_of(strata_types.Concept),
    )
    def merge(self, request: Request, concept_id: UUID) -> Response:
        """Merge other concepts into this one, with their evidence and relationships."""
        grant = get_grant(request)
        data = MergeSerializer.read(request.data)
        for each in (concept_id, *data["concepts"]):
            get_concept(each, grant)
        services.merge_concepts(concept_id, data["concepts"])
        return Response(_render_concept(concept_id, grant))

    @extend_schema(
        operation_id="list_instances",
        parameters=[PagingSerializer],
        responses=body_of(strata_types.InstanceList),
    )
    def instances(self, request: Request, concept_id: UUID) -> Response:
        """List the quotes that are evidence of a concept, lost ones included."""
        parameters = PagingSerializer.read(request.query_params)
        get_concept(concept_id, get_grant(request))
        rows = Instance.objects.filter(concept=concept_id).select_related("artifact", "source")
        page, answer = paginate(request, rows, parameters)
        return Response({**answer, "results": [render_instance(each) for each in page]})

    @extend_schema(
        operation_id="add_instance",
        request=QuoteSerializer,
        responses={200: body_of(strata_types.Instance), 201: body_of(strata_types.Instance)},
    )
    def add_instance(self, request: Request, concept_id: UUID) -> Response:
        """Quote a text as evidence of a concept.

        201: the quote was added. 200: it exists already.
        """
        grant = get_grant(request)
        data = QuoteSerializer.read(request.data)
        get_concept(concept_id, grant)
        instance, is_new = instances.add_instance(
            concept_id,
            data["quote"],
            source_id=data.get("source"),
            artifact_id=data.get("artifact"),
            grant=grant,
        )
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(render_instance(instance), status=code)


@extend_schema(tags=["Concepts"])
class InstanceViewSet(viewsets.ViewSet):
    """One quote."""

    scopes = Scope.WRITE

    @extend_schema(operation_id="remove_instance", responses={204: None})
    def destroy(self, request: Request, instance_id: UUID) -> Response:
        """Delete a quote.

        The source text stays.
        """
        concepts = Concept.objects.visible_to(get_grant(request))
        instances = Instance.objects.filter(pk=instance_id, concept__in=concepts)
        services.restrict_concepts_of(instances)
        count, _ = instances.delete()
        if not count:
            raise UnknownInstance(field="id")
        return Response(status=status.HTTP_204_NO_CONTENT)


@extend_schema(tags=["Concepts"])
class RelationshipTypeViewSet(viewsets.ViewSet):
    """The relationship types of an index."""

    scopes = {
        "list": Scope.SEARCH,
        "create": Scope.WRITE,
        "retrieve": Scope.SEARCH,
        "partial_update": Scope.WRITE,
        "destroy": Scope.WRITE,
    }

    @extend_schema(
        operation_id="list_relationship_types",
        parameters=[RelationshipTypeFilterSerializer],
        responses=body_of(strata_types.RelationshipTypeList),
    )
    def list(self, request: Request, index: str) -> Response:
        """List the relationship types of an index, by name."""
        require_index(index)
        parameters = RelationshipTypeFilterSerializer.read(request.query_params)
        types = RelationshipType.objects.visible_to(get_grant(request)).of_index(index)
        if "category" in parameters:
            types = types.filter(category=parameters["category"].lower())
        page, answer = paginate(request, types.order_by("name", "pk"), parameters)
        return Response({**answer, "results": [render_relationship_type(each) for each in page]})

    @extend_schema(
        operation_id="create_relationship_type",
        request=RelationshipTypeInputSerializer,
        responses={
            201: body_of(strata_types.RelationshipType),
            409: ERROR,
        },
    )
    def create(self, request: Request, index: str) -> Response:
        """Add a relationship type.

        The type is embedded, so that searches find it by meaning.
        """
        require_index(index)
        data = RelationshipTypeInputSerializer.read(request.data)
        relationship_type = services.create_relationship_type(index, data.pop("name"), **data)
        rendered = _render_type(relationship_type.pk, get_grant(request))
        return Response(rendered, status=status.HTTP_201_CREATED)

    @extend_schema(
        operation_id="read_relationship_type",
        responses=body_of(strata_types.RelationshipType),
    )
    def retrieve(self, request: Request, type_id: UUID) -> Response:
        """Read a relationship type."""
        return Response(_render_type(type_id, get_grant(request)))

    @extend_schema(
        operation_id="edit_relationship_type",
        request=RelationshipTypePatchSerializer,
        responses={
            200: body_of(strata_types.RelationshipType),
            409: ERROR,
        },
    )
    def partial_update(self, request: Request, type_id: UUID) -> Response:
        """Change a relationship type's name, category or description.

        Omitted fields stay unchanged.
        """
        grant = get_grant(request)
        data = RelationshipTypePatchSerializer.read(request.data)
        _render_type(type_id, grant)  # it must be visible
        services.edit_relationship_type(type_id, **data)
        return Response(_render_type(type_id, grant))

    @extend_schema(
        operation_id="remove_relationship_type",
        responses={200: body_of(strata_types.Deletion), 409: ERROR},
    )
    def destroy(self, request: Request, type_id: UUID) -> Response:
        """Delete a relationship type with every relationship of it."""
        grant = get_grant(request)
        _render_type(type_id, grant)  # it must be visible
        return Response(
            _render_deletion(type_id, services.remove_relationship_type(type_id, grant))
        )


@extend_schema(tags=["Concepts"])
class RelationshipViewSet(viewsets.ViewSet):
    """The relationships between the concepts of an index."""

    scopes = {
        "list": Scope.SEARCH,
        "create": Scope.WRITE,
        "retrieve": Scope.SEARCH,
        "destroy": Scope.WRITE,
    }

    @extend_schema(
        operation_id="list_relationships",
        parameters=[RelationshipFilterSerializer],
        responses=body_of(strata_types.RelationshipList),
    )
    def list(self, request: Request, index: str) -> Response:
        """List the relationships of an index."""
        require_index(index)
        parameters = RelationshipFilterSerializer.read(request.query_params)
        edges = Relationship.objects.visible_to(get_grant(request)).of_index(index)
        edges = edges.with_concepts_and_type()
        if "concept" in parameters:
            edges = edges.involving(parameters["concept"])
        if "type" in parameters:
            edges = edges.filter(type=parameters["type"])
        page, answer = paginate(request, edges, parameters)
        return Response({**answer, "results": [render_relationship(edge) for edge in page]})

    @extend_schema(
        operation_id="relate_concepts",
        request=RelationshipInputSerializer,
        responses={
            200: body_of(strata_types.Relationship),
            201: body_of(strata_types.Relationship),
        },
    )
    def create(self, request: Request, index: str) -> Response:
        """Relate two concepts.

        201: the relationship was created. 200: it exists already.
        """
        require_index(index)
        data = RelationshipInputSerializer.read(request.data)
        edge, is_new = services.relate_concepts(
            index, data["source"], data["type"], data["target"], get_grant(request)
        )
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(_render_relationship(edge.pk, get_grant(request)), status=code)

    @extend_schema(
        operation_id="read_relationship",
        responses=body_of(strata_types.Relationship),
    )
    def retrieve(self, request: Request, relationship_id: UUID) -> Response:
        """Read a relationship."""
        return Response(_render_relationship(relationship_id, get_grant(request)))

    @extend_schema(operation_id="remove_relationship", responses={204: None})
    def destroy(self, request: Request, relationship_id: UUID) -> Response:
        """Delete a relationship.

        Its concepts are kept.
        """
        edges = Relationship.objects.visible_to(get_grant(request))
        count, _ = edges.filter(pk=relationship_id).delete()
        if not count:
            raise UnknownRelationship(field="id")
        return Response(status=status.HTTP_204_NO_CONTENT)


def get_concept(concept_id: UUID, grant: Grant) -> Concept:
    """
    Raises:
        UnknownConcept: there is no concept with this id.
    """
    concept = Concept.objects.visible_to(grant).filter(pk=concept_id).first()
    if concept is None or not grant.includes(concept.index):
        raise UnknownConcept(field="id")
    return concept


def _render_concept(concept_id: UUID, grant: Grant) -> dict[str, Any]:
    [rendered] = render_concepts([get_concept(concept_id, grant)], grant)
    return rendered


def _render_type(type_id: UUID, grant: Grant) -> dict[str, Any]:
    relationship_type = RelationshipType.objects.visible_to(grant).filter(pk=type_id).first()
    if relationship_type is None:
        raise UnknownRelationshipType(field="id")
    return render_relationship_type(relationship_type)


def _render_relationship(relationship_id: UUID, grant: Grant) -> dict[str, Any]:
    edges = Relationship.objects.visible_to(grant).with_concepts_and_type()
    edge = edges.filter(pk=relationship_id).first()
    if edge is None:
        raise UnknownRelationship(field="id")
    return render_relationship(edge)


def _render_deletion(entity_id: UUID, revision: int) -> dict[str, Any]:
    return {"id": str(entity_id), "deleted": True, "revision": revision}
