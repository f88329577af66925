import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings as django_settings

from config.folders import (
    create_data_folder,
    load_or_create_secret_key,
    start_project_folder,
)


def read_modes(folder):
    return {path.name: path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())}


@pytest.mark.parametrize("has_database", [True, False])
def test_data_folder_and_database_are_private_in_a_folder_that_exists(
    tmp_path, settings, monkeypatch, has_database
):
    folder = tmp_path / "data"
    settings.STRATA_DATA_DIR, settings.STATIC_ROOT = folder, folder / "static"
    settings.FILE_UPLOAD_TEMP_DIR = folder / "uploads"
    settings.STRATA_VECTOR_STORE = "embedded"
    database = folder / "strata.sqlite3"
    monkeypatch.setitem(settings.DATABASES["default"], "NAME", database)
    mask = os.umask(0o022)
    try:
        (folder / "vectors").mkdir(parents=True)
        if has_database:
            database.touch()

        create_data_folder()
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("CREATE TABLE notes (text)")
            modes = read_modes(folder)
    finally:
        os.umask(mask)

    assert {name for name in modes if "sqlite3" in name} == {
        "strata.sqlite3", "strata.sqlite3-wal", "strata.sqlite3-shm",
    }  # fmt: skip
    expected = {name: 0o600 if "sqlite3" in name else 0o700 for name in modes}
    assert modes == expected


# --- The folders that a new project folder gets ---


@pytest.fixture
def project(settings, tmp_path) -> Path:
    settings.STRATA_PROJECT_DIR = tmp_path
    for name in ("specs", "pipelines", "golden"):
        setattr(settings, f"STRATA_{name.upper()}_DIR", tmp_path / name)
    return tmp_path


def test_project_folders_are_copied_once(project):
    assert len(list(start_project_folder())) == 3
    assert (project / "specs" / "plain.yaml").is_file()
    (project / "specs" / "plain.yaml").unlink()

    assert list(start_project_folder()) == []
    assert not (project / "specs" / "plain.yaml").exists()


def test_project_folders_are_not_made_elsewhere(project, settings):
    settings.STRATA_SPECS_DIR = project / "elsewhere"

    list(start_project_folder())

    assert not (project / "specs").exists()
    assert not (project / "elsewhere").exists()


def test_project_folders_are_here_in_a_clone():
    assert django_settings.STRATA_PROJECT_DIR == django_settings.BASE_DIR
    assert list(start_project_folder()) == []


# --- The secret key ---


def test_secret_key_stays_the_same_and_is_private(tmp_path):
    key = load_or_create_secret_key(tmp_path)

    assert len(key) > 50
    assert load_or_create_secret_key(tmp_path) == key
    assert read_modes(tmp_path)["secret_key"] == 0o600


def test_secret_key_is_made_again_where_a_full_disk_left_an_empty_file(tmp_path):
    (tmp_path / "secret_key").touch()

    assert load_or_create_secret_key(tmp_path)


def test_secret_key_leaves_no_empty_file_on_a_full_disk(tmp_path, monkeypatch):
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        load_or_create_secret_key(tmp_path)

    assert list(tmp_path.iterdir()) == []
