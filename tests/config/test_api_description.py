import json

import pytest
import yaml
from drf_spectacular.generators import SchemaGenerator

from config import api_description


@pytest.fixture(autouse=True)
def fresh():
    api_description._render_document.cache_clear()


class TestSchemaView:
    @pytest.mark.django_db
    def test_generates_the_document_once_for_each_format(self, client, monkeypatch):
        made = []
        original = SchemaGenerator.get_schema
        monkeypatch.setattr(
            SchemaGenerator,
            "get_schema",
            lambda self, **given: made.append(given) or original(self, **given),
        )

        answers = [client.get("/api/schema/") for _ in range(3)]
        as_json = [client.get("/api/schema/?format=json") for _ in range(3)]

        assert len(made) == 2
        assert yaml.safe_load(answers[2].content) == json.loads(as_json[2].content)
        assert as_json[2]["Content-Type"] == "application/vnd.oai.openapi+json; charset=utf-8"
