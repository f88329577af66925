"""Every URL of the service."""

from django.contrib import admin
from django.urls import include, path

from config import views
from config.api_description import DocsView, SchemaView
from config.mcp_endpoint import answer_mcp
from config.metrics import MetricsView
from config.work import WorkView

urlpatterns = [
    path("health/live", views.live, name="live"),
    path("health/ready", views.ReadyView.as_view(), name="ready"),
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("api/schema/", SchemaView.as_view(), name="schema"),
    path("api/docs/", DocsView.as_view(url_name="schema"), name="docs"),
    path("mcp", answer_mcp, name="mcp"),
    path("mcp/", answer_mcp),
    path("api/v1/", include("retrieval.urls")),  # first: searches come most often
    path("api/v1/", include("access.urls")),
    path("api/v1/", include("audit.urls")),
    path("api/v1/", include("webhooks.urls")),
    path("api/v1/", include("documents.urls")),
    path("api/v1/", include("indexing.urls")),
    path("api/v1/", include("summaries.urls")),
    path("api/v1/", include("concepts.urls")),
    path("api/v1/", include("evaluation.urls")),
    path("api/v1/", include("evidence.urls")),
    path("api/v1/work/", WorkView.as_view(), name="work-state"),
    path("", include("console.urls")),
    path("", include("access.sign_in.urls")),  # before those of the admin, for its login
    path("", include("access.oauth.urls")),
    path("admin/", admin.site.urls),
]

handler400 = handler403 = handler404 = "config.error_statuses.answer_error"
handler500 = "config.error_statuses.handler500"
