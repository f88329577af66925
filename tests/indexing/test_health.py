import pytest
from django.core.management import call_command

from indexing.models import Node
from indexing.services.documents import changing_nodes
from tests.factories import PARAGRAPHS, give, sync

ERROR = "ValueError: a defect"


@pytest.fixture
def failed(build):
    """A build in which one node of two was given up."""
    artifacts = [give(text) for text in PARAGRAPHS[:2]]
    sync(build, *artifacts)
    with changing_nodes(build.pk, {artifacts[0].pk}):
        Node.objects.filter(artifact=artifacts[0]).update(state="failed", last_error=ERROR)
    return build


@pytest.mark.parametrize("command", ["doctor", "status", "verify"])
def test_commands_report_failed_nodes(failed, command, capsys):
    exits = {"doctor": 1, "verify": 1, "status": 0}
    code = 0
    try:
        call_command(command)
    except SystemExit as end:
        code = end.code
    output = "".join(capsys.readouterr())

    assert "manage.py verify --repair tries them again" in output
    assert code == exits[command]
    if command != "verify":
        assert f"plain #1 has failed documents: 1. One error: {ERROR}" in output
