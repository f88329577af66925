from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

import evidence
import retrieval
from access.grants import EVERYONE, EVERYTHING, Grant
from core.exceptions import InvalidInput
from indexing.stores import CollectionSchema, Match, Point, Query
from retrieval.retrievers.vector_store import open_vector_store
from retrieval.visible_points import VisiblePoints

STAFF = VisiblePoints(Grant(groups=frozenset({"staff"})))
NOBODY = VisiblePoints(Grant(groups=frozenset()))
ALL = VisiblePoints(EVERYTHING)
VECTOR = np.ones(4, dtype=np.float32)
# The second refuses grants that do not see all documents.
READERS = {"visible_points.py", "vector_store.py"}


@pytest.fixture
def collection(store):
    store.ensure_collection("notes", CollectionSchema(4, {"groups": "keyword", "name": "keyword"}))
    payloads = [
        {"groups": groups} for groups in ([EVERYONE], ["staff"], ["board"], ["board", "staff"])
    ]
    points = [
        Point(UUID(int=number), VECTOR, None, {"name": f"n{number}", **payload})
        for number, payload in enumerate(payloads)
    ]
    store.upsert("notes", points)
    return "notes"


@pytest.mark.parametrize(
    ("points", "expected"), [(STAFF, {0, 1, 3}), (NOBODY, {0}), (ALL, {0, 1, 2, 3})]
)
class TestVisiblePoints:
    def test_are_found(self, collection, points, expected):
        found = points.search(collection, Query(dense=VECTOR))
        assert {point.id.int for point in found} == expected

    def test_are_found_with_a_filter(self, collection, points, expected):
        query = Query(dense=VECTOR, filter=Match("name", ["n1", "n2"]))
        [found] = points.search_many([(collection, query)])
        assert {point.id.int for point in found} == expected & {1, 2}

    def test_are_counted(self, collection, points, expected):
        assert points.count(collection) == len(expected)
        assert points.count(collection, Match("name", ["n2"])) == len(expected & {2})

    def test_are_the_source_of_facet_values(self, collection, points, expected):
        assert set(points.facet(collection, "name", limit=9)) == {f"n{n}" for n in expected}

    def test_are_retrieved_by_id(self, collection, points, expected):
        ids = [UUID(int=number) for number in range(5)]
        assert {id.int for id in points.retrieve(collection, ids)} == expected


def test_no_other_module_uses_the_store():
    modules = [
        path for app in (retrieval, evidence) for path in Path(app.__path__[0]).rglob("*.py")
    ]
    asking = {path.name for path in modules if "get_store" in path.read_text(encoding="utf-8")}

    assert asking == READERS


def test_llamaindex_gets_no_store_for_a_grant_with_groups():
    with pytest.raises(InvalidInput):
        open_vector_store("plain", grant=STAFF.grant)
