"""The counts of values: which fields have them, what a filter leaves, and what a grant sees."""

import pytest

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput, UnknownIndex
from documents.models import Artifact
from documents.services import TextContent, remove_artifact, replace_content, update_artifact
from indexing.models import IndexedDocument
from retrieval.facets import count_field_values
from tests.factories import declare_synonyms, give, sync
from tests.written import make_build, question

pytestmark = pytest.mark.django_db

FIELDS = {
    "board": {"type": "keyword", "values": ["harbour", "works"]},
    "topics": {"type": "keyword", "many": True, "closed": False, "values": ["chains"]},
    "year": {"type": "integer"},
    "is_draft": {"type": "bool"},
    "weight": {"type": "float"},
    "note": {"type": "text"},
}
STAFF = Grant(groups=frozenset({"staff"}))


@pytest.fixture
def minutes(store, embedder):
    build = make_build("minutes", metadata=FIELDS)
    rows = [
        ({"board": "harbour", "year": 2023, "topics": ["buoys", "chains"]}, []),
        ({"board": "works", "year": 2023, "topics": ["chains"], "is_draft": True}, []),
        ({"board": "works", "year": 2024, "weight": 1.5, "note": "one"}, ["staff"]),
    ]
    given = [
        give("The chain was replaced.", index="minutes", title=str(number), metadata=metadata,
             groups=groups)
        for number, (metadata, groups) in enumerate(rows)
    ]  # fmt: skip
    sync(build, *given)
    return build, given


def count(filter=None, grant=EVERYTHING, limit=20):
    answer = count_field_values("minutes", filter, limit, grant)
    return {
        each["field"]: {value["value"]: value["count"] for value in each["values"]}
        for each in answer["facets"]
        if each["values"]
    }


def count_documents(filter=None, grant=EVERYTHING):
    facets = count_field_values("minutes", filter, 20, grant)["facets"]
    return {
        each["field"]: {value["value"]: value["documents"] for value in each["values"]}
        | {None: each["missing"]}
        for each in facets
    }


class TestCountFieldValues:
    def test_counts_keywords_whole_numbers_and_booleans(self, minutes):
        assert count() == {
            "board": {"works": 2, "harbour": 1},
            "topics": {"chains": 2, "buoys": 1},
            "year": {2023: 2, 2024: 1},
            "is_draft": {True: 1},
        }

    def test_counts_documents_and_those_without_a_value(self, minutes):
        build, given = minutes
        replace_content(given[0].pk, TextContent(("The chain was replaced.",) * 3))
        sync(build, *given)

        assert count()["board"] == {"harbour": 3, "works": 2}
        assert count_documents() == {
            "board": {"harbour": 1, "works": 2, None: 0},
            "topics": {"chains": 2, "buoys": 1, None: 1},
            "year": {2023: 2, 2024: 1, None: 0},
            "is_draft": {True: 1, None: 2},
            "weight": {None: 2},
            "note": {None: 2},
        }
        assert count_documents({"board": "works"})["topics"] == {"chains": 1, None: 1}
        assert count_documents({"board": "works"})["board"] == {"harbour": 1, "works": 2, None: 0}
        assert count_documents({"topics": None})["year"] == {2024: 1, None: 0}
        assert count_documents(grant=Grant(groups=frozenset()))["note"] == {None: 2}

    def test_counts_documents_by_what_was_found_in_their_passages(self, store, embedder):
        build = make_build("minutes", metadata=FIELDS, questions={}, chunks={"embed": False})
        given = [give("The chain was replaced.", index="minutes", title=title) for title in "ab"]
        question(build, given[0], count=3, fields={"topics": ["chains", "buoys"]})
        question(build, given[1], count=1)
        sync(build, *given)

        assert count()["topics"] == {"chains": 3, "buoys": 3}
        assert count_documents()["topics"] == {"chains": 1, "buoys": 1, None: 1}
        assert count_documents()["year"] == {None: 2}

    def test_takes_an_empty_text_for_no_value(self, minutes):
        build, given = minutes
        update_artifact(given[2].pk, metadata={"topics": [""]})
        sync(build, *given)

        assert count()["topics"] == {"chains": 2, "buoys": 1}
        assert count_documents()["topics"][None] == 1

    def test_shows_the_most_frequent_values(self, minutes):
        assert count(limit=1)["topics"] == {"chains": 2}

    def test_applies_the_conditions_of_the_other_fields(self, minutes):
        found = count({"board": "harbour"})

        assert found["board"] == {"works": 2, "harbour": 1}
        assert found["year"] == {2023: 1}

    def test_counts_a_value_once_however_it_is_written(self, minutes):
        build, given = minutes
        update_artifact(given[0].pk, metadata={"topics": ["chains", "cables"]})
        update_artifact(given[1].pk, metadata={"topics": ["cables"]})
        sync(build, *given)
        assert count()["topics"] == {"chains": 1, "cables": 2}

        declare_synonyms("minutes", "topics", "chains", "cables")

        assert count()["topics"] == {"chains": 2}

    def test_counts_only_what_the_grant_includes(self, minutes):
        assert count(grant=Grant(groups=frozenset()))["year"] == {2023: 2}
        assert count(grant=STAFF)["year"] == {2023: 2, 2024: 1}

    @pytest.mark.parametrize("hide", [
        lambda artifact: update_artifact(artifact.pk, groups=["board"]),
        lambda artifact: remove_artifact(artifact.pk),
        lambda artifact: Artifact.objects.filter(pk=artifact.pk).update(groups=["board"]),
    ])  # fmt: skip
    def test_leaves_out_at_once_what_the_grant_no_longer_includes(self, minutes, hide):
        build, given = minutes
        hide(given[2])

        assert count(grant=STAFF)["year"] == {2023: 2}
        assert IndexedDocument.objects.filter(build=build).count() == 3  # nothing is synced yet

    def test_refuses_an_unknown_field_and_an_unknown_index(self, minutes):
        with pytest.raises(InvalidInput, match="no field 'colour'"):
            count({"colour": "red"})
        with pytest.raises(InvalidInput, match="JSON object"):
            count([])
        with pytest.raises(UnknownIndex):
            count_field_values("nothing", None, 20, EVERYTHING)

    def test_finds_nothing_while_no_build_is_live(self, minutes):
        index = minutes[0].index
        index.live_build = None
        index.save()

        assert count() == {}
