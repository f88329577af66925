"""The list of documents finds them by their names, and sorts them."""

import pytest

from tests.clients import client_with_key
from tests.factories import give

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def documents(build) -> None:
    give("Short.", title="The quay", external_id="orrin/pages_2000.pdf")
    give("A text that is longer.", title="A deed", external_id="skerry/PAGES_19.pdf")


def list_titles(**parameters: str) -> list[str]:
    answer = client_with_key().get("/api/v1/indexes/plain/artifacts/", parameters).json()
    return [each["title"] for each in answer["results"]]


@pytest.mark.parametrize("words", ["pages_2000", "2000.pdf", "QUAY", "orrin quay", "orrin/"])
def test_finds_words_of_titles_and_file_names(words):
    assert list_titles(words=words) == ["The quay"]


def test_finds_the_beginning_of_an_id():
    found = client_with_key().get("/api/v1/indexes/plain/artifacts/", {"words": "deed"}).json()

    assert list_titles(words=found["results"][0]["id"][:13]) == ["A deed"]


def test_finds_nothing_where_a_word_is_missing():
    assert list_titles(words="orrin deed") == []


def test_finds_a_folder():
    assert list_titles(folder="skerry/") == ["A deed"]


def test_sorts_by_size():
    assert list_titles(ordering="-byte_count") == ["A deed", "The quay"]
