import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from indexing.models import Node
from indexing.services.documents import changing_nodes
from tests.clients import client_with_key
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


def test_a_list_asks_no_query_for_each_failed_document(failed, django_assert_num_queries):
    client = client_with_key()
    url = "/api/v1/indexes/plain/artifacts/"
    client.get(url)  # the key's last use is stored
    with CaptureQueriesContext(connection) as one:
        [listed] = client.get(url, {"status": "failed"}).json()["results"]
    artifacts = [give(text) for text in PARAGRAPHS[2:]]
    sync(failed, *artifacts)
    with changing_nodes(failed.pk, {artifact.pk for artifact in artifacts}):
        Node.objects.update(state="failed", last_error=ERROR)
    with django_assert_num_queries(len(one)):
        many = client.get(url, {"status": "failed"}).json()["results"]

    assert len(many) == 3
    assert {each["error"]["detail"] for each in [listed, *many]} == {ERROR}


@pytest.mark.parametrize("command", ["doctor", "status", "verify"])
def test_commands_report_failed_nodes(failed, command, capsys):
    exits = {"doctor": 1, "verify": 1, "status": 0}
    code = 0
    try:
        call_command(command)
    except SystemExit as end:
        code = end.code
    output = "".join(capsys.readouterr())

    assert "strata verify --repair tries them again" in output
    assert code == exits[command]
    if command != "verify":
        assert f"plain #1 has failed documents: 1. One error: {ERROR}" in output
