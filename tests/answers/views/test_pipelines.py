import json
import re

import pytest
from rest_framework.test import APIClient

from access.models import ApiKey


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    """The empty folder of the users' pipelines."""
    settings.STRATA_PIPELINES_DIR = tmp_path
    return tmp_path


@pytest.fixture
def broken(folder):
    (folder / "mine.yaml").write_text("components: [")


class TestPipelineListView:
    @pytest.fixture
    def client(self, db):
        _, secret = ApiKey.issue("tests")
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        return client

    def test_lists_components_in_order_with_connections(self, client):
        content = client.get("/api/v1/pipelines/").json()

        assert content["count"] == len(content["results"]) == 3
        _, papers, plain = content["results"]
        assert (papers["name"], plain["name"]) == ("papers", "plain")
        names = [component["name"] for component in plain["components"]]
        assert names == ["gate", "retriever", "fusion", "context", "answer"]
        assert plain["components"][1]["type"] == "MultiQueryRetriever"
        assert plain["components"][1]["init_parameters"] == {"multiplier": 1}
        assert {"sender": "fusion.passages", "receiver": "context.passages"} in plain["connections"]

    def test_shows_the_error_of_an_invalid_file(self, client, broken):
        content = client.get("/api/v1/pipelines/").json()

        assert [each["name"] for each in content["results"]] == ["knowledge", "papers", "plain"]
        [mistake] = content["mistakes"]
        assert mistake.startswith("mine.yaml is not YAML")

    def test_requires_a_key(self, db):
        assert APIClient().get("/api/v1/pipelines/").status_code == 401


class TestPipelinesPage:
    def test_contains_the_data_that_its_script_draws(self, admin_client):
        page = admin_client.get("/pipelines/").content.decode()

        data = re.search(r'<script id="pipelines"[^>]*>(.*?)</script>', page, re.DOTALL)
        assert [pipeline["name"] for pipeline in json.loads(data[1])] == [
            "knowledge",
            "papers",
            "plain",
        ]
        assert page.count('class="drawing"') == 3

    def test_shows_the_error_of_an_invalid_file(self, admin_client, broken):
        assert "mine.yaml is not YAML" in admin_client.get("/pipelines/").content.decode()

    def test_requires_a_sign_in(self, client, db):
        answer = client.get("/pipelines/")

        assert (answer.status_code, answer["Location"]) == (
            302, "/admin/login/?next=/pipelines/"
        )  # fmt: skip

    def test_is_linked_from_the_admin(self, admin_client):
        assert 'href="/pipelines/"' in admin_client.get("/admin/").content.decode()
