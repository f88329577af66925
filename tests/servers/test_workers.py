"""The production form at small scale: web server, PostgreSQL, Redis, Qdrant, workers that fork."""

from collections.abc import Iterator

import pytest
import redis
from django.db import connection

from access.models import ApiKey
from indexing.models import Node
from indexing.services import load_specs
from tests.servers.conftest import REDIS_URL
from tests.servers.production import Production, kill_group

pytestmark = pytest.mark.django_db(transaction=True)

SYNCED_SECONDS = 120  # the model is loaded meanwhile
QUICK = {"STRATA_TEST_QUICK": "1"}


def notes(number: int, sentences: int = 3) -> str:
    sentence = f"Buoy {number} reported a swell of {number % 9} metres and turned to the west. "
    return "\n\n".join(f"Hour {hour}. {sentence * 3}" for hour in range(sentences))


@pytest.fixture
def production(
    request, transactional_db, broker: redis.Redis, qdrant_url, tmp_path
) -> Iterator[Production]:
    """The production form with the test's settings; by default with the real model."""
    load_specs()
    database_url = "postgresql://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}"
    production = Production(
        tmp_path,
        database_url=database_url.format(**connection.settings_dict),
        redis_url=REDIS_URL,
        qdrant_url=qdrant_url,
        **getattr(request, "param", {}),
    )
    production.authorise(ApiKey.issue("the test")[1])
    yield production
    production.forget()


class TestWorkers:
    def test_make_uploads_searchable(self, production):
        with production.web(), production.worker("planning", "documents", "indexing"):
            uploaded = [production.upload(f"buoy-{n}.txt", notes(n)) for n in range(8)]
            production.wait_until_ready(uploaded, SYNCED_SECONDS)

            report = production.verify()
            sought = {"index": "plain", "q": "the swell that buoy 5 reported"}
            hits = production.api.get("search/pages", params=sought).json()["hits"]

        assert report["findings"] == {}
        assert report["artifact_count"] == len(uploaded)
        assert report["point_count"] == report["node_count"] >= len(uploaded)
        assert hits[0]["artifact"]["title"] == "buoy 5"

    @pytest.mark.parametrize("production", [QUICK], indirect=True, ids=["quick"])
    def test_write_summaries_if_started_as_in_the_guide(self, production):
        with (
            production.web(),
            production.worker("indexing"),
            production.worker("planning", "documents", "llm", "webhooks", "sources", children=3),
            production.beat(),
        ):
            uploaded = [
                production.upload(f"buoy-{n}.txt", notes(n), index="biomedical") for n in range(4)
            ]
            production.wait_until_ready(uploaded, SYNCED_SECONDS)

            report = production.verify("biomedical")
            sought = {"index": "biomedical", "q": "buoy 3", "type": "artifact_summary"}
            hits = production.api.get("search/summaries", params=sought).json()["hits"]

        assert report["findings"] == {}
        assert report["point_count"] == report["node_count"] >= 3 * len(uploaded)
        assert {hit["artifact_id"] for hit in hits} == set(uploaded)

    @pytest.mark.parametrize("production", [QUICK], indirect=True, ids=["quick"])
    def test_lose_nothing_if_messages_are_lost_and_a_worker_is_killed(self, production, broker):
        with production.web():
            uploaded = [production.upload(f"buoy-{n}.txt", notes(n, 300)) for n in range(12)]
            messages = list(broker.scan_iter(f"{production.key_prefix}*"))
            assert broker.delete(*messages) > 0
            with production.worker("planning", "documents"), production.beat():
                with production.worker("indexing") as worker:
                    production.wait_for(
                        Node.objects.filter(lease_token__isnull=False).exists, SYNCED_SECONDS
                    )
                    kill_group(worker)
                assert Node.objects.filter(state=Node.State.PENDING).exists()

                with production.worker("indexing"):
                    production.wait_until_ready(uploaded, SYNCED_SECONDS)

            report = production.verify()

        assert report["findings"] == {}
        assert report["artifact_count"] == len(uploaded)
        assert report["point_count"] == report["node_count"] > len(uploaded)
