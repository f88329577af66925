"""The pages and the endpoints by which people and applications sign in."""

from django.urls import include, path

urlpatterns = [
    path("", include("access.sign_in.urls")),
    path("", include("access.oauth.urls")),
]
