"""REST endpoints of API keys and of people."""

from typing import Any

from django.contrib.auth.models import Group, User
from drf_spectacular.utils import extend_schema
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

import strata_types
from access import people
from access.all_documents import NeedsEverything
from access.authentication import ApiKeyUser, get_grant
from access.grants import Scope
from access.issuing import Issuer
from access.serializers import (
    KeyRequestSerializer,
    NewPersonSerializer,
    PersonChangeSerializer,
    render_group,
    render_key,
    render_person,
)
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
    """People who sign in. Superusers and staff are changed by superusers only."""

    scopes = Scope.MANAGE

    @operation("list_people", strata_types.PersonList, query=PagingSerializer)
    def list(self, request: Request) -> Response:
        """List the people who sign in, and all groups of people with their rights."""
        rows = User.objects.prefetch_related("groups", "open_id_identities").order_by("username")
        page, answer = paginate(request, rows, PagingSerializer.read(request.query_params))
        groups = Group.objects.select_related("rights").order_by("name")
        answer["groups"] = [render_group(group) for group in groups]
        return Response({**answer, "results": [_render(request, person) for person in page]})

    @operation("add_person", strata_types.PersonWithLink, body=NewPersonSerializer, status=201)
    def create(self, request: Request) -> Response:
        """Add somebody who signs in with a password.

        The answer holds a link with which they set it.
        """
        person = people.add_person(**NewPersonSerializer.read(request.data))
        return Response(_render_with_link(request, person), status=status.HTTP_201_CREATED)

    @operation("change_person", strata_types.Person, body=PersonChangeSerializer, errors=[409])
    def partial_update(self, request: Request, person_id: int) -> Response:
        """Change the groups of a person, or deactivate or activate them.

        It applies to their next request. Groups that are filled from the claim of the OpenID
        provider are set again when the person signs in with it.
        """
        changes = PersonChangeSerializer.read(request.data)
        person = people.find_person(person_id, by_superuser=request.user.is_superuser)
        people.change_person(person, **changes)
        return Response(_render(request, person))

    @operation("make_password_link", strata_types.PersonWithLink, body=None, errors=[400])
    def make_link(self, request: Request, person_id: int) -> Response:
        """Make a link with which a person sets a new password.

        Until then the old one stays valid.
        """
        person = people.find_person(person_id, by_superuser=request.user.is_superuser)
        return Response(_render_with_link(request, person))


def _render(request: Request, person: User) -> dict[str, Any]:
    by_superuser = request.user.is_superuser
    changeable = people.is_changeable(person, by_superuser=by_superuser)
    return render_person(person, is_changeable=changeable)


def _render_with_link(request: Request, person: User) -> dict[str, Any]:
    link = request.build_absolute_uri(people.make_password_path(person))
    return {**_render(request, person), "password_link": link}


def _get_issuer(request: Request) -> Issuer:
    key_id = request.user.key_id if isinstance(request.user, ApiKeyUser) else None
    return Issuer(get_grant(request), key_id)
