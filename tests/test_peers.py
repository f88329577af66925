"""The counts of the comparison with other pipelines."""

import pytest

from benchmarks.peers.corpus import Differences, Document, PointFacts

DOCUMENTS = [Document(0), Document(1, revision=2)]
CURRENT = [PointFacts(0, 1, "a"), PointFacts(1, 2, "a")]


class TestCompare:
    @pytest.mark.parametrize(
        ("points", "expected"),
        [
            (CURRENT, Differences(lost=0, orphaned=0, doubled=0, stale=0)),
            (CURRENT[:1], Differences(lost=1, orphaned=0, doubled=0, stale=0)),
            (
                [*CURRENT, PointFacts(7, 1, "a")],
                Differences(lost=0, orphaned=1, doubled=0, stale=0),
            ),
            ([*CURRENT, *CURRENT], Differences(lost=0, orphaned=0, doubled=2, stale=0)),
            (
                [*CURRENT, PointFacts(1, 1, "a")],
                Differences(lost=0, orphaned=0, doubled=0, stale=1),
            ),
            (
                [CURRENT[0], PointFacts(1, 2, "b")],
                Differences(lost=1, orphaned=0, doubled=0, stale=1),
            ),
        ],
    )
    def test_counts_how_points_differ_from_documents(self, points, expected):
        assert Differences.compare(points, DOCUMENTS, "a") == expected

    def test_is_sound_only_without_differences(self):
        assert Differences.compare(CURRENT, DOCUMENTS, "a").is_sound
        assert not Differences.compare(CURRENT[:1], DOCUMENTS, "a").is_sound


class TestRead:
    def test_finds_a_document_in_any_field_of_the_payload(self):
        payload = {"node": {"text": Document(12, revision=3).text}}

        assert PointFacts.read(payload, -0.5) == PointFacts(12, 3, "b")
