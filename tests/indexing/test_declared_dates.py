"""Dates that documents have, as they are stored, shown and found, and fields without a value."""

import pytest

from core.exceptions import InvalidInput
from documents.models import Artifact
from documents.services import update_artifact
from indexing.spec import parse_spec
from indexing.stores import get_store
from retrieval.filters import parse_filter
from tests.factories import give, sync
from tests.written import make_build

pytestmark = pytest.mark.django_db

FIELDS = {
    "at": {"type": "datetime"},
    "seen": {"type": "datetime", "many": True},
    "owner": {"type": "keyword", "values": ["maria"]},
    "notes": {"type": "text"},
    "size": {"type": "float"},
}


def fill(build, *rows):
    given = [
        give(f"Minutes {number}.", index="minutes", title=str(number), metadata=metadata)
        for number, metadata in enumerate(rows)
    ]
    sync(build, *given)
    return given


def find(build, filter):
    """The titles of the documents that match."""
    condition = parse_filter(filter, build.spec)
    name = build.collection("chunk")
    return "".join(sorted(get_store().facet(name, "artifact_title", limit=9, filter=condition)))


class TestDates:
    def test_are_found_by_what_they_mean_and_shown_as_they_were_given(self, store, embedder):
        build = make_build("minutes", metadata=FIELDS)
        given = fill(
            build,
            {"at": "2024-05-01"},
            {"at": "20240501T220000Z"},
            {"at": "2024-05-02T00:30:00+0200"},
            {"at": "Thu, 2 May 2024 00:30:00 +0000"},
            {"at": "2024-05"},
            {"at": "2023", "seen": ["2024-05-01T12:00:00", "2022"]},
        )

        assert find(build, {"at": "2024-05-01"}) == "0124"
        assert find(build, {"at": {"gt": "2024-05-01"}}) == "3"
        assert find(build, {"at": {"lte": "2024-05-01"}}) == "01245"
        assert find(build, {"at": {"gte": "2024-05-01T12:00", "lt": "2024-05-02"}}) == "12"
        assert find(build, {"at": ["2023", "2024-05-02"]}) == "35"
        assert find(build, {"seen": "2022"}) == "5"
        assert find(build, {"not": {"at": "2024"}}) == "5"
        shown = [Artifact.objects.get(pk=each.pk).metadata["at"] for each in given]
        assert shown == [
            "2024-05-01", "2024-05-01T22:00:00Z", "2024-05-02T00:30:00+02:00",
            "2024-05-02T00:30:00Z", "2024-05", "2023",
        ]  # fmt: skip

    def test_are_days_of_the_time_zone_of_the_index(self, store, embedder):
        build = make_build("minutes", metadata=FIELDS, time_zone="America/New_York")
        fill(
            build, {"at": "2024-05-01"}, {"at": "2024-05-02T03:00:00Z"}, {"at": "2024-05-01T03:00Z"}
        )

        assert find(build, {"at": "2024-05-01"}) == "01"
        assert find(build, {"at": {"lt": "2024-05-01"}}) == "2"
        assert find(build, {"at": "2024-05-01T23:00:00"}) == "1"

    def test_are_refused_with_the_field_and_a_fix(self, store, embedder):
        make_build("minutes", metadata=FIELDS)
        for value in (1714557600, "01/02/2024", "2024-02-30"):
            with pytest.raises(InvalidInput) as refused:
                give("Minutes.", index="minutes", metadata={"at": value})
            assert refused.value.field == "metadata.at"
            assert refused.value.fix


class TestNoValue:
    def test_is_found_for_each_type_of_field(self, store, embedder):
        build = make_build("minutes", metadata=FIELDS)
        full = {"at": "2024", "seen": ["2024"], "owner": "maria", "notes": "fog", "size": 1}
        given = fill(build, full, {}, dict.fromkeys(full), full)
        update_artifact(given[3].pk, metadata={"seen": [], "notes": ""})
        sync(build, *given)

        for name in full:
            assert find(build, {name: None}) == "123", name
            assert find(build, {name: {"exists": True}}) == "0", name
            assert find(build, {"not": {name: {"exists": False}}}) == "0", name
            assert find(build, {"any_of": [{name: None}, {"owner": "maria"}]}) == "0123", name
        assert find(build, {"owner": ["maria", None]}) == "0123"
        assert find(build, {"external_id": None}) == "0123"


class TestTimeZone:
    def test_is_part_of_the_recipe_unless_it_is_utc(self):
        plain, utc = parse_spec("some", ""), parse_spec("some", "time_zone: UTC")
        berlin = parse_spec("some", "time_zone: Europe/Berlin")

        assert plain.recipe == utc.recipe
        assert berlin.fingerprint != plain.fingerprint

    @pytest.mark.parametrize("name", ["Mars/Olympus", "../etc/passwd", "", "CEST+2"])
    def test_is_refused_if_it_is_unknown(self, name):
        with pytest.raises(Exception, match=r"time_zone.*Europe/Berlin"):
            parse_spec("some", f"time_zone: '{name}'")
