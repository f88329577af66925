from uuid import uuid4

import pytest
from django.utils import timezone

from indexing.models import IndexBuild, Node
from indexing.services import reembed_nodes, retry_failed_nodes
from tests.factories import add_nodes, give, sync

pytestmark = pytest.mark.django_db


class TestReembedNodes:
    def test_embeds_the_chosen_nodes_again(self, build, embedder):
        chosen, other = give("One heron.", title="Bird"), give("Two granites.", title="Stone")
        sync(build, chosen, other)
        embedder.embedded.clear()

        assert reembed_nodes(Node.objects.filter(artifact=chosen)) == 1
        sync(build)

        assert len(embedder.embedded) == 1
        assert set(Node.objects.values_list("state", flat=True)) == {"synced"}

    def test_ignores_deleting_nodes_and_retired_builds(self, build):
        artifact = give()
        add_nodes(build, artifact, 1, state=Node.State.DELETING)
        retired = IndexBuild.objects.create(
            index=build.index, number=9, recipe=build.recipe, fingerprint="", state="retired"
        )
        add_nodes(retired, artifact, 1)

        assert reembed_nodes(Node.objects.all()) == 0
        assert not Node.objects.filter(state="pending").exists()

    def test_revokes_the_claim_of_a_worker(self, build):
        [node] = add_nodes(
            build, give(), 1, state="pending", lease_token=uuid4(), leased_until=timezone.now()
        )

        reembed_nodes(Node.objects.filter(pk=node.pk))

        node.refresh_from_db()
        assert node.lease_token is None

    def test_takes_as_many_queries_for_thousands_of_nodes_as_for_few(
        self, build, django_assert_max_num_queries
    ):
        add_nodes(build, give(), 3_000, state=Node.State.FAILED)

        with django_assert_max_num_queries(12) as queries:
            assert reembed_nodes(Node.objects.all()) == 3_000

        assert all(len(query["sql"]) < 5_000 for query in queries)  # no list of ids


def test_only_failed_nodes_are_retried_and_keep_their_vectors(build):
    artifact = give()
    [failed] = add_nodes(build, artifact, 1, state="failed", attempts=5, last_error="Broken.")
    add_nodes(build, artifact, 2)

    assert retry_failed_nodes(Node.objects.all()) == 1

    failed.refresh_from_db()
    assert (failed.state, failed.attempts, failed.last_error) == ("pending", 0, "")
    assert failed.synced_input_hash == "now"  # the store holds its vectors
