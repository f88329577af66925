"""API views that read summaries and questions, and edit them by hand."""

from dataclasses import asdict
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import strata_types
from access.all_documents import NeedsAllDocuments
from access.authentication import get_grant
from access.grants import Scope
from core.openapi import operation
from documents.exceptions import UnknownArtifact
from documents.groups import is_visible
from documents.models import Artifact
from documents.services import require_page
from indexing.models import Index, Node
from indexing.tasks import enqueue_reconciliation
from summaries.exceptions import SummaryDeleted
from summaries.models import Annotation, Summary
from summaries.serializers import (
    QuestionsSerializer,
    SummaryPatchSerializer,
    render_questions,
    render_stored_summary,
)
from summaries.services import delete_summary, edit_questions, edit_summary, retry_failed_work


@extend_schema(tags=["Summaries"])
class PageSummaryView(APIView):
    """The summary of a page."""

    scopes = {"get": Scope.SEARCH, "patch": Scope.WRITE, "delete": Scope.WRITE}

    @operation("read_page_summary", strata_types.Summary)
    def get(self, request: Request, page_id: UUID) -> Response:
        """Read a page's summary."""
        return Response(render_stored_summary(_require_summary(request, page=page_id)))

    @operation("write_page_summary", strata_types.Summary, body=SummaryPatchSerializer)
    def patch(self, request: Request, page_id: UUID) -> Response:
        """Write a page's summary by hand.

        The summary is embedded again, and the artifact's summary is written again.
        """
        page = require_page(page_id, get_grant(request))
        return _save_edit(request, page.artifact_id, page_id)

    @operation("delete_page_summary", strata_types.Deletion)
    def delete(self, request: Request, page_id: UUID) -> Response:
        """Delete a page's summary.

        Its point is deleted in the background, and the artifact's summary is written again. The
        page gets no other summary until someone writes one or asks for it with PATCH.
        """
        summary = _require_summary(request, page=page_id)
        return _delete(summary.artifact_id, page_id)


@extend_schema(tags=["Summaries"])
class ArtifactSummaryView(APIView):
    """The summary of an artifact."""

    scopes = {"get": Scope.SEARCH, "patch": Scope.WRITE, "delete": Scope.WRITE}

    @operation("read_artifact_summary", strata_types.Summary)
    def get(self, request: Request, artifact_id: UUID) -> Response:
        """Read an artifact's summary."""
        summary = _require_summary(request, artifact=artifact_id, page=None)
        return Response(render_stored_summary(summary))

    @operation("write_artifact_summary", strata_types.Summary, body=SummaryPatchSerializer)
    def patch(self, request: Request, artifact_id: UUID) -> Response:
        """Write an artifact's summary by hand.

        The summary is embedded again.
        """
        visible = Artifact.objects.visible_to(get_grant(request))
        if not visible.filter(pk=artifact_id).exists():
            raise UnknownArtifact(field="id")
        return _save_edit(request, artifact_id, None)

    @operation("delete_artifact_summary", strata_types.Deletion)
    def delete(self, request: Request, artifact_id: UUID) -> Response:
        """Delete an artifact's summary.

        Its point is deleted in the background. The artifact gets no other summary until someone
        writes one or asks for it with PATCH.
        """
        _require_summary(request, artifact=artifact_id, page=None)
        return _delete(artifact_id, None)


def _require_summary(request: Request, **of: UUID | None) -> Summary:
    grant = get_grant(request)
    visible = Summary.objects.filter(is_visible(grant, "artifact__"), **of)
    summary = grant.limit(visible).order_by("-build__number").first()
    if summary is None:
        raise Http404
    if summary.is_deleted:
        raise SummaryDeleted(fix="Write one with PATCH; with text null, it is written again.")
    return summary


def _delete(artifact_id: UUID, page_id: UUID | None) -> Response:
    revision = delete_summary(artifact_id, page_id)
    return Response({"id": str(page_id or artifact_id), "deleted": True, "revision": revision})


def _save_edit(request: Request, artifact_id: UUID, page_id: UUID | None) -> Response:
    given = SummaryPatchSerializer.read(request.data)
    [*_, newest] = edit_summary(artifact_id, page_id, **given)
    return Response(render_stored_summary(newest))


@extend_schema(tags=["Summaries"])
class ChunkQuestionsView(APIView):
    """The questions that a chunk answers."""

    scopes = {"get": Scope.SEARCH, "patch": Scope.WRITE}

    @operation("read_chunk_questions", strata_types.ChunkQuestions)
    def get(self, request: Request, chunk_id: UUID) -> Response:
        """Read the questions that a chunk answers."""
        return Response(render_questions(_require_annotation(request, chunk_id)))

    @operation("write_chunk_questions", strata_types.ChunkQuestions, body=QuestionsSerializer)
    def patch(self, request: Request, chunk_id: UUID) -> Response:
        """Write the questions that a chunk answers by hand.

        They are embedded again, and kept until someone has them written again.
        """
        given = QuestionsSerializer.read(request.data)
        _require_annotation(request, chunk_id)
        edit_questions(chunk_id, given["questions"])
        return Response(render_questions(_require_annotation(request, chunk_id)))


def _require_annotation(request: Request, chunk_id: UUID) -> Annotation:
    grant = get_grant(request)
    visible = Annotation.objects.filter(is_visible(grant, "artifact__"), chunk_id=chunk_id)
    rows = grant.limit(visible).select_related("artifact")
    row = rows.order_by("-build__number").first()
    if row is None:
        raise UnknownArtifact("There is no chunk with this id that has questions.", field="id")
    return row


@extend_schema(tags=["Operation"])
class RetryView(NeedsAllDocuments):
    scopes = Scope.WRITE

    @operation("retry_failed", strata_types.RetriedWork, status=202)
    def post(self, request: Request, index: str) -> Response:
        """Try all failed work of the index again.

        Files that could not be read, documents that could not be cut into nodes, what the language
        model could not write or find, and nodes that could not be embedded.
        """
        Index.objects.require(index)
        retried = retry_failed_work(
            Artifact.objects.filter(index=index), Node.objects.filter(build__index=index)
        )
        enqueue_reconciliation()
        return Response(asdict(retried), status=status.HTTP_202_ACCEPTED)
