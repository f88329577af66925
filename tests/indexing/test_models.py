import pytest
from django.db import connection

from indexing.models import Node

pytestmark = pytest.mark.django_db


class TestNodeQuerySet:
    @pytest.mark.skipif(connection.vendor != "sqlite", reason="small tables are read whole there")
    @pytest.mark.parametrize("phrase", ["unsynced", "claimable", "deletable"])
    def test_reads_no_synced_row_to_find_what_is_left_to_do(self, build, phrase):
        plan = getattr(Node.objects, phrase)(build).explain()

        assert "node_unsynced" in plan
