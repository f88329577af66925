import pytest
from django.contrib.auth import get_user_model
from django.urls import reverse

from evaluation.models import EvaluationRun
from evaluation.runs import claim_run, create_run, measure_run
from evaluation.services import save_judgement
from indexing.models import Node


@pytest.fixture
def admin(client, filled):
    user = get_user_model().objects.create_superuser("admin")
    client.force_login(user)
    return client


@pytest.fixture
def run(filled, judged):
    return create_run("plain", systems=["hybrid", "sparse"], judged=judged)


class TestEvaluationRunAdmin:
    def test_lists_runs_with_links_to_their_reports(self, admin, run):
        waiting = admin.get(reverse("admin:evaluation_evaluationrun_changelist")).content.decode()
        assert "hybrid, sparse" in waiting
        assert "0 of 4" in waiting
        assert "/report" not in waiting

        measure_run(claim_run(run.pk))

        done = admin.get(reverse("admin:evaluation_evaluationrun_changelist")).content.decode()
        assert "nDCG@10: hybrid 0." in done
        report = reverse("evaluation-report", args=[run.pk])
        assert f'href="{report}"' in done
        assert admin.get(report).status_code == 200

    def test_does_not_load_judged_queries_for_the_list(self, admin, run, django_assert_num_queries):
        address = reverse("admin:evaluation_evaluationrun_changelist")
        with django_assert_num_queries(5) as queries:
            admin.get(address)

        assert not [each for each in queries if '"qrels"' in each["sql"]]

    def test_shows_and_deletes_a_run(self, admin, run):
        shown = admin.get(reverse("admin:evaluation_evaluationrun_change", args=[run.pk]))
        assert shown.status_code == 200
        assert b"granite cools slowly" not in shown.content

        address = reverse("admin:evaluation_evaluationrun_delete", args=[run.pk])
        admin.post(address, {"post": "yes"})

        assert not EvaluationRun.objects.exists()


class TestJudgementAdmin:
    def test_finds_verdicts_by_their_hit(self, admin, filled):
        nodes = Node.objects.filter(kind="chunk")[:2]
        for number, node in enumerate(nodes):
            save_judgement(
                "plain", f"query {number}", is_good=True, judged_by="me", node_id=node.point_id
            )
        address = reverse("admin:evaluation_judgement_changelist")

        assert "query 1" in admin.get(address).content.decode()
        found = admin.get(address, {"q": str(nodes[0].point_id)}).content.decode()

        assert "query 0" in found
        assert "query 1" not in found
