"""Which scope an operation needs, and whether a request has it.

A view declares ``scopes``: one ``Scope`` for all of its operations, or one for each by the name of
the action (viewsets) or of the method. An operation without a scope is refused. A view with
``is_public_search`` answers requests without a key about public indexes.
"""

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from access.authentication import ApiKeyUser, ApplicationUser, get_grant, get_scope
from access.exceptions import MissingScope
from access.grants import NOTHING, Grant, Scope
from access.models import GroupRights

if TYPE_CHECKING:
    from rest_framework.views import APIView  # imports this module, by the settings


def get_required_scope(view: Any, operation: str) -> Scope | None:
    """The scope that an operation of a view or of its class needs; None if none is declared."""
    scopes = getattr(view, "scopes", {})
    scope: Scope | None = scopes if isinstance(scopes, Scope) else scopes.get(operation)
    return scope


class HasScope(BasePermission):
    """The request has the scope of the operation, and the index in the path is visible to it."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        """Check that the request has the right that the operation needs.

        Raises:
            NotAuthenticated: it has neither a key nor a session.
            MissingScope: it lacks the scope.
            UnknownIndex: the index in the path is not visible.
        """
        operation = _find_operation(request, view)
        if operation is not None:
            check_scope(request, view, operation)
        elif request.user is None:
            raise NotAuthenticated
        if "index" in view.kwargs:
            get_grant(request).require(view.kwargs["index"])
        return True


def check_scope(request: Request, view: Any, operation: str) -> None:
    """Check that the request has the scope of an operation.

    Raises:
        NotAuthenticated, MissingScope: as ``HasScope.has_permission``.
    """
    needed = get_required_scope(view, operation)
    if request.user is None:
        if getattr(view, "is_public_search", False) and get_grant(request).indexes:
            return
        raise NotAuthenticated
    scope = get_scope(request)
    if needed is not None and scope is not None and scope.includes(needed):
        get_grant(request, needed)
        return
    raise MissingScope(_describe_missing_scope(request, scope, needed))


def require_larger_scope(request: Request, needed: Scope) -> Grant:
    """What the request may see with a scope that only a part of its operation needs.

    Raises:
        MissingScope: it lacks the scope.
    """
    scope = get_scope(request)
    if scope is None or not scope.includes(needed):
        raise MissingScope(_describe_missing_scope(request, scope, needed))
    return find_larger_grant(request, needed)


def find_larger_grant(request: Request, needed: Scope) -> Grant:
    """What the request may see with this scope, perhaps nothing. Users may have a larger scope for
    one index than for another."""
    if isinstance(request.user, User):
        return GroupRights.objects.of_user(request.user).grant_for(needed)
    scope = get_scope(request)
    return get_grant(request) if scope is not None and scope.includes(needed) else NOTHING


def _find_operation(request: Request, view: Any) -> str | None:
    """The name of the operation, as in ``scopes``; None if the view does not take the method.
    OPTIONS describes the view and shows nothing else."""
    method = str(request.method).lower()
    if method == "options" or not hasattr(view, method):
        return None
    if hasattr(view, "action_map"):
        action: str | None = view.action_map.get(method)
        return action
    return "get" if method == "head" else method


def _describe_missing_scope(request: Request, scope: Scope | None, needed: Scope | None) -> str:
    if needed is None:
        return "No key may use this operation, because it declares no scope."
    if isinstance(request.user, ApiKeyUser):
        return f"This operation needs the scope {needed}; this key has the scope {scope}."
    if isinstance(request.user, ApplicationUser) and scope is not None:
        return f"This operation needs the scope {needed}; you allowed the application {scope} only."
    if scope is None:
        return "None of your groups has rights over the API."
    return f"This operation needs the scope {needed}; your groups have the scope {scope}."
