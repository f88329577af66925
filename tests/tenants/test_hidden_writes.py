"""What others write does not change what a tenant reads, down to the last digit of a score.

In a file of its own, because it writes to the store.
"""

import json
from typing import Any

from access.grants import Grant
from concepts.quotes import add_quote
from concepts.services import create_concept, create_relationship_type, relate_concepts
from documents.models import Artifact
from documents.originals import save_incoming_file
from documents.reading import parse_artifact
from documents.services import add_artifact, remove_artifact
from evidence.services import EvidenceInput, add_evidence
from indexing.models import IndexBuild
from tests.factories import PARAGRAPHS, give, sync
from tests.pictures import draw
from tests.tenants.reads import (
    INDEXES,
    Request,
    list_all_requests,
    list_mcp_requests,
    read_body,
    send,
)
from tests.written import write_all

GROUPS = ["green"]
# Times, and numbers that count all writes of an index, as the documentation says.
CHANGING = {"took_ms", "revision"}
TIMES_OF_A_SEARCH = {"started_at", "found_at"}  # beside took_ms; a row has such times, too
OF_A_COMPLETION = {"id", "created"}  # each has its own


def read_all(tenants, name: str) -> dict[str, Any]:
    """The answers to a tenant's own requests."""
    client = tenants.client(name)
    return {
        str(request): normalise(request, send(client, request))
        for requests in (list_all_requests, list_mcp_requests)
        for request in requests(tenants)
    }


def normalise(request: Request, response: Any) -> Any:
    body = read_body(response)
    try:
        return drop_changing(json.loads(body))
    except ValueError:
        return body


def drop_changing(value: Any) -> Any:
    if isinstance(value, dict):
        changing = CHANGING | (TIMES_OF_A_SEARCH if "took_ms" in value else set())
        changing |= OF_A_COMPLETION if value.get("object") == "chat.completion" else set()
        return {key: drop_changing(each) for key, each in value.items() if key not in changing}
    if isinstance(value, list):
        return [drop_changing(each) for each in value]
    return value


def write_hidden() -> list[Artifact]:
    """Documents of every index that are as near to the queries as the visible ones."""
    builds = {build.index_id: build for build in IndexBuild.objects.live()}
    made: dict[str, list[Any]] = {name: [] for name in builds}
    for number in range(20):
        text = f"{PARAGRAPHS[number % len(PARAGRAPHS)]} Hidden note {number}."
        notes = give(
            text,
            index="full",
            external_id=f"N-hidden{number}",
            metadata={"conditions": ["sore back"], "people": ["Ada, Hidden"]},
            groups=GROUPS,
        )
        write_all(builds["full"], notes, fields={"conditions": ["sore back"]})
        made["full"].append(notes)
        passage = give(text, index="knowledge", groups=GROUPS)
        ends = [create_concept("knowledge", f"heron {name} {number}") for name in ("a", "b")]
        for end in ends:
            add_quote(end.pk, passage.sources.get().text[:9], artifact_id=passage.pk)
        kind = create_relationship_type("knowledge", f"EATS {number}")
        relate_concepts("knowledge", ends[0].pk, kind.pk, ends[1].pk)
        made["knowledge"] += [passage, *ends, kind]
        smiles = {"smiles": f"C{'C' * number}O"}
        made["pharmacy"].append(give(text, index="pharmacy", metadata=smiles, groups=GROUPS))
    file = save_incoming_file("hidden.png", [draw("yellow")])
    poppy, _ = add_artifact("gallery", file, title="Poppy", groups=GROUPS)
    parse_artifact(poppy.pk)
    made["gallery"] += [poppy, give(PARAGRAPHS[0], index="gallery", groups=GROUPS)]
    found = [
        EvidenceInput(f"https://{number}.hidden.example/", f"{text} Nobody else says {number * 7}.")
        for number, text in enumerate(PARAGRAPHS)
    ]
    decisions = add_evidence("evidence", found, grant=Grant(groups=frozenset(GROUPS)))
    ids = [
        each.artifact_id for each in decisions if each.artifact_id and each.verdict != "duplicate"
    ]
    made["evidence"] += Artifact.objects.filter(pk__in=ids)
    for name, rows in made.items():
        sync(builds[name], *(row for row in rows if isinstance(row, Artifact)))
    return [row for rows in made.values() for row in rows if isinstance(row, Artifact)]


def test_hidden_documents_change_no_answer_when_added_or_deleted(tenants):
    before = read_all(tenants, "red")

    hidden = write_hidden()
    with_hidden = read_all(tenants, "red")
    for artifact in hidden:
        remove_artifact(artifact.pk)
    for build in IndexBuild.objects.live():
        sync(build)
    after = read_all(tenants, "red")

    assert {artifact.index for artifact in hidden} == set(INDEXES)
    for changed in (with_hidden, after):
        assert [request for request in before if changed[request] != before[request]] == []
