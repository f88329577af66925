"""REST endpoints of concepts, quotes, relationship types and relationships."""

import builtins
from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.authentication import get_grant
from access.grants import Scope
from concepts import quotes, services
from concepts.exceptions import UnknownQuote, UnknownRelationship
from concepts.models import Concept, Entity, Instance, Relationship, RelationshipType
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
    render_quote,
    render_relationship,
    render_relationship_type,
)
from core.openapi import operation
from core.paging import narrow, paginate
from core.serializers import PagingSerializer, StrictSerializer
from documents.index_catalog import require_index

E = TypeVar("E", bound="type[EntityViewSet]")


def _describe_entity(
    words: str, *, by: str, changes: str, deletes: str, answer: Any, answers: Any
) -> Callable[[E], E]:
    """Describe the operations of ``EntityViewSet`` in the OpenAPI document."""

    def describe(view: E) -> E:
        name = words.replace(" ", "_")
        schema = extend_schema_view(
            list=operation(
                f"list_{name}s",
                answers,
                query=view.filter_serializer,
                summary=f"List the {words}s of an index, by {by}",
            ),
            create=operation(
                f"create_{name}",
                answer,
                body=view.input_serializer,
                status=201,
                errors=[409],
                summary=f"Add a {words}",
            ),
            retrieve=operation(f"read_{name}", answer, summary=f"Read a {words}"),
            partial_update=operation(
                f"edit_{name}",
                answer,
                body=view.patch_serializer,
                errors=[409],
                summary=f"Change a {words}'s {changes}",
            ),
            destroy=operation(
                f"remove_{name}",
                strata_types.Deletion,
                errors=[409],
                summary=f"Delete a {words} with {deletes}",
            ),
        )
        return extend_schema(tags=["Concepts"])(schema(view))

    return describe


class EntityViewSet(viewsets.ViewSet):
    """What concepts and relationship types have in common."""

    scopes: Any = {
        "list": Scope.SEARCH,
        "create": Scope.WRITE,
        "retrieve": Scope.SEARCH,
        "partial_update": Scope.WRITE,
        "destroy": Scope.WRITE,
    }
    model: type[Concept] | type[RelationshipType]
    id_name: str  # in the path
    filter_serializer: type[PagingSerializer]
    input_serializer: type[StrictSerializer]
    patch_serializer: type[StrictSerializer]

    def list(self, request: Request, index: str) -> Response:
        """Those that the key may see."""
        require_index(index)
        parameters = self.filter_serializer.read(request.query_params)
        rows = self.model.objects.visible_to(get_grant(request)).filter(index=index)
        rows = self.narrow(rows, parameters).order_by(self.model.text_fields[0], "pk")
        page, answer = paginate(request, rows, parameters)
        return Response({**answer, "results": self.render(page)})

    def create(self, request: Request, index: str) -> Response:
        """It is embedded, so that searches find it by meaning."""
        require_index(index)
        data = self.input_serializer.read(request.data)
        entity = services.create_entity(self.model, index, **data)
        return self.respond(entity, status=status.HTTP_201_CREATED)

    def retrieve(self, request: Request, **path: UUID) -> Response:
        return self.respond(self.model.objects.require(path[self.id_name], get_grant(request)))

    def partial_update(self, request: Request, **path: UUID) -> Response:
        """Omitted fields stay unchanged."""
        data = self.patch_serializer.read(request.data)
        entity_id, grant = path[self.id_name], get_grant(request)
        return self.respond(services.edit_entity(self.model, entity_id, grant, **data))

    def destroy(self, request: Request, **path: UUID) -> Response:
        """Its point is deleted in the background."""
        entity_id = path[self.id_name]
        revision = services.remove_entity(self.model, entity_id, get_grant(request))
        return Response({"id": str(entity_id), "deleted": True, "revision": revision})

    def narrow(self, rows: Any, parameters: dict[str, Any]) -> Any:
        """The rows of the list that the parameters ask for."""
        raise NotImplementedError

    def render(self, entities: Iterable[Any]) -> builtins.list[dict[str, Any]]:
        raise NotImplementedError

    def respond(self, entity: Entity, **options: Any) -> Response:
        [rendered] = self.render([entity])
        return Response(rendered, **options)


