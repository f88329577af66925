"""Every request with which a tenant can read: random ones, and each kind once."""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from mcp_server.tools import TOOLS
from retrieval.all_searches import SEARCHES
from tests.asking_mcp import STRUCTURED, post_mcp
from tests.factories import PARAGRAPHS
from tests.tenants.conftest import SMILES, TENANTS, Tenants, canary

WORDS = sorted({word.strip(".") for text in PARAGRAPHS for word in text.split()})
INDEXES = ("full", "gallery", "pharmacy", "knowledge", "evidence")
# Answers about an id that does not exist, and about every id if the question is refused.
UNEXPLAINED = ("has no node and no artifact of this id", "The question was refused")
UNKNOWN_ID = "00000000-0000-4000-8000-000000000000"

# Search -> its parameters besides the query.
SEARCH_PARAMETERS: dict[str, dict[str, Any]] = {
    "pages": {"index": "full"},
    "summaries": {"index": "full"},
    "questions": {"index": "full"},
    "hierarchical": {"index": "full"},
    "recursive": {"index": "full"},
    "structures": {"index": "pharmacy"},
    "images": {"index": "gallery"},
    "concepts": {"index": "knowledge", "min_similarity": -1},
    "relationships": {"index": "knowledge", "min_similarity": -1},
    "sources": {"index": "knowledge", "min_similarity": -1},
    "route": {"index": "knowledge", "min_similarity": -1},
    "blend": {"index": "knowledge", "min_similarity": -1},
    "subgraph": {"index": "knowledge", "min_similarity": -1},
}
assert SEARCH_PARAMETERS.keys() == SEARCHES.keys(), "A search without a line here is not tested."

# Paths of single objects, with the name of the id in them -> further parameters.
LOOK_UPS: dict[str, dict[str, Any]] = {
    "artifacts/{artifact_id}/": {},
    "artifacts/{artifact_id}/changes/": {},
    "artifacts/{artifact_id}/pages/": {},
    "artifacts/{artifact_id}/pages/0/": {},
    "artifacts/{artifact_id}/pages/0/unseen": {},
    "artifacts/{artifact_id}/pages/0/picture": {},
    "artifacts/{artifact_id}/pages/0/boxes": {"start": 0, "end": 4},
    "artifacts/{artifact_id}/original": {},
    "artifacts/{artifact_id}/summary_candidate": {},
    "pages/{page_id}/summary_candidate": {},
    "pages/{page_id}/passages": {},
    "chunks/{chunk_id}/questions": {},
    "sources/{source_id}/": {"window": 2},
    "sources/{source_id}/similar": {"min_similarity": -1, "window": 2},
    "concepts/{concept_id}/": {},
    "concepts/{concept_id}/instances/": {},
    "concepts/{concept_id}/evidence": {"query": "heron"},
    "concepts/{concept_id}/context": {"window": 2},
    "concepts/{concept_id}/paths": {"like": "eats"},
    "relationship-types/{type_id}/": {},
    "relationships/{relationship_id}/": {},
    "edits/{edit_id}/": {},
}
LISTS: dict[str, dict[str, Any]] = {
    "indexes/": {},
    "indexes/full/": {},
    "indexes/knowledge/": {},
    **{f"indexes/{index}/artifacts/": {"limit": 100} for index in INDEXES},
    "indexes/knowledge/concepts/": {"limit": 100},
    "indexes/knowledge/relationship-types/": {"limit": 100},
    "indexes/knowledge/relationships/": {"limit": 100},
    "emergent": {"index": "knowledge", "limit": 100, "bridge_similarity": 0},
    "emergent/": {
        "index": "knowledge",
        "limit": 100,
        "min_similarity": -1,
        "bridge_similarity": 0,
    },
    "judgements/": {"limit": 100},
    "indexes/full/tools/": {},
    "indexes/full/facets": {"limit": 100},
    "indexes/full/duplicates/": {"limit": 100},
    "indexes/full/artifacts/": {"words": "notes", "ordering": "byte_count", "limit": 100},
    "indexes/full/edits/": {"limit": 100},
}

