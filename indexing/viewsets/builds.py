"""Builds over HTTP: estimate, apply, promote, roll back."""

from drf_spectacular.utils import extend_schema
from rest_framework import status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.all_documents import NeedsAllDocuments
from access.grants import Scope
from core.exceptions import InvalidInput
from core.openapi import operation
from core.paging import render_whole_list
from indexing import lifecycle, tasks
from indexing.estimates import estimate_build
from indexing.models import Index, IndexBuild
from indexing.serializers import (
    ApplySerializer,
    PlanParametersSerializer,
    PromoteSerializer,
    VectorsSerializer,
    render_build,
    render_builds,
    render_vector,
)
from indexing.stores import get_store

TAGS = ["Indexes and builds"]


@extend_schema(tags=TAGS)
class IndexChangeViewSet(NeedsAllDocuments, viewsets.ViewSet):
    """Changes of an index to another build."""

    scopes = Scope.MANAGE

    @operation(
        "plan_index", strata_types.BuildEstimate, query=PlanParametersSerializer, errors=[422]
    )
    def plan(self, request: Request, index: str) -> Response:
        """Estimate what applying the current spec of the index would cost."""
        parameters = PlanParametersSerializer.read(request.query_params)
        return Response(estimate_build(index, is_exact=parameters["exact"]).as_json())

    @operation("roll_back_index", strata_types.Build, errors=[409])
    def roll_back(self, request: Request, index: str) -> Response:
        """Roll back to the previous live build."""
        Index.objects.require(index)
        build = lifecycle.roll_back_index(index)
        tasks.enqueue_reconciliation(tasks.RECONCILE_INDEXES)
        return Response(render_build(build))

    @operation("prune_index", strata_types.BuildList)
    def prune(self, request: Request, index: str) -> Response:
        """Give up the standby build, which is kept for a rollback.

        It is removed within minutes.
        """
        Index.objects.require(index)
        pruned = lifecycle.prune_builds(index)
        tasks.enqueue_reconciliation(tasks.RECONCILE_INDEXES)
        return Response(render_whole_list(render_builds(pruned)))


@extend_schema(tags=TAGS)
class BuildViewSet(NeedsAllDocuments, viewsets.ViewSet):
    """The builds of an index: the live one, those in progress, and the standby."""

    scopes = {
        "list": Scope.SEARCH,
        "create": Scope.MANAGE,
        "retrieve": Scope.SEARCH,
        "promote": Scope.MANAGE,
        "pause": Scope.MANAGE,
        "resume": Scope.MANAGE,
        "cancel": Scope.MANAGE,
        "vectors": Scope.MANAGE,
    }
    lookup_url_kwarg = "number"
    lookup_value_regex = "[0-9]{1,9}"

    @operation("list_builds", strata_types.BuildList)
    def list(self, request: Request, index: str) -> Response:
        """List the builds of an index that still hold data."""
        Index.objects.require(index)
        builds = IndexBuild.objects.filter(index=index, removed_at=None)
        builds = builds.select_related("index__search_settings")
        return Response(render_whole_list(render_builds(list(builds.order_by("number")))))

    @operation(
        "apply_spec", strata_types.Build, body=ApplySerializer, status=(200, 202), errors=[409, 422]
    )
    def create(self, request: Request, index: str) -> Response:
        """Build an index by its current spec, beside the live build.

        202: it is being built. 200: no stored data changes, and searches already use the spec.
        """
        data = ApplySerializer.read(request.data)
        promotion = (
            IndexBuild.Promotion.WHEN_COMPLETE if data["promote"] else IndexBuild.Promotion.MANUAL
        )
        build = lifecycle.apply_spec(
            index,
            promotion=promotion,
            max_calls=data.get("max_calls"),
            max_minutes=data.get("max_minutes"),
            rereads=data["reread"],
        )
        tasks.enqueue_reconciliation(tasks.RECONCILE_INDEXES, tasks.PROMOTE_BUILDS)
        is_live = build.state == IndexBuild.State.LIVE
        return Response(
            render_build(build), status=status.HTTP_200_OK if is_live else status.HTTP_202_ACCEPTED
        )

    @operation("read_build", strata_types.Build)
    def retrieve(self, request: Request, index: str, number: str) -> Response:
        """Read a build: its progress, and its comparison with the live one."""
        return Response(render_build(lifecycle.get_build(index, int(number))))

    @operation(
        "promote_build", strata_types.Build, body=PromoteSerializer, status=202, errors=[409]
    )
    @action(detail=True, methods=["post"])
    def promote(self, request: Request, index: str, number: str) -> Response:
        """Promote a build once it is complete.

        Its ``comparison`` then shows the result.
        """
        data = PromoteSerializer.read(request.data)
        build = lifecycle.get_build(index, int(number))
        lifecycle.request_promotion(build, is_forced=data["force"])
        tasks.enqueue_reconciliation(tasks.PROMOTE_BUILDS)
        return self._change_response(build, status.HTTP_202_ACCEPTED)

    @operation("pause_build", strata_types.Build, errors=[409])
    @action(detail=True, methods=["post"])
    def pause(self, request: Request, index: str, number: str) -> Response:
        """Pause a build that is not live."""
        build = lifecycle.get_build(index, int(number))
        lifecycle.pause_build(build)
        return self._change_response(build)

    @operation("resume_build", strata_types.Build, errors=[409])
    @action(detail=True, methods=["post"])
    def resume(self, request: Request, index: str, number: str) -> Response:
        """Resume a paused build."""
        build = lifecycle.get_build(index, int(number))
        lifecycle.resume_build(build)
        tasks.enqueue_reconciliation(tasks.RECONCILE_INDEXES, tasks.RECONCILE_TEXTS)
        return self._change_response(build)

    @operation("cancel_build", strata_types.Build, errors=[409])
    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, index: str, number: str) -> Response:
        """Give up a build that is not live."""
        build = lifecycle.get_build(index, int(number))
        lifecycle.cancel_build(build)
        tasks.enqueue_reconciliation(tasks.RECONCILE_INDEXES)
        return self._change_response(build)

    @operation("read_vectors", strata_types.StoredVectors, body=VectorsSerializer)
    @action(detail=True, methods=["post"])
    def vectors(self, request: Request, index: str, number: str) -> Response:
        """Read the dense vectors of nodes as the vector store holds them.

        Nodes without a point are left out.
        """
        data = VectorsSerializer.read(request.data)
        build = lifecycle.get_build(index, int(number))
        if data["kind"] not in build.spec.kinds:
            raise InvalidInput(
                f"The build has no nodes of the kind {data['kind']!r}.",
                field="kind",
                allowed=build.spec.kinds,
            )
        points = get_store().retrieve(
            build.collection(data["kind"]), data["ids"], with_vectors=True
        )
        return Response({"vectors": [render_vector(point) for point in points.values()]})

    def _change_response(self, build: IndexBuild, code: int = status.HTTP_200_OK) -> Response:
        build.refresh_from_db()
        return Response(render_build(build), status=code)