@_describe_entity(
    "concept",
    by="label",
    changes="label, description or search terms",
    deletes="its quotes and relationships",
    answer=strata_types.Concept,
    answers=strata_types.ConceptList,
)
class ConceptViewSet(EntityViewSet):
    """The concepts of an index. Each concept has an id of its own."""

    scopes = EntityViewSet.scopes | {
        "merge": Scope.WRITE,
        "quotes": Scope.SEARCH,
        "add_quote": Scope.WRITE,
    }
    model = Concept
    id_name = "concept_id"
    filter_serializer = ConceptFilterSerializer
    input_serializer = ConceptInputSerializer
    patch_serializer = ConceptPatchSerializer

    def narrow(self, rows: Any, parameters: dict[str, Any]) -> Any:
        if "evidence" in parameters:
            rows = rows.with_quotes(parameters["evidence"])
        return narrow(rows, parameters, label="label__icontains")

    def render(self, entities: Iterable[Any]) -> list[dict[str, Any]]:
        return render_concepts([*entities], get_grant(self.request))

    @operation("merge_concepts", strata_types.Concept, body=MergeSerializer, errors=[409])
    def merge(self, request: Request, concept_id: UUID) -> Response:
        """Merge other concepts into this one, with their quotes and relationships."""
        data = MergeSerializer.read(request.data)
        return self.respond(
            services.merge_concepts(concept_id, data["concepts"], get_grant(request))
        )

    @operation("list_instances", strata_types.InstanceList, query=PagingSerializer)
    def quotes(self, request: Request, concept_id: UUID) -> Response:
        """List the quotes of a concept, lost ones included."""
        parameters = PagingSerializer.read(request.query_params)
        Concept.objects.require(concept_id, get_grant(request))
        rows = Instance.objects.filter(concept=concept_id).select_related("artifact", "source")
        page, answer = paginate(request, rows, parameters)
        return Response({**answer, "results": [render_quote(each) for each in page]})

    @operation("add_instance", strata_types.Instance, body=QuoteSerializer, status=(200, 201))
    def add_quote(self, request: Request, concept_id: UUID) -> Response:
        """Add a quote of a concept.

        201: the quote was added. 200: it exists already.
        """
        data = QuoteSerializer.read(request.data)
        instance, is_new = quotes.add_quote(concept_id, **data, grant=get_grant(request))
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(render_quote(instance), status=code)


@extend_schema(tags=["Concepts"])
class QuoteViewSet(viewsets.ViewSet):
    """One quote."""

    scopes = Scope.WRITE

    @operation("remove_instance", status=204)
    def destroy(self, request: Request, instance_id: UUID) -> Response:
        """Delete a quote.

        The source text stays.
        """
        concepts = Concept.objects.visible_to(get_grant(request))
        instances = Instance.objects.filter(pk=instance_id, concept__in=concepts)
        if not services.remove_quotes(instances):
            raise UnknownQuote(field="id")
        return Response(status=status.HTTP_204_NO_CONTENT)


@_describe_entity(
    "relationship type",
    by="name",
    changes="name, category or description",
    deletes="every relationship of it",
    answer=strata_types.RelationshipType,
    answers=strata_types.RelationshipTypeList,
)
class RelationshipTypeViewSet(EntityViewSet):
    """The relationship types of an index."""

    model = RelationshipType
    id_name = "type_id"
    filter_serializer = RelationshipTypeFilterSerializer
    input_serializer = RelationshipTypeInputSerializer
    patch_serializer = RelationshipTypePatchSerializer

    def narrow(self, rows: Any, parameters: dict[str, Any]) -> Any:
        if "category" in parameters:
            rows = rows.filter(category=parameters["category"].lower())
        return rows

    def render(self, entities: Iterable[Any]) -> list[dict[str, Any]]:
        return [render_relationship_type(each) for each in entities]


@extend_schema(tags=["Concepts"])
class RelationshipViewSet(viewsets.ViewSet):
    """The relationships between the concepts of an index."""

    scopes = {
        "list": Scope.SEARCH,
        "create": Scope.WRITE,
        "retrieve": Scope.SEARCH,
        "destroy": Scope.WRITE,
    }

    @operation(
        "list_relationships", strata_types.RelationshipList, query=RelationshipFilterSerializer
    )
    def list(self, request: Request, index: str) -> Response:
        """List the relationships of an index."""
        require_index(index)
        parameters = RelationshipFilterSerializer.read(request.query_params)
        edges = Relationship.objects.visible_to(get_grant(request)).of_index(index)
        edges = edges.with_concepts_and_type()
        if "concept" in parameters:
            edges = edges.involving([parameters["concept"]])
        page, answer = paginate(request, narrow(edges, parameters, "type"), parameters)
        return Response({**answer, "results": [render_relationship(edge) for edge in page]})

    @operation(
        "relate_concepts",
        strata_types.Relationship,
        body=RelationshipInputSerializer,
        status=(200, 201),
    )
    def create(self, request: Request, index: str) -> Response:
        """Relate two concepts.

        201: the relationship was created. 200: it exists already.
        """
        require_index(index)
        data = RelationshipInputSerializer.read(request.data)
        edge, is_new = services.relate_concepts(index, **data, grant=get_grant(request))
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(self._render(edge.pk), status=code)

    @operation("read_relationship", strata_types.Relationship)
    def retrieve(self, request: Request, relationship_id: UUID) -> Response:
        """Read a relationship."""
        return Response(self._render(relationship_id))

    @operation("remove_relationship", status=204)
    def destroy(self, request: Request, relationship_id: UUID) -> Response:
        """Delete a relationship.

        Its concepts are kept.
        """
        edges = Relationship.objects.visible_to(get_grant(request))
        count, _ = edges.filter(pk=relationship_id).delete()
        if not count:
            raise UnknownRelationship(field="id")
        return Response(status=status.HTTP_204_NO_CONTENT)

    def _render(self, relationship_id: UUID) -> dict[str, Any]:
        edges = Relationship.objects.with_concepts_and_type()
        return render_relationship(edges.require(relationship_id, get_grant(self.request)))
