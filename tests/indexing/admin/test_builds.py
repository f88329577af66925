"""The admin of builds and its actions."""

import pytest
from django.urls import reverse

from documents.models import Artifact
from indexing.lifecycle import apply_spec, pause_build
from indexing.models import IndexBuild, Node
from tests.factories import give, sync

pytestmark = pytest.mark.django_db

SHORTER = "chunks: {strategies: [{name: sentence, max_chars: 60}]}\n"
BUILDS = "indexing_indexbuild"
REFUSED = {
    "source": "golden_queries",
    "is_optimistic": False,
    "kind": "chunk",
    "live_build": 1,
    "query_count": 12,
    "measures": {
        "nDCG@10": {
            "live": 0.8, "new": 0.6, "difference": -0.2, "low": -0.3, "high": -0.1, "is_loss": True,
        },
    },
    "is_loss": True,
    "verdict": "refused: nDCG@10 falls by 0.200, more than chance explains.",
}  # fmt: skip


@pytest.fixture
def beside(specs, build) -> IndexBuild:
    """An unfinished build beside the live one, which holds a document."""
    sync(build, give())
    specs(SHORTER)
    return apply_spec("plain")


def listed(client) -> str:
    return client.get(reverse(f"admin:{BUILDS}_changelist")).content.decode()


class TestTheListOfBuilds:
    def test_shows_the_progress_of_each_build(self, beside, admin_client):
        sync(beside, *Artifact.objects.all())
        total = Node.objects.filter(build=beside).count()
        first, second, third = Node.objects.filter(build=beside)[:3]
        for node, state in ((first, "pending"), (second, "failed"), (third, "deleting")):
            Node.objects.filter(pk=node.pk).update(state=state)

        assert f"{total - 3} of {total - 1}, 1 failed" in listed(admin_client)

    def test_shows_pause_reasons_and_comparisons(self, beside, admin_client):
        pause_build(beside, "Its calls are used up.")
        IndexBuild.objects.filter(pk=beside.pk).update(comparison=REFUSED)

        page = listed(admin_client)

        assert "Its calls are used up." in page
        assert "refused (nDCG@10 -0.200)" in page

    def test_takes_as_many_queries_for_many_builds_as_for_few(
        self, beside, admin_client, django_assert_max_num_queries
    ):
        for number in range(10, 30):
            IndexBuild.objects.create(
                index=beside.index, number=number, recipe=beside.recipe, fingerprint=str(number)
            )

        with django_assert_max_num_queries(7):
            listed(admin_client)


class TestThePageOfABuild:
    def test_shows_missing_documents_and_the_comparison(self, beside, admin_client):
        IndexBuild.objects.filter(pk=beside.pk).update(comparison=REFUSED)
        url = reverse(f"admin:{BUILDS}_change", args=[beside.pk])

        page = admin_client.get(url).content.decode()

        assert "Missing documents" in page
        assert "-0.3000 to -0.1000 (a loss)" in page
        assert "Refused: nDCG@10 falls by 0.200, more than chance explains." in page
