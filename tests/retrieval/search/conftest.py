from collections.abc import Callable, Iterator

import pytest

from indexing.stores import get_store


@pytest.fixture
def rewrite_payload() -> Iterator[Callable[..., None]]:
    """Changes the point's payload so that it differs from its row, like a defective writer, until
    the test ends."""
    store, before = get_store(), {}

    def rewrite(build, node, **changes):
        collection = build.collection(node.kind)
        payload = store.retrieve(collection, [node.point_id])[node.point_id].payload
        before[collection, node.point_id] = payload
        store.replace_payloads(collection, {node.point_id: payload | changes})

    yield rewrite
    for (collection, point_id), payload in before.items():
        store.replace_payloads(collection, {point_id: payload})
