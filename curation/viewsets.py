"""REST endpoints that edit many documents at once."""

from collections.abc import Callable, Sequence
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.authentication import get_grant
from access.grants import Scope
from access.request_throttle import get_holder
from core.enqueueing import enqueue_on_commit
from core.events import note_changes
from core.openapi import operation
from core.paging import render_page_head
from core.serializers import PagingSerializer
from curation import edits, tasks
from curation.selecting import clean_change, make_plan
from curation.serializers import (
    EditRequestSerializer,
    render_edit,
    render_edits,
    render_plan,
    to_change,
    to_selection,
)
from documents.index_catalog import require_index

BODY = {"application/json": EditRequestSerializer}


@extend_schema(tags=["Documents"])
class EditViewSet(viewsets.ViewSet):
    """Edits of documents, each of one or of many."""

    scopes = Scope.WRITE

    @operation("list_edits", strata_types.EditList, query=PagingSerializer)
    def list(self, request: Request, index: str) -> Response:
        """List the edits of an index, newest first.

        Those of the last 7 days whose documents you may all see.
        """
        require_index(index)
        parameters = PagingSerializer.read(request.query_params)
        grant = get_grant(request)
        shown = edits.list_edits(grant, index=index)
        start = parameters["offset"]
        page = shown[start : start + parameters["limit"]]
        answer = render_page_head(request, len(shown), parameters)
        return Response({**answer, "results": render_edits(page)})

    @operation("preview_edit", strata_types.EditPreview, body=BODY)
    def preview(self, request: Request, index: str) -> Response:
        """Say what an edit would change, without changing anything.

        A change of metadata or groups embeds nothing again. A new title does where the index
        embeds passages with it.
        """
        require_index(index)
        grant = get_grant(request)
        data = EditRequestSerializer.read(request.data)
        change = clean_change(index, to_change(data))
        return Response(render_plan(make_plan(index, to_selection(data), change, grant)))

    @operation("edit_artifacts", strata_types.EditDetail, body=BODY, status=202, errors=[409])
    def create(self, request: Request, index: str) -> Response:
        """Change the title, metadata or groups of artifacts, or delete them.

        The work goes on in the background; `GET edits/{edit_id}/` says how far it is. It can be
        undone for 7 days, unless it deletes.
        """
        require_index(index)
        grant = get_grant(request)
        data = EditRequestSerializer.read(request.data)
        edit, _ = edits.begin_edit(
            index,
            to_selection(data),
            to_change(data),
            grant,
            asked_by=get_holder(request),
            expected=data.get("expected"),
            note=_noting(request, index),
        )
        enqueue_on_commit(tasks.work_on_edits)
        return Response(render_edit(edit, grant), status=status.HTTP_202_ACCEPTED)

    @operation("read_edit", strata_types.EditDetail)
    def retrieve(self, request: Request, edit_id: UUID) -> Response:
        """Say how far an edit is, and what it refused."""
        grant = get_grant(request)
        return Response(render_edit(edits.require_edit(edit_id, grant), grant))

    @operation("undo_edit", strata_types.EditDetail, status=202, errors=[409])
    def undo(self, request: Request, edit_id: UUID) -> Response:
        """Undo an edit, or stop one that is not done.

        A document that was changed since, in what the edit had changed, stays as it is.
        """
        grant = get_grant(request)
        index = edits.require_edit(edit_id, grant).index
        edit = edits.begin_undo(edit_id, grant, _noting(request, index))
        enqueue_on_commit(tasks.work_on_edits)
        return Response(render_edit(edit, grant), status=status.HTTP_202_ACCEPTED)


def _noting(request: Request, index: str) -> Callable[[Sequence[UUID]], None]:
    """Who asked for the edit is said of each of its documents."""

    def note(ids: Sequence[UUID]) -> None:
        note_changes(request, [(index, str(each), None) for each in ids])

    return note
