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


@pytest.mark.parametrize(
    ("app", "name", "reason"),
    [
        (
            "documents",
            "0099_of_a_newer_release",
            "was made by another release of Strata, which this one cannot upgrade: its database "
            "has the migration documents.0099_of_a_newer_release",
        ),
        ("gone", "0001_initial", "has tables of the app gone, which is not installed"),
    ],
)
def test_the_folder_of_another_release_is_refused(app, name, reason, tmp_path):
    service = Service(tmp_path)
    service.api.close()
    done = service.manage("status")
    assert done.returncode == 0, done.stderr
    with sqlite3.connect(tmp_path / DATABASE) as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, '2027-01-01')",
            (app, name),
        )
    database.close()

    for command in (["serve", "--port", str(service.port)], ["status"]):
        done = service.manage(*command)

        assert done.returncode == 1
        [line] = done.stderr.strip().splitlines()
        assert reason in line
