"""The data folders of earlier releases: the code of today starts on them and finds the same."""

import sqlite3

import pytest

from tests.serving import Service, serving
from tests.upgrade.folders import DATABASE, RELEASES, ask, restore

FILES = sorted(RELEASES.glob("*.json.gz"))


def test_there_is_a_folder_of_a_release():
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.removesuffix(".json.gz"))
def test_the_folder_of_a_release_is_upgraded(path, tmp_path):
    answers = restore(path, tmp_path)

    with serving(tmp_path) as service:
        assert ask(service) == answers  # nothing is embedded anew
        assert service.verify()


def test_the_folder_of_another_release_is_refused(tmp_path):
    service = Service(tmp_path)
    service.api.close()
    done = service.manage("status")
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / DATABASE) as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('documents', '0099_of_a_newer_release', '2027-01-01')"
        )
    database.close()

    for command in (["serve", "--port", str(service.port)], ["status"]):
        done = service.manage(*command)

        assert done.returncode == 1
        [line] = done.stderr.strip().splitlines()
        assert "was made by another release of Strata" in line
        assert "documents.0099_of_a_newer_release" in line
