"""The example queries of the how-to give what it says, with the real model."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command

from concepts.extraction import extract_concepts
from concepts.models import Concept
from documents.models import Artifact
from documents.services import TextContent, add_artifact
from indexing.models import IndexBuild
from indexing.services import load_specs
from tests.concepts.conftest import INDEX
from tests.factories import sync
from tests.summaries.test_llm import running_endpoint, says

HOW_TO = Path(django_settings.BASE_DIR, "docs", "how-to", "concepts.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\| `search/(\w+)` \| ([^|]+) \| ([^|]+) \|$", HOW_TO, re.M)
FOUND_BY_THE_MODEL = {
    "concepts": [{"label": "Minnow", "description": "A small fish", "quotes": ["minnows"]}],
    "relationships": [],
}


def read_lines(marker: str) -> list[str]:
    """The JSON Lines of the code block whose first line begins so."""
    [block] = re.findall(rf"^```\n({re.escape(marker)}.*?)^```$", HOW_TO, re.M | re.S)
    return block.splitlines()


def fill(folder: Path) -> IndexBuild:
    load_specs()
    build = IndexBuild.objects.live().get(index=INDEX)
    for line in read_lines('{"external_id"'):
        given = json.loads(line)
        content = TextContent((given["text"],))
        add_artifact(INDEX, content, title=given["title"], external_id=given["external_id"])
    graph = folder / "graph.jsonl"
    graph.write_text("\n".join(read_lines('{"type": "concept"')), encoding="utf-8")
    call_command("import_concepts", str(graph), index=INDEX)
    sync(build, *Artifact.objects.all())
    return build


@pytest.fixture(params=["default set-up", "with a language model"])
def filled(request, db, store, tmp_path, settings) -> Iterator[None]:
    settings.STRATA_LLM_BASE_URL = settings.STRATA_LLM_MODEL = ""
    build = fill(tmp_path)
    if request.param == "default set-up":
        yield
        return
    with running_endpoint() as endpoint:
        settings.STRATA_LLM_BASE_URL, settings.STRATA_LLM_MODEL = endpoint.url, "a-model"
        endpoint.scripts = [says(json.dumps(FOUND_BY_THE_MODEL))]
        while extract_concepts(build):
            pass
        sync(build)
        assert Concept.objects.filter(label="Minnow").exists()
        yield


class TestExampleQueries:
    def test_give_what_the_how_to_says(self, filled, client):
        assert len(EXAMPLES) >= 8
        others = []
        for search, query, wanted in EXAMPLES:
            content = {"index": INDEX, "query": query}
            answer = client.post(f"/api/v1/search/{search}", content, format="json").json()
            if search == "route":
                [best] = [
                    hit
                    for kind in ("concepts", "sources", "relationship_types")
                    for hit in answer[kind]
                    if hit["id"] == answer["entry"]["id"]
                ]
            else:
                best = answer["hits"][0]
            names = {best.get("label"), best.get("name")}
            if best["artifact"]:
                names.add(best["artifact"]["external_id"])
            if wanted not in names:
                others.append((search, query, wanted, names))
        assert others == []
