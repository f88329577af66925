import time
from uuid import UUID

import numpy as np
import pytest

from access.grants import EVERYTHING
from answers.questions import values
from answers.questions.values import MarkLookup, NameLookup, PersonLookup, get_value_lookups
from indexing.spec import IndexSpec, ValueSpec
from indexing.stores import CollectionSchema, Point
from retrieval.visible_points import VisiblePoints
from text.words import fold_words

ALL = VisiblePoints(EVERYTHING)


def who(people: PersonLookup, name: str) -> list[str]:
    return people.find(fold_words(name))


class TestPeople:
    KNOWN = PersonLookup(
        [
            "Christopher D. Manning", "Christopher Manning", "Kai-Wei Chang", "Ondřej Bojar",
            "Josef van Genabith", "Hal Daumé III", "Lovelace, Ada", "Yang Liu", "William Yang Liu",
        ]
    )  # fmt: skip

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("Ondrej BOJAR", ["Ondřej Bojar"]),
            ("Christopher Manning", ["Christopher Manning"]),
            ("Manning", ["Christopher D. Manning", "Christopher Manning"]),
            ("C. Manning", ["Christopher D. Manning", "Christopher Manning"]),
            ("C. D. Manning", ["Christopher D. Manning", "Christopher Manning"]),
            ("D. Manning", ["Christopher D. Manning"]),
            ("Kaiwei Chang", ["Kai-Wei Chang"]),
            ("K.-W. Chang", ["Kai-Wei Chang"]),
            ("van Genabith", ["Josef van Genabith"]),
            ("J. van Genabith", ["Josef van Genabith"]),
            ("Hal Daume", ["Hal Daumé III"]),
            ("Ada Lovelace", ["Lovelace, Ada"]),
            ("Yang Liu", ["Yang Liu"]),
            ("Maria Liu", []),
            ("Nobody", []),
            ("", []),
        ],
    )
    def test_are_found_by_parts_of_their_names(self, name, meant):
        assert who(self.KNOWN, name) == meant

    def test_are_found_among_sixty_thousand_names(self):
        many = PersonLookup(f"{chr(65 + n % 26)}nna M{n // 60:04d}" for n in range(60_000))

        found = [who(many, f"M{number:04d}") for number in range(100)]

        assert all(len(each) == 26 for each in found)

    def test_are_found_by_declared_names_too(self):
        people = PersonLookup(
            ["Ada Lovelace"], [ValueSpec(value="Ada Lovelace", synonyms=("Augusta Ada King",))]
        )

        for name in ("Augusta Ada King", "A. King", "Ada Lovelace", "Lovelace"):
            assert who(people, name) == ["Ada Lovelace"]


class TestNames:
    KNOWN = NameLookup(
        ["acl", "emnlp"],
        [ValueSpec(value="tacl", synonyms=("Transactions of the ACL",))],
    )

    def test_are_found_at_a_word_longest_first(self):
        words = fold_words("in Transactions of the ACL")

        assert self.KNOWN.find(words, 1) == (("tacl",), 4)
        assert self.KNOWN.find(words, 4) == (("acl",), 1)
        assert self.KNOWN.find(words, 0) is None


class TestMarks:
    KNOWN = MarkLookup(
        ["Best Paper", "Best Long Paper", "Best Paper Runner-Up", "Test of Time Award"]
    )

    @pytest.mark.parametrize(
        ("said", "meant"),
        [
            ("best papers", ["Best Paper", "Best Long Paper"]),
            ("best paper award", ["Best Paper", "Best Long Paper"]),
            ("best paper runner up", ["Best Paper Runner-Up"]),
            ("test of time paper", ["Test of Time Award"]),
            ("award", []),
            ("worst paper", []),
        ],
    )
    def test_are_found_by_their_words(self, said, meant):
        assert self.KNOWN.find(fold_words(said)) == meant


class TestGetValueLookups:
    SPEC = IndexSpec.model_validate(
        {"name": "papers", "metadata": {"authors": {"type": "keyword", "said_as": "person"}}}
    )

    @pytest.fixture
    def collection(self, store, db):
        store.ensure_collection("papers", CollectionSchema(4, {"authors": "keyword"}))
        self.write(store, 1, "Ada Lovelace")
        return "papers"

    def write(self, store, number, author):
        vector = np.ones(4, dtype=np.float32)
        store.upsert("papers", [Point(UUID(int=number), vector, None, {"authors": author})])

    def find(self, name, **given):
        return get_value_lookups(self.SPEC, "papers", ALL, **given).people("authors").find((name,))

    def test_returns_the_values_of_the_points(self, collection):
        assert self.find("lovelace") == ["Ada Lovelace"]

    def test_reads_the_store_again_after_the_maximum_age(self, collection, store):
        assert self.find("hopper") == []
        self.write(store, 2, "Grace Hopper")

        assert self.find("hopper", max_age_seconds=60) == []
        assert self.find("hopper", max_age_seconds=0) == ["Grace Hopper"]

    def test_reuses_the_lookup_if_no_value_changed(self, collection, monkeypatch):
        self.find("lovelace")
        monkeypatch.setattr(values, "_make_lookup", None)

        assert self.find("lovelace", max_age_seconds=0) == ["Ada Lovelace"]

    def test_uses_cached_values_while_another_thread_refreshes(self, collection, store):
        self.find("lovelace")
        self.write(store, 2, "Grace Hopper")

        with values._refresh_lock:
            assert self.find("hopper", max_age_seconds=0) == []

        assert self.find("hopper", max_age_seconds=0) == ["Grace Hopper"]

    def test_drops_unused_collections_from_the_cache(self, collection, store, monkeypatch):
        self.find("lovelace")
        monkeypatch.setattr(values, "UNUSED_CACHE_SECONDS", 0.01)
        time.sleep(0.02)
        get_value_lookups(self.SPEC, "another", ALL)

        assert [name for name, *_ in values._cache[store]] == ["another"]

    def test_returns_an_empty_lookup_for_a_field_of_another_kind(self, collection):
        assert get_value_lookups(self.SPEC, "papers", ALL).names("authors").find(("ada",)) is None