# MCP tool -> the name of the id it takes, and further arguments.
MCP_LOOK_UPS: dict[str, tuple[str, dict[str, Any]]] = {
    "get_source": ("source_id", {"window": 2}),
    "get_concept_context": ("concept_id", {"window": 2}),
    "find_paths": ("concept_id", {"like": "eats"}),
    "open_document": ("artifact_id", {}),
}
SHARED = "find_shared"  # takes several ids
MCP_RESOURCES = {
    "strata://documents/{}": "artifact_id",
    "strata://documents/{}/pages/0": "artifact_id",
    "strata://sources/{}": "source_id",
}
MCP_CALLS: dict[str, dict[str, Any]] = {
    "ask": {"index": "full", "query": PARAGRAPHS[0], "limit": 20},
    "list_indexes": {},
    "list_documents": {"index": "full", "limit": 100},
    "list_values": {"index": "full", "limit": 100},
    "embed": {"index": "full", "input": PARAGRAPHS[0]},
    "find_similar_evidence": {"index": "evidence", "query": PARAGRAPHS[0], "limit": 20},
    "search_concepts": {"index": "knowledge", "query": PARAGRAPHS[0], "min_similarity": -1},
    "full__search_knowledge_base": {"query": PARAGRAPHS[0], "limit": 20},
    "full__search_by_condition": {"condition": "sore back", "limit": 20},
}
MCP_WRITES = {"add_document", "add_evidence", "delete_document"}
assert TOOLS.keys() <= {"search", SHARED, *MCP_LOOK_UPS, *MCP_CALLS, *MCP_WRITES}, (
    "A tool without a line here is not tested."
)


@dataclass(frozen=True)
class Request:
    path: str
    given: dict[str, Any]
    is_get: bool = True
    sought_tenant: str | None = None  # the owner of the object that it requests by id


def send(client, request: Request):
    if request.path.startswith("mcp "):
        return post_mcp(client, request.path.removeprefix("mcp "), **request.given)
    is_of_guests = request.path.startswith("v1/")
    path = f"/{request.path}" if is_of_guests else f"/api/v1/{request.path}"
    given = request.given
    headers = {"Accept": "application/json"}
    if request.is_get:
        query = {k: json.dumps(v) if isinstance(v, dict) else v for k, v in given.items()}
        return client.get(path, query, headers=headers)
    return client.post(path, given, format="json", headers=headers)


def read_body(response) -> str:
    body = b"".join(response) if response.streaming else response.content
    return body.decode(errors="replace")


def find_leaks(tenants: Tenants, name: str, request: Request, response) -> list[str]:
    """What the answer reveals of other tenants: words, ids that were not requested, and a status
    other than that of missing objects."""
    body = read_body(response)
    assert response.status_code < 500, f"{request}: {body}"
    leaks = []
    for tenant, ids in tenants.ids.items():
        if tenant in ("", name):
            continue
        if canary(tenant) in body:
            leaks.append(f"{request}: a word of {tenant}: {body[:400]}")
        for id in {each for values in ids.values() for each in values}:
            if id in body and id not in str(request):
                leaks.append(f"{request}: the id {id} of {tenant}")
    why_not = request.given.get("why_not")
    others = {
        tenant
        for tenant, ids in tenants.ids.items()
        if any(why_not in values for values in ids.values())
    }
    is_hidden = bool(others) and others <= set(TENANTS) - {name}
    if is_hidden and not any(text in body for text in UNEXPLAINED):
        leaks.append(f"{request}: explains what is hidden: {body[-400:]}")
    if request.sought_tenant not in (None, "", name) and not _is_unknown(request, response):
        leaks.append(f"{request}: {response.status_code} for an object of {request.sought_tenant}")
    return leaks


def _is_unknown(request: Request, response) -> bool:
    """Whether the answer is that for a missing object."""
    if not request.path.startswith("mcp "):
        return response.status_code == 404
    answer = response.json()
    problem = answer["error"]["data"] if "error" in answer else answer["result"]
    problem = problem.get("structuredContent", problem)
    return str(problem.get("code", "")).startswith("unknown_")


