"""URL routes of webhooks, below ``api/v1/``."""

from core.routes import api_paths
from webhooks.viewsets import WebhookViewSet

urlpatterns = [
    *api_paths("webhooks/", WebhookViewSet, {"get": "list"}),
    *api_paths("webhooks/test/", WebhookViewSet, {"post": "test"}),
    *api_paths("webhooks/<uuid:delivery_id>/retry/", WebhookViewSet, {"post": "retry"}),
]
