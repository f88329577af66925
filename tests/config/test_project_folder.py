"""The folders that a new project folder gets."""

from pathlib import Path

import pytest
from django.conf import settings as django_settings

from config.project_folder import start_project_folder


@pytest.fixture
def project(settings, tmp_path) -> Path:
    settings.STRATA_PROJECT_DIR = tmp_path
    for name in ("specs", "pipelines", "golden"):
        setattr(settings, f"STRATA_{name.upper()}_DIR", tmp_path / name)
    return tmp_path


def test_are_copied_once(project):
    assert len(list(start_project_folder())) == 3
    assert (project / "specs" / "plain.yaml").is_file()
    (project / "specs" / "plain.yaml").unlink()

    assert list(start_project_folder()) == []
    assert not (project / "specs" / "plain.yaml").exists()


def test_are_not_made_elsewhere(project, settings):
    settings.STRATA_SPECS_DIR = project / "elsewhere"

    list(start_project_folder())

    assert not (project / "specs").exists()
    assert not (project / "elsewhere").exists()


def test_are_here_in_a_clone():
    assert django_settings.STRATA_PROJECT_DIR == django_settings.BASE_DIR
    assert list(start_project_folder()) == []
