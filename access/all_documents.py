"""Views about an index as a whole: its builds, its checks, its evaluations."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from access.authentication import get_grant
from core.exceptions import Forbidden


class AllDocumentsNeeded(Forbidden):
    """This operation is only for keys and users that may see all documents of the index."""

    code = "needs_all_documents"


class SeesAllDocuments(BasePermission):
    """The request may see every document of its indexes."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not get_grant(request).sees_all_documents:
            raise AllDocumentsNeeded
        return True


class AllIndexesNeeded(Forbidden):
    """This operation is only for keys and users that see all indexes."""

    code = "needs_all_indexes"


class NeedsAllDocuments(APIView):
    """Base of views that show or change what is made from all documents of an index.

    ``actions_about_all``: for a viewset, the actions that need it; None for all.
    """

    actions_about_all: frozenset[str] | None = None

    def get_permissions(self) -> Any:
        permissions = [*super().get_permissions()]
        actions = self.actions_about_all
        if actions is None or getattr(self, "action", None) in actions:
            permissions.append(SeesAllDocuments())
        return permissions


class NeedsEverything(NeedsAllDocuments):
    """Base of views of what belongs to no index, such as people."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if get_grant(request).indexes is not None:
            raise AllIndexesNeeded
