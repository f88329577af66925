"""The REST endpoint of near copies."""

from drf_spectacular.utils import extend_schema
from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.authentication import get_grant
from access.grants import Scope
from copies.groups import find_groups, list_documents
from core.openapi import operation
from core.paging import paginate
from core.serializers import PagingSerializer
from documents.index_catalog import require_index
from documents.serializers import render_reference

MAX_DOCUMENTS = 50  # that a group names


@extend_schema(tags=["Documents"])
class DuplicatesViewSet(viewsets.ViewSet):
    """Groups of documents that are near copies of each other."""

    scopes = Scope.SEARCH

    @operation("list_duplicates", strata_types.DuplicateGroupList, query=PagingSerializer)
    def list(self, request: Request, index: str) -> Response:
        """List the groups of documents of an index that are near copies.

        The largest group comes first, and in it the newest document.
        """
        require_index(index)
        parameters = PagingSerializer.read(request.query_params)
        grant = get_grant(request)
        page, answer = paginate(request, find_groups(index, grant), parameters)
        counts = {row["group"]: row["count"] for row in page}
        documents = list_documents(list(counts), grant)
        results = [
            {
                "count": count,
                "documents": [
                    {**render_reference(each), "updated_at": each.updated_at}
                    for each in documents[group][:MAX_DOCUMENTS]
                ],
            }
            for group, count in counts.items()
        ]
        return Response({**answer, "results": results})
