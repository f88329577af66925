"""Which condition of a filter left nothing."""

from typing import Any

import pytest

from answers.asking import AskRequest
from answers.pipelines.running import find_hits
from tests.factories import give, sync
from tests.written import make_build

FIELDS = {
    "authors": {"type": "keyword", "many": True, "said_as": "person"},
    "awards": {"type": "keyword", "many": True, "said_as": "mark"},
    "year": {"type": "integer", "said_as": "year"},
}


@pytest.fixture
def papers(db, store, embedder):
    build = make_build("papers", metadata=FIELDS, search={"pipeline": "papers"})
    sync(
        build,
        give(
            "Words have senses.", index="papers", title="Senses",
            metadata={"authors": ["Hinrich Schütze"], "year": 2014, "awards": []},
        ),
        give(
            "We parse trees.", index="papers", title="Parsing",
            metadata={"authors": ["Ada Lovelace"], "year": 2019, "awards": ["Best Paper"]},
        ),
    )  # fmt: skip


def notes(query: str, **given: Any) -> list[str]:
    found = find_hits(AskRequest("papers", query, **given))
    assert found.passages == []
    return [note for note in found.notes if "matches the filter" in note]


class TestNotesOfAnEmptyResult:
    def test_name_the_condition_that_leaves_nothing_together_with_others(self, papers):
        [note] = notes("papers with an award by Schutze")

        assert '{"authors": "Hinrich Schütze"}' in note
        assert '{"awards": "Best Paper"}' in note
        assert "together with" in note

    def test_name_the_condition_that_matches_nothing(self, papers):
        [note] = notes("senses of words", filter={"authors": "Ada Lovelace", "year": {"gte": 2030}})

        assert note == ('No passage of this index matches the filter {"year": {"gte": 2030}}.')

    def test_are_absent_if_a_passage_is_found(self, papers):
        found = find_hits(AskRequest("papers", "papers by Schutze"))

        assert len(found.passages) == 1
        assert not [note for note in found.notes if "matches the filter" in note]

    def test_are_written_for_the_plain_pipeline_too(self, papers):
        [note] = notes("senses", filter={"year": 1900}, pipeline="plain")

        assert "1900" in note
