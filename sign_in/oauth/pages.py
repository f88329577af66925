"""The page on which a user allows an application access, and the endpoints of the authorization
server, which the application calls."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from authlib.common.urls import add_params_to_uri
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import InvalidClientError
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from access.authentication import get_issuer, get_resource, has_oauth
from access.grants import Scope
from access.models import SCOPES, Authorization, GroupRights
from access.usage_limits import count_metadata_fetch
from core.exceptions import Malformed
from core.http_formats import load_json
from sign_in.oauth import clients
from sign_in.oauth.server import Server, describe_error

View = Callable[..., HttpResponse]


def _with_oauth(view: View) -> View:
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        if not has_oauth(request):
            raise Http404
        return view(request, *args, **options)

    return checked


# --- For the user ----------------------------------------------------------------------------


@_with_oauth
@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def authorize(request: HttpRequest) -> HttpResponse:
    """Ask the user; then send the browser back to the application, with a code or an error."""
    assert isinstance(request.user, User)
    server = Server(request, partial(_find_or_fetch, request.user))
    try:
        grant: Any = server.get_consent_grant(request, end_user=request.user)
    except OAuth2Error as error:
        # Not sent to the application by itself: anybody can register one, and would have an open
        # redirect (RFC 9700, section 4.11.2).
        return _show_consent(request, {"refusal": describe_error(error)}, status=400)
    except ValueError:  # Authlib refuses to quote some characters in its description
        return _show_consent(
            request,
            {"refusal": "A parameter has characters that are not allowed in it."},
            status=400,
        )
    asked = Scope.WRITE if Scope.WRITE in grant.request.scope.split() else Scope.SEARCH
    scope = GroupRights.objects.of_user(request.user).scope
    may_write = asked == Scope.WRITE and scope is not None and scope.includes(asked)
    if request.method == "GET":
        context = {
            "client": grant.request.client,
            "redirect_uri": grant.redirect_uri,
            "has_rights": scope is not None,
            "may_write": may_write,
        }
        return _show_consent(request, context)
    if may_write and "may_write" in request.POST:
        grant.allowed_scope = Scope.WRITE
    user = request.user if scope is not None and "allow" in request.POST else None
    request.user.authorizations.filter(expires_at__lt=timezone.now()).delete()
    response = server.create_authorization_response(request, grant_user=user, grant=grant)
    # The issuer, by which the application notices an answer of another server (RFC 9207).
    response["Location"] = add_params_to_uri(response["Location"], {"iss": get_issuer(request)})
    return response


@never_cache
@login_required
@require_POST
def revoke_of_user(request: HttpRequest, authorization_id: int) -> HttpResponse:
    """Revoke what the user allowed an application."""
    get_object_or_404(Authorization, pk=authorization_id, user=request.user).delete()
    return redirect("account")


def _find_or_fetch(user: User, client_id: str) -> clients.Client:
    client = clients.find_registered(client_id)
    if client is None:
        raise InvalidClientError("Strata has not given this client_id. Let it register again.")
    if not client.is_document:
        return client
    count_metadata_fetch(f"user {user}")
    return clients.fetch(client_id)


def _show_consent(request: HttpRequest, context: dict[str, Any], status: int = 200) -> HttpResponse:
    response = render(request, "account/consent.html", context, status=status)
    response.is_form_redirected = True  # type: ignore[attr-defined]  # for config.middleware
    return response


# --- For the application ---------------------------------------------------------------------


@_with_oauth
@require_safe
def describe_resource(request: HttpRequest, resource: str = "mcp") -> HttpResponse:
    """The metadata of the MCP endpoint (RFC 9728). ``resource``: its path, also from the root of
    the host."""
    if resource not in {"mcp", f"{request.META['SCRIPT_NAME']}/mcp".lstrip("/")}:
        raise Http404
    return JsonResponse(
        {
            "resource": get_resource(request),
            "resource_name": "Strata",
            "authorization_servers": [get_issuer(request)],
            "scopes_supported": SCOPES,
            "bearer_methods_supported": ["header"],
        }
    )


@_with_oauth
@require_safe
def describe_server(request: HttpRequest, issuer_path: str = "") -> HttpResponse:
    """The metadata of the authorization server (RFC 8414). ``issuer_path``: that of the service,
    if the address is at the root of the host."""
    if f"/{issuer_path}" not in {"/", request.META["SCRIPT_NAME"]}:
        raise Http404
    return JsonResponse(
        {
            "issuer": get_issuer(request),
            "authorization_endpoint": request.build_absolute_uri(reverse("oauth-authorize")),
            "token_endpoint": request.build_absolute_uri(reverse("oauth-token")),
            "registration_endpoint": request.build_absolute_uri(reverse("oauth-register")),
            "revocation_endpoint": request.build_absolute_uri(reverse("oauth-revoke")),
            "scopes_supported": SCOPES,
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": True,
        }
    )


@csrf_exempt
@_with_oauth
@require_POST
def register(request: HttpRequest) -> HttpResponse:
    """Register an application (RFC 7591)."""
    try:
        metadata = load_json(request.body)
    except Malformed:
        metadata = None
    try:
        client = clients.register(metadata)
    except OAuth2Error as error:
        return JsonResponse(dict(error.get_body()), status=400)
    return JsonResponse(
        {
            "client_id": client.client_id,
            "client_name": client.name,
            "redirect_uris": client.redirect_uris,
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": " ".join(SCOPES),
        },
        status=201,
        headers={"Cache-Control": "no-store"},
    )


@csrf_exempt
@_with_oauth
@require_POST
def exchange_tokens(request: HttpRequest) -> HttpResponse:
    """Give tokens for a code or a refresh token."""
    return Server(request).create_token_response(request)


@csrf_exempt
@_with_oauth
@require_POST
def revoke(request: HttpRequest) -> HttpResponse:
    """Revoke all tokens of an authorization, by one of them (RFC 7009)."""
    return Server(request).create_endpoint_response("revocation", request)
