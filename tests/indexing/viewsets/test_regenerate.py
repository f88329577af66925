from uuid import uuid4

import pytest
from rest_framework.test import APIClient

from access.models import ApiKey
from access.usage_limits import one_at_a_time
from indexing import tasks
from indexing.models import IndexedDocument, Node
from indexing.viewsets import indexes
from tests.factories import give, sync

pytestmark = pytest.mark.django_db

REGENERATE = "/api/v1/regenerate/"


@pytest.fixture
def api(build) -> APIClient:
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue('tests')[1]}")
    return client


@pytest.fixture
def reconciled(monkeypatch):
    names: list[str] = []
    monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *given: names.extend(given))
    return names


class TestRegenerate:
    @pytest.mark.parametrize("slash", ["", "/"])
    def test_regenerates_the_requested_type(
        self, api, build, django_capture_on_commit_callbacks, embedder, slash
    ):
        artifact = give()
        sync(build, artifact)
        embedder.embedded.clear()

        with django_capture_on_commit_callbacks(execute=True):
            answer = api.post(
                f"{REGENERATE.removesuffix('/')}{slash}",
                {"type": "chunk", "index": "plain"},
                format="json",
            )

        assert answer.status_code == 202
        count = Node.objects.count()
        assert answer.json() == {"types": ["chunk"], "examined": 1, "due": 1, "nodes": count}
        assert embedder.embedded  # tasks run eagerly here
        assert set(IndexedDocument.objects.values_list("state", flat=True)) == {"ready"}
        assert set(Node.objects.values_list("state", flat=True)) == {"synced"}

    def test_lets_a_key_regenerate_once_at_a_time(self, api, settings, monkeypatch, reconciled):
        settings.STRATA_KEY_WAITING_JOBS = 2
        regenerate = indexes.regenerate
        answers = []

        def ask_again(*args, **given):
            monkeypatch.setattr(indexes, "regenerate", regenerate)
            answers.append(api.post(REGENERATE))
            return regenerate(*args, **given)

        monkeypatch.setattr(indexes, "regenerate", ask_again)
        first = api.post(REGENERATE)

        assert [first.status_code, answers[0].status_code] == [202, 429]
        assert answers[0].json() == {
            "code": "too_many_jobs",
            "detail": "A regeneration that this key started is still running.",
            "fix": "Wait until it ends, or use the command of strata.",
        }
        assert int(answers[0]["Retry-After"]) > 0
        with one_at_a_time("another", "regeneration"):
            assert api.post(REGENERATE).status_code == 202

    def test_passes_on_the_given_parameters(self, api, monkeypatch, reconciled):
        given, regenerate = {}, indexes.regenerate

        def take(types, **options):
            given.update(options, types=types)
            return regenerate(types, **options)

        monkeypatch.setattr(indexes, "regenerate", take)
        artifact = uuid4()
        body = {
            "type": "all", "index": "plain", "only_missing": True, "stale": True, "limit": 5,
            "offset": 2, "artifacts": [str(artifact)],
        }  # fmt: skip

        answer = api.post(REGENERATE, body, format="json")

        assert given == {
            "types": ["all"], "index": "plain", "category": "", "artifact_ids": [artifact],
            "is_for_missing": True, "is_for_stale": True, "limit": 5, "offset": 2,
        }  # fmt: skip
        every = [
            "chunk",
            "compound",
            "concept",
            "image",
            "question",
            "relationship",
            "summary",
            "vocabulary",
        ]
        assert answer.json() == {"types": every, "examined": 0, "due": 0, "nodes": 0}
        assert reconciled == [tasks.RECONCILE_INDEXES, tasks.RECONCILE_TEXTS]

    def test_regenerates_everything_by_default(self, api, build, reconciled):
        sync(build, give())

        answer = api.post(REGENERATE)

        assert (answer.status_code, answer.json()["due"]) == (202, 1)

    @pytest.mark.parametrize(
        ("given", "status", "code", "field", "allowed"),
        [
            ({"type": "idea"}, 400, "invalid", "type", "question"),
            ({"type": "summary", "index": "plain"}, 400, "invalid", "type", "chunk"),
            ({"index": "nil"}, 404, "unknown_index", "index", "plain"),
            ({"category": "epistemic"}, 400, "invalid", "category", None),
            ({"missing": True}, 400, "invalid", "missing", "only_missing"),
            ({"limit": 0}, 400, "invalid", "limit", None),
            ({"offset": -1}, 400, "invalid", "offset", None),
            ({"artifacts": ["x"]}, 400, "invalid", "artifacts.0", None),
            ({"artifacts": [0]}, 400, "invalid", "artifacts.0", None),
        ],
    )
    def test_names_the_wrong_field_and_what_is_allowed(
        self, api, given, status, code, field, allowed
    ):
        answer = api.post(REGENERATE, given, format="json")

        assert answer.status_code == status
        assert (answer.json()["code"], answer.json()["field"]) == (code, field)
        assert allowed is None or allowed in answer.json()["allowed"]
        assert not IndexedDocument.objects.filter(state="due").exists()

    def test_requires_a_key(self, build):
        assert APIClient().post(REGENERATE).status_code == 401
