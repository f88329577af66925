"""Every URL of the service."""

from django.contrib import admin
from django.urls import include, path

from config import views
from config.api_description import DocsView, SchemaView
from config.metrics import MetricsView
from config.work import WorkView
from core.apps import list_apps

urlpatterns = [
    path("health/live", views.live, name="live"),
    path("health/ready", views.ReadyView.as_view(), name="ready"),
    path("metrics", MetricsView.as_view(), name="metrics"),
    path("api/schema/", SchemaView.as_view(), name="schema"),
    path("api/docs/", DocsView.as_view(url_name="schema"), name="docs"),
    path("api/v1/work/", WorkView.as_view(), name="work-state"),
    # From the top down: searches, which come most often, are not last.
    *(path("api/v1/", include(app.api_urls)) for app in reversed(list_apps()) if app.api_urls),
    path("", include("console.urls")),
    *(path("", include(app.urls)) for app in list_apps() if app.urls),  # before the admin's login
    path("admin/", admin.site.urls),
]

handler400 = handler403 = handler404 = "config.error_statuses.answer_error"
handler500 = "config.error_statuses.handler500"
