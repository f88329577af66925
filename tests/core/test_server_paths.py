import os
from pathlib import Path

import pytest
from django.conf import settings

from core.server_paths import hide_server_paths
from indexing.exceptions import ModelUnavailable, StoreUnavailable
from indexing.models import IndexBuild
from indexing.services.syncing import set_build_problem
from indexing.stores import get_store
from tests.clients import client_with_key


def test_folders_of_the_server_are_replaced_by_the_names_of_their_settings(settings):
    settings.STRATA_DATA_DIR = Path("/srv/data")
    settings.STRATA_MODELS_DIR = Path("/srv/data/models")

    def hide(text):
        return hide_server_paths(text)

    assert hide("Copy /srv/data/models/fastembed.") == "Copy STRATA_MODELS_DIR/fastembed."
    assert hide("No file '/srv/data/a'") == "No file 'STRATA_DATA_DIR/a'"
    for unchanged in ("http://host/srv/data/a", "/srv/database", "/elsewhere/srv/data"):
        assert hide(unchanged) == unchanged


def test_a_user_without_a_name_and_a_home_has_no_folder_to_hide(monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 1_000_660_000)

    assert hide_server_paths("/nowhere/a") == "/nowhere/a"


@pytest.mark.django_db
def test_errors_over_the_api_name_no_folder(build, monkeypatch):
    folder = f"{settings.STRATA_VECTORS_DIR}/plain"
    error = StoreUnavailable(f"No such file: {folder}", fix=f"Copy {folder}.")
    set_build_problem(build, ModelUnavailable(f"{folder} is missing."))

    def fail(*args, **given):
        raise error

    monkeypatch.setattr(get_store(), "search_many", fail)
    monkeypatch.setattr(get_store(), "ping", fail)
    client = client_with_key()
    answers = [
        client.get("/api/v1/search/pages", {"index": "plain", "q": "heron"}),
        client.get("/health/ready"),
        client.get("/api/v1/indexes/plain/"),
    ]

    assert [answer.status_code for answer in answers] == [503, 503, 200]
    for answer in answers:
        assert "STRATA_VECTORS_DIR/plain" in answer.content.decode()
        assert str(settings.STRATA_DATA_DIR) not in answer.content.decode()
    assert IndexBuild.objects.get(pk=build.pk).problem
