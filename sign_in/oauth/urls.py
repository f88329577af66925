"""Routes by which applications get access over MCP."""

from django.urls import path

from sign_in.oauth import pages

urlpatterns = [
    path(".well-known/oauth-protected-resource", pages.describe_resource),
    path(".well-known/oauth-protected-resource/<path:resource>", pages.describe_resource),
    path(".well-known/oauth-authorization-server", pages.describe_server),
    path(".well-known/oauth-authorization-server/<path:issuer_path>", pages.describe_server),
    path("oauth/authorize", pages.authorize, name="oauth-authorize"),
    path("oauth/token", pages.exchange_tokens, name="oauth-token"),
    path("oauth/register", pages.register, name="oauth-register"),
    path("oauth/revoke", pages.revoke, name="oauth-revoke"),
    path(
        "account/applications/<key_id:authorization_id>/revoke/",
        pages.revoke_of_user,
        name="revoke-application",
    ),
]
