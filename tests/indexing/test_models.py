import pytest
from django.db import connection

from indexing.models import Node

pytestmark = pytest.mark.django_db


class TestNodeQuerySet:
    @pytest.mark.skipif(connection.vendor != "sqlite", reason="small tables are read whole there")
    @pytest.mark.parametrize("phrase", ["unsynced", "claimable", "deletable"])
    def test_finds_pending_nodes_without_reading_synced_rows(self, build, phrase):
        plan = getattr(Node.objects, phrase)(build).explain()

        assert "node_unsynced" in plan
