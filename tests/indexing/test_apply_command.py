"""Changing a spec from the command line: with a server running, and without."""

from pathlib import Path

import pytest

from tests.faults.armed import ArmedService, armed
from tests.serving import Service

NOTES = {
    "tides.md": "# Tides\n\nSpring tides follow the new moon by two days.",
    "herons.txt": "The heron waits in the shallows for fish.",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "specs").mkdir()
    spec = tmp_path / "specs" / "notes.yaml"
    spec.write_text("title: Notes\n")
    return spec


def run(service: Service, *arguments: str) -> str:
    ended = service.manage(*arguments)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


CHANGED = "title: Notes\nsparse: {language: none}\n"


class TestAChangedSpec:
    def test_is_built_without_a_running_server(self, tmp_path, notes, spec):
        (tmp_path / "data").mkdir()
        service = ArmedService(tmp_path / "data", STRATA_SPECS_DIR=str(spec.parent))
        run(service, "add", str(notes), "--index", "notes", "--wait")
        spec.write_text(CHANGED)

        planned = run(service, "plan")
        applied = run(service, "apply", "notes", "--promote")
        run(service, "rollback", "notes")
        forward = run(service, "promote", "notes")
        returned = run(service, "rollback", "notes")
        pruned = run(service, "prune", "notes")
        refused = service.manage("rollback", "notes")

        assert "sparse.language: english -> none" in planned
        assert planned.splitlines()[2].split() == ["chunk", "2", "0", "0", "0", "0", "0", "0"]
        assert "notes #2 is live: 2 vectors copied, 0 made." in applied
        assert "notes #2 is live." in forward
        assert "notes #1 is live again." in returned
        assert "notes #2 is given up." in pruned
        assert "Builds removed: 1" in pruned
        assert refused.returncode == 1
        assert "The index notes has no standby build to roll back to." in refused.stderr

    def test_is_built_beside_a_running_server(self, tmp_path, spec):
        (tmp_path / "data").mkdir()
        with armed(tmp_path / "data", STRATA_SPECS_DIR=str(spec.parent)) as service:
            service.add("notes", text=NOTES["herons.txt"])
            spec.write_text(CHANGED)

            applied = run(service, "apply", "notes")
            promoted = run(service, "promote", "notes")
            listed = run(service, "builds", "notes")

        assert "notes #2 is complete: 1 vectors copied, 0 made." in applied
        assert "notes #2 is live" in promoted
        assert [line.split()[:3] for line in listed.splitlines()[1:]] == [
            ["notes", "#1", "standby"],
            ["notes", "#2", "live"],
        ]
