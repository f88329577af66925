"""Import papers by the command in a separate process, which is killed during the import."""

import json
import re
import sqlite3
import time
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.serving import Service

COUNT = 600
WITHOUT = 3
PATIENCE_SECONDS = 60


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Papers of a few words each, some without an abstract."""
    path = tmp_path / "papers.jsonl"
    with path.open("w") as file:
        for number in range(COUNT):
            paper = {
                "id": f"2031.owl-main.{number + 1}",
                "title": f"Owl {number}",
                "abstract": f"Owl number {number} sees well." if number >= WITHOUT else "",
                "authors": ["Ada Lind"],
                "year": 2031,
                "venue": ["owl"],
            }
            file.write(json.dumps(paper) + "\n")
    return path


def count_artifacts(service: Service) -> int:
    """Count the artifacts that a running process has committed; 0 before its tables exist."""
    path = service.data_dir / "strata.sqlite3"
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            return int(database.execute("SELECT count(*) FROM documents_artifact").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


class TestImportAcl:
    def test_continues_where_it_was_killed(self, idle, lines):
        process = idle.spawn("import_acl", str(lines), "--index", "papers")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not count_artifacts(idle) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        process.kill()
        process.wait()
        killed_at = count_artifacts(idle)
        assert 0 < killed_at < COUNT - WITHOUT

        again = idle.manage("import_acl", str(lines))

        assert again.returncode == 0, again.stderr
        counts = {name: int(n) for n, name in re.findall(r"(\d+) ([a-z ]+)", again.stdout)}
        assert counts["without an abstract"] == WITHOUT
        assert counts["unchanged"] == killed_at
        assert counts["added"] == COUNT - WITHOUT - killed_at
        assert counts["ready"] == COUNT - WITHOUT
        idle.verify()
        found = idle.manage(
            "search", "owl", "--index", "papers", "--json",
            "--filter", '{"authors": "Ada Lind", "year": {"gte": 2031}, "venue": "owl"}',
        )  # fmt: skip
        assert found.returncode == 0, found.stderr
        assert len(json.loads(found.stdout)["hits"]) == 10

    def test_reports_which_files_it_expects(self, build, tmp_path):
        with pytest.raises(CommandError, match="no files of the ACL Anthology") as refused:
            call_command("import_acl", str(tmp_path / "nowhere"))

        assert "xml/" in str(refused.value)
