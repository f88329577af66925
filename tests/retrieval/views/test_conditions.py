"""``must``, ``must_not`` and ``phrases`` over HTTP, and the words of a passage in a filter."""

import pytest

from tests.factories import give, sync


@pytest.fixture
def find(build, client):
    """Searches two texts; returns which of them are found, or the error."""
    lamp, bell = give("The lamp on the north quay."), give("The bell, north of the quay.")
    sync(build, lamp, bell)
    names = {str(lamp.pk): "lamp", str(bell.pk): "bell"}

    def search(**given):
        body = {"index": "plain", "query": "quay", **given}
        answer = client.post("/api/v1/search/pages", body, format="json").json()
        hits = answer.get("hits")
        return answer if hits is None else {names[hit["artifact"]["id"]] for hit in hits}

    return search


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, {"lamp", "bell"}),
        ({"must": "bell"}, {"bell"}),
        ({"must": ["north", "LAMP"]}, {"lamp"}),
        ({"phrases": ["north quay"]}, {"lamp"}),
        ({"must_not": ["north quay"]}, {"bell"}),
        ({"filter": {"text": "lamp"}}, {"lamp"}),
        ({"filter": {"not": {"text": "lamp"}}}, {"bell"}),
        ({"filter": {"not": {"text": ["lamp", "bell"]}}}, set()),
        ({"filter": {"all_of": [{"kind": "chunk"}, {"not": {"text": "bell"}}]}}, {"lamp"}),
        ({"filter": {"all_of": [{"text": "north"}], "text": "bell"}}, {"bell"}),
    ],
)
def test_hits_have_and_lack_what_a_request_says(find, given, found):
    assert find(**given) == found


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"must": 3}, "must"),
        ({"must_not": ["?"]}, "must_not"),
        ({"phrases": [None]}, "phrases"),
        ({"filter": {"text": 3}}, "filter.text"),
        ({"filter": {"any_of": [{"text": "lamp"}]}}, "filter.any_of.0.text"),
    ],
)
def test_an_error_names_what_is_wrong(find, given, field):
    answer = find(**given)

    assert answer["field"].startswith(field)


def test_a_query_string_may_repeat_them(build, client):
    sync(build, give("The lamp on the quay."), give("The bell."), give("The buoy."))

    url = "/api/v1/search/pages?index=plain&q=quay&must_not=bell&must_not=lamp"

    [hit] = client.get(url).json()["hits"]
    assert hit["text"] == "The buoy."
