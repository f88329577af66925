"""The route of the page of query pipelines."""

from django.urls import path

from answers.views.pipelines_page import pipelines_page

urlpatterns = [path("pipelines/", pipelines_page, name="pipelines")]