def make_random_request(tenants: Tenants, source: random.Random) -> Request:
    kind = source.choice(
        ("search", "search", "search", "ask", "look-up", "list", "tool", "similar", "edit")
    )
    query = " ".join(source.sample(WORDS, source.randint(1, 6)))
    if kind == "search":
        return _make_search(source.choice(list(SEARCH_PARAMETERS)), query, source)
    if kind == "ask":
        given: dict[str, Any] = {"index": source.choice(("full", "knowledge")), "query": query}
        given["query"] += source.choice(("", " by Ada", " in N-red1", " in N-blue2", " N-3"))
        if given["index"] == "full":
            given["pipeline"] = source.choice(("plain", "papers"))
        if source.random() < 0.3:
            given["explain"] = True
        if source.random() < 0.5:
            given["why_not"] = source.choice(_list_ids(tenants, "node_id", "artifact_id"))
        return Request("ask", given, is_get=False)
    if kind == "look-up":
        path = source.choice(list(LOOK_UPS))
        return source.choice(list(_look_up(tenants, path)))
    if kind == "list":
        path = source.choice(list(LISTS))
        return Request(path, LISTS[path] | ({"offset": source.choice((0, 0, 3))}))
    if kind == "edit":
        given = {"match": {"words": source.choice(("notes", "canary", ""))}}
        given |= source.choice(({"set": {"x": 1}}, {"delete": True}, {"add_groups": ["red"]}))
        return Request("indexes/full/edits/preview", given, is_get=False)
    if kind == "tool":
        name = source.choice(("search_knowledge_base", "search_by_condition"))
        given = {"query": query} if name == "search_knowledge_base" else {"condition": "sore back"}
        return Request(f"indexes/full/tools/{name}/", given, is_get=False)
    return Request("indexes/evidence/evidence/similar", {"q": query, "limit": 20})


def _make_search(name: str, query: str, source: random.Random) -> Request:
    given = dict(SEARCH_PARAMETERS[name])
    if name == "structures":
        given["structure"] = source.choice(list(SMILES.values()))
        if source.random() < 0.5:
            given["query"] = query
    else:
        given["query"] = query
    if name != "structures" and source.random() < 0.2:
        given["limit"] = source.randint(1, 30)
    if name in {"pages", "summaries", "questions", "hierarchical"}:
        if source.random() < 0.7:
            given["mode"] = source.choice(("hybrid", "dense", "sparse"))
        for option in ("explain", "verify"):
            if source.random() < 0.3:
                given[option] = source.random() < 0.5
        if source.random() < 0.3:
            given[source.choice(("must", "must_not", "phrases"))] = " ".join(query.split()[:2])
        if source.random() < 0.2:
            given["query"] = f'"{query}" -{query.split()[0]} OR unknownword'
        if source.random() < 0.3:
            given["filter"] = {"conditions": "sore back"}
        if source.random() < 0.1:
            given["filter"] = {"groups": source.choice(("red", "blue"))}
        if source.random() < 0.2 and name != "hierarchical":
            given["offset"] = source.randint(0, 12)
    if name in {"sources", "route"}:
        given |= {"include_concepts": True, "window": 2}
        given["mode"] = source.choice(("hybrid", "dense", "sparse"))
    return Request(f"search/{name}", given, is_get=source.random() < 0.5)


def list_all_requests(tenants: Tenants) -> Iterator[Request]:
    """Each kind of request once, with parameters that return most."""
    text = PARAGRAPHS[0]
    for name, needed in SEARCH_PARAMETERS.items():
        is_in_modes = needed["index"] == "full" or name in {"sources", "route"}
        for mode in ("hybrid", "dense", "sparse") if is_in_modes else (None,):
            is_explained = mode == "hybrid" and needed["index"] == "full"
            for extra in ({}, {"explain": True}) if is_explained else ({},):
                given = {**needed, "query": text, "limit": 50, **extra}
                if mode:
                    given["mode"] = mode
                if name == "structures":
                    given["structure"] = SMILES["red"]
                if name in {"sources", "route"}:
                    given |= {"include_concepts": True, "window": 2}
                yield Request(f"search/{name}", given, is_get=False)
    for sign in ('"{}"', "+{}", "heron -{}"):  # words and phrases of every tenant
        for paragraph in PARAGRAPHS:
            words = sign.format(
                " ".join(paragraph.split()[:3] if '"' in sign else paragraph.split()[:1])
            )
            yield Request(
                "search/pages", {"index": "full", "query": words, "limit": 50}, is_get=False
            )
    for pipeline in ("plain", "papers"):
        for asked in (text, "What of Ada?", "What is in N-red1?", "What is in N-blue1?"):
            given = {"index": "full", "query": asked, "pipeline": pipeline, "limit": 20}
            yield Request("ask", {**given, "explain": True}, is_get=False)
    for tenant in tenants.ids:
        id = tenants.ids[tenant]["node_id"][0]
        yield Request("ask", {"index": "full", "query": text, "why_not": id}, is_get=False)
    for path, given in LISTS.items():
        yield Request(path, given)
    for path in LOOK_UPS:
        yield from _look_up(tenants, path, most=1)
    for tenant, ids in _list_shared_ids(tenants):
        given = {"ids": ",".join(ids), "limit": 100}
        yield Request("concepts/shared", given, sought_tenant=tenant)
    query = {"query": text, "limit": 20}
    yield Request("indexes/full/tools/search_knowledge_base/", query, is_get=False)
    yield Request("indexes/full/tools/search_by_condition/", {"condition": "sore back"}, False)
    by_vector = {"index": "full", "vector": [1.0] * 384, "limit": 20}
    yield Request("search/pages", by_vector, is_get=False)
    yield Request("indexes/evidence/evidence/similar", {"q": text, "limit": 20})
    yield from _ask_as_guests(text)
    related = {"query": text, "limit": 20, "urls": ["https://0.public.example/"]}
    yield Request("indexes/evidence/evidence/related", related, is_get=False)


