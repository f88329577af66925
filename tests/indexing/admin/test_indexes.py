import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from indexing.admin import ERROR_CHARS
from tests.factories import add_nodes, give, sync

pytestmark = pytest.mark.django_db


class TestLists:
    @pytest.mark.parametrize("model", ["index", "indexbuild", "node"])
    def test_load_no_long_texts(self, build, admin_client, model):
        sync(build, give())

        with CaptureQueriesContext(connection) as queries:
            admin_client.get(reverse(f"admin:indexing_{model}_changelist"))

        sql = "\n".join(query["sql"] for query in queries)
        assert f'"indexing_{model}"' in sql
        for name in ("text", "context", "details", "recipe"):
            assert f'."{name}"' not in sql

    def test_take_as_many_queries_for_many_nodes_as_for_few(self, build, admin_client):
        artifact = give()
        add_nodes(build, artifact, 2)
        url = reverse("admin:indexing_node_changelist")
        with CaptureQueriesContext(connection) as few:
            admin_client.get(url)
        add_nodes(build, artifact, 500)

        with CaptureQueriesContext(connection) as many:
            admin_client.get(url)

        assert len(many) == len(few)

    def test_show_nodes_whose_artifact_is_gone(self, build, admin_client):
        artifact = give()
        [node] = add_nodes(build, artifact, 1)
        artifact.delete()

        listed = admin_client.get(reverse("admin:indexing_node_changelist"))
        opened = admin_client.get(reverse("admin:indexing_node_change", args=[node.pk]))

        assert str(node.point_id) in listed.content.decode()
        assert opened.status_code == 200

    def test_shorten_errors(self, build, admin_client):
        add_nodes(build, give(), 1, state="failed", last_error="Broken. " * 1_000)

        page = admin_client.get(reverse("admin:indexing_node_changelist")).content.decode()

        assert page.count("Broken.") == ERROR_CHARS // len("Broken. ")

    def test_find_nodes_by_id_state_and_kind(self, build, admin_client):
        artifact = give(title="Heron")
        node, other = add_nodes(build, artifact, 2)
        [failed] = add_nodes(build, artifact, 1, kind="chunk", state="failed")
        url = reverse("admin:indexing_node_changelist")

        def found(**given) -> set[int]:
            return {row.pk for row in admin_client.get(url, given).context["cl"].result_list}

        assert found(q=str(node.point_id)) == {node.pk}
        assert found(q=str(artifact.pk)) == {node.pk, other.pk, failed.pk}
        assert found(q="heron") == {node.pk, other.pk, failed.pk}
        assert found(state__exact="failed") == {failed.pk}
        assert found(kind="question") == {node.pk, other.pk}
        assert found(index="library") == set()
