"""Requests of guests, and the documents that they find."""

TIDE = "The tide turns at noon. Boats leave the harbour before dawn."
BRIDGE = "The bridge is painted every spring."
FIELDS = {"year": {"type": "integer"}, "topics": {"type": "keyword", "many": True}}


def search(client, query="Boats leave before dawn", index="minutes", **given):
    return client.post(
        f"/v1/vector_stores/{index}/search", {"query": query, **given}, format="json"
    )


def retrieve(client, **given):
    body = {
        "knowledge_id": "minutes",
        "query": "Boats leave before dawn",
        "retrieval_setting": {"top_k": 5, "score_threshold": 0.0},
        **given,
    }
    return client.post("/v1/retrieval", body, format="json")


def chat(client, content="When do boats leave the harbour?", **given):
    messages = [{"role": "user", "content": content}]
    body = {"model": "minutes", "messages": messages, **given}
    return client.post("/v1/chat/completions", body, format="json")