def _ask_as_guests(text: str) -> Iterator[Request]:
    """By the APIs of OpenAI and of Dify."""
    for path in ("models", "vector_stores", "vector_stores/full"):
        yield Request(f"v1/{path}", {})
    yield Request("v1/vector_stores/full/search", {"query": text, "max_num_results": 50}, False)
    retrieval = {"knowledge_id": "full", "query": text, "retrieval_setting": {"top_k": 50}}
    yield Request("v1/retrieval", retrieval, is_get=False)
    for model in ("full", "full:plain", "knowledge"):
        messages = [{"role": "user", "content": text}]
        yield Request("v1/chat/completions", {"model": model, "messages": messages}, is_get=False)


def list_mcp_requests(tenants: Tenants) -> Iterator[Request]:
    """Each tool with arguments that return most, answered as text and as structured content, and
    each resource."""
    for request in _list_mcp_requests(tenants):
        yield request
        if "arguments" in request.given:
            yield replace(request, given=request.given | {"_meta": {STRUCTURED: True}})


def _list_mcp_requests(tenants: Tenants) -> Iterator[Request]:
    for method in ("tools/list", "resources/list", "resources/templates/list"):
        yield Request(f"mcp {method}", {})
    for kind, needed in SEARCH_PARAMETERS.items():
        query = SMILES["red"] if kind == "structures" else PARAGRAPHS[0]
        yield _call_tool("search", {**needed, "kind": kind, "query": query, "limit": 30})
    for name, given in MCP_CALLS.items():
        yield _call_tool(name, given)
    for tenant, shared_ids in _list_shared_ids(tenants):
        yield _call_tool(SHARED, {"ids": shared_ids}, sought_tenant=tenant)
    for tenant, ids in tenants.ids.items():
        for name, (id_name, given) in MCP_LOOK_UPS.items():
            yield _call_tool(name, {id_name: ids[id_name][0], **given}, sought_tenant=tenant)
        for uri, id_name in MCP_RESOURCES.items():
            given = {"uri": uri.format(ids[id_name][0])}
            yield Request("mcp resources/read", given, sought_tenant=tenant)


def _call_tool(name: str, arguments: dict[str, Any], sought_tenant: str | None = None) -> Request:
    given = {"name": name, "arguments": arguments}
    return Request("mcp tools/call", given, sought_tenant=sought_tenant)


def _look_up(tenants: Tenants, path: str, most: int | None = None) -> Iterator[Request]:
    name = path[path.index("{") + 1 : path.index("}")]
    for tenant, ids in tenants.ids.items():
        for id in ids.get(name, [])[:most]:
            yield Request(path.format(**{name: id}), LOOK_UPS[path], sought_tenant=tenant)


def _list_shared_ids(tenants: Tenants) -> Iterator[tuple[str, list[str]]]:
    """A concept of each tenant, and one that everyone sees."""
    public = tenants.ids[""]["concept_id"][0]
    for tenant in filter(None, tenants.ids):
        yield tenant, [public, tenants.ids[tenant]["concept_id"][0]]


def _list_ids(tenants: Tenants, *names: str) -> list[str]:
    return [id for ids in tenants.ids.values() for name in names for id in ids.get(name, [])]
