"""REST endpoints of API keys and of people."""

from django.contrib.auth.models import Group, User
from drf_spectacular.utils import extend_schema
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access.all_documents import NeedsEverything
from access.authentication import ApiKeyUser, get_grant
from access.grants import Scope
from access.issuing import Issuer
from access.serializers import KeyRequestSerializer, render_group, render_key, render_person
from core.openapi import operation
from core.paging import paginate, render_whole_list
from core.serializers import PagingSerializer


@extend_schema(tags=["Keys"])
class KeyViewSet(viewsets.ViewSet):
    """API keys. The key of a request sees, makes and revokes only keys that see no more than it."""

    scopes = Scope.MANAGE

    @operation("list_keys", strata_types.KeyList)
    def list(self, request: Request) -> Response:
        """List API keys, newest first, without their secrets."""
        results = [render_key(key) for key in _get_issuer(request).list_keys()]
        return Response(render_whole_list(results))

    @operation("create_key", strata_types.NewKey, body=KeyRequestSerializer, status=201)
    def create(self, request: Request) -> Response:
        """Make an API key.

        The answer holds its secret, which is not stored and not shown again.
        """
        data = KeyRequestSerializer.read(request.data)
        scope = Scope(data.pop("scope"))
        key, secret = _get_issuer(request).issue_key(data.pop("name"), scope=scope, **data)
        return Response({**render_key(key), "secret": secret}, status=status.HTTP_201_CREATED)

    @operation("revoke_key", strata_types.Key)
    def destroy(self, request: Request, key_id: int) -> Response:
        """Revoke an API key.

        The next request with it is refused. Its row is kept.
        """
        return Response(render_key(_get_issuer(request).revoke_key(key_id)))


@extend_schema(tags=["Keys"])
class PersonViewSet(NeedsEverything, viewsets.ViewSet):
    """People who sign in. Superusers change them in the admin."""

    scopes = Scope.MANAGE

    @operation("list_people", strata_types.PersonList, query=PagingSerializer)
    def list(self, request: Request) -> Response:
        """List the people who sign in, and all groups of people with their rights."""
        people = User.objects.prefetch_related("groups", "open_id_identities").order_by("username")
        page, answer = paginate(request, people, PagingSerializer.read(request.query_params))
        groups = Group.objects.select_related("rights").order_by("name")
        answer["groups"] = [render_group(group) for group in groups]
        return Response({**answer, "results": [render_person(person) for person in page]})


def _get_issuer(request: Request) -> Issuer:
    key_id = request.user.key_id if isinstance(request.user, ApiKeyUser) else None
    return Issuer(get_grant(request), key_id)
