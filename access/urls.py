"""URL routes of API keys and people, below ``api/v1/``."""

from access.viewsets import KeyViewSet, PersonViewSet
from core.routes import api_paths

urlpatterns = [
    *api_paths("keys/", KeyViewSet, {"get": "list", "post": "create"}),
    *api_paths("keys/<key_id:key_id>/", KeyViewSet, {"delete": "destroy"}),
    *api_paths("people/", PersonViewSet, {"get": "list", "post": "create"}),
    *api_paths("people/<key_id:person_id>/", PersonViewSet, {"patch": "partial_update"}),
    *api_paths("people/<key_id:person_id>/password-link/", PersonViewSet, {"post": "make_link"}),
]
