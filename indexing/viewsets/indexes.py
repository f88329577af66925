"""Indexes over HTTP: progress, removal, verification, regeneration."""

import logging
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status, viewsets
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.all_documents import NeedsAllDocuments
from access.authentication import get_grant
from access.grants import EVERYTHING, Grant, Scope
from access.request_throttle import get_holder
from access.usage_limits import one_at_a_time
from core.exceptions import InvalidInput, UnknownIndex
from core.openapi import operation, with_example
from core.paging import render_whole_list
from core.serializers import MAX_NAME_CHARS, FlagField, StrictSerializer, StringField
from indexing import tasks
from indexing.exceptions import StoreUnavailable
from indexing.hooks import describe_text_faults
from indexing.models import Index, IndexBuild
from indexing.progress import get_index_progress
from indexing.regeneration import regenerate
from indexing.removal import remove_index
from indexing.serializers import RegenerateSerializer
from indexing.spec.loaded import explain_missing_index, has_spec_file
from indexing.verification import verify_build

logger = logging.getLogger(__name__)

REMOVAL_CONTINUES = "No search finds it any more; the rest is removed automatically."
INDEX_RETURNS = (
    "specs/{}.yaml still exists, so the index is created again, empty, at the next start; remove "
    "the file to prevent this."
)


class IndexRemovalParametersSerializer(StrictSerializer):
    confirm = StringField(
        required=False, max_length=MAX_NAME_CHARS, help_text="The name of the index, repeated."
    )


@with_example({"repair": True})
class VerifySerializer(StrictSerializer):
    repair = FlagField(default=False, help_text="Repair or remove everything that differs.")


@extend_schema(tags=["Indexes and builds"])
class IndexViewSet(NeedsAllDocuments, viewsets.ViewSet):
    """The indexes, one for each spec."""

    scopes = {
        "list": Scope.SEARCH,
        "retrieve": Scope.SEARCH,
        "destroy": Scope.MANAGE,
        "verify": Scope.MANAGE,
    }
    lookup_url_kwarg = "index"
    lookup_value_regex = "[^/]+"
    actions_about_all = frozenset({"destroy", "verify"})

    @operation(None, strata_types.IndexList)
    def list(self, request: Request) -> Response:
        """List the indexes with their progress."""
        return Response(render_whole_list(get_index_progress(grant=get_grant(request))))

    @operation(None, strata_types.Index)
    def retrieve(self, request: Request, index: str) -> Response:
        """Read an index with its progress."""
        return Response(_get_progress(index, get_grant(request)))

    @operation(
        None, strata_types.IndexRemoval, query=IndexRemovalParametersSerializer, status=(200, 202)
    )
    def destroy(self, request: Request, index: str) -> Response:
        """Remove an index with its documents and all its builds.

        Repeat the name of the index in ``confirm``. 200: nothing of it is left. 202: no search
        finds it, and the rest is removed later; repeat the request for new counts.
        """
        given = IndexRemovalParametersSerializer.read(request.query_params)
        if given.get("confirm") != index:
            raise InvalidInput(
                "Removing an index must be confirmed with its name.",
                field="confirm",
                fix=f"Add ?confirm={index[:MAX_NAME_CHARS]} to the address.",
            )
        answer: dict[str, Any] = {"index": index, "deleted": True, "points": None}
        try:
            receipt = remove_index(index)
        except StoreUnavailable as error:
            logger.warning("The points of %s are not removed yet: %s", index, error)
            is_complete = False
        else:
            answer |= receipt.as_json()
            is_complete = receipt.is_complete
        detail = "" if is_complete else REMOVAL_CONTINUES
        if has_spec_file(index):
            detail = f"{detail} {INDEX_RETURNS.format(index)}".strip()
        if detail:
            answer["detail"] = detail
        return Response(
            answer, status=status.HTTP_200_OK if is_complete else status.HTTP_202_ACCEPTED
        )

    @operation(None, strata_types.IndexVerification, body=VerifySerializer, tags=["Operation"])
    @action(detail=True, methods=["post"])
    def verify(self, request: Request, index: str) -> Response:
        """Verify an index.

        Compares its documents, ledger and store in both directions.

        The report is the live build's; ``beside`` has the reports of the other builds. ``warnings``
        names texts that a language model should have written.
        """
        live = _get_progress(index)["build"]
        reports = {report["build"]: report for report in _verify(request, index)}
        report = reports.pop(live)
        described = describe_text_faults(index)
        warnings = [described[0]] if described else []
        return Response({**report, "beside": list(reports.values()), "warnings": warnings})


@extend_schema(tags=["Operation"])
class OperationViewSet(NeedsAllDocuments, viewsets.ViewSet):
    scopes = Scope.MANAGE

    @operation(None, strata_types.VerificationAnswer, body=VerifySerializer)
    def verify(self, request: Request) -> Response:
        """Verify every index.

        Compares their documents, ledgers and stores in both directions.
        """
        return Response({"reports": _verify(request, None)})

    # Clients of earlier releases and commands send it; the work is also done within a minute.
    @extend_schema(exclude=True)
    def reconcile(self, request: Request) -> Response:
        tasks.enqueue_reconciliation()
        return Response(status=status.HTTP_202_ACCEPTED)

    @operation(
        "regenerate", strata_types.Regeneration, body=RegenerateSerializer, status=202, errors=[404]
    )
    def regenerate(self, request: Request) -> Response:
        """Make and embed nodes again, in every build that is not retired.

        The answer says what is due; the status of an index says what is left.
        """
        data, grant = RegenerateSerializer.read(request.data), get_grant(request)
        index = data.get("index")
        if index is not None:
            grant.require(index)
        elif grant.indexes is not None:
            raise InvalidInput(
                "This key must name the index, because it does not see all indexes.",
                field="index",
                allowed=grant.indexes,
            )
        with one_at_a_time(get_holder(request), "regeneration"):
            regeneration = regenerate(
                [data["type"]],
                index=index,
                category=data["category"],
                artifact_ids=data.get("artifacts"),
                is_for_missing=data["only_missing"],
                is_for_stale=data["stale"],
                limit=data.get("limit"),
                offset=data["offset"],
            )
        tasks.enqueue_reconciliation(tasks.RECONCILE_INDEXES, tasks.RECONCILE_TEXTS)
        return Response(regeneration.as_json(), status=status.HTTP_202_ACCEPTED)


def _verify(request: Request, index: str | None) -> list[dict[str, Any]]:
    repair = VerifySerializer.read(request.data)["repair"]
    builds = get_grant(request).limit(IndexBuild.objects.not_retired())
    if index is not None:
        builds = builds.filter(index=index)
    with one_at_a_time(get_holder(request), "verification"):
        reports = [verify_build(build, repair=repair) for build in builds]
    if repair:
        tasks.reconcile_indexes.delay()
    return [report.as_json() for report in reports]


def _get_progress(index: str, grant: Grant = EVERYTHING) -> strata_types.Index:
    for progress in get_index_progress(index, grant):
        return progress
    names = Index.objects.not_being_removed().values_list("name", flat=True)
    raise UnknownIndex.named(index, names, explain_missing_index(index))
