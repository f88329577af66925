import pytest

from answers.pipelines.identifier_lookup import (
    MAX_IDENTIFIERS,
    IdentifierLookup,
    find_identifier_matches,
)
from indexing.models import Index
from indexing.spec import IdentifierSpec
from tests.factories import give, sync
from tests.written import make_build

IDENTIFIERS = {
    "anthology": {"pattern": r"[A-Z]\d{2}-\d{4}|\d{4}\.[a-z0-9]+-[a-z0-9]+\.\d+"},
    "doi": {"pattern": r'10\.\d{4,9}/[^\s"<>]*[^\s"<>.,;:)\]]', "field": "doi"},
}
SPECS = {name: IdentifierSpec(**about) for name, about in IDENTIFIERS.items()}
HERONS = "Herons of the shallows. We watch herons wait for fish."
GRANITE = "On granite. Crystals have time to grow."


@pytest.fixture(scope="module")
def papers(shared_store):
    build = make_build(
        "notes",
        metadata={"doi": {"type": "keyword", "lowercase": True}},
        identifiers=IDENTIFIERS,
    )
    herons = give(
        "We watch herons wait for fish.",
        title="Herons of the shallows",
        index="notes",
        external_id="P19-1001",
        metadata={"doi": "10.1000/Herons.1"},
    )
    granite = give(
        "Crystals have time to grow.",
        title="On granite",
        index="notes",
        external_id="2020.acl-main.1",
    )
    sync(build, herons, granite)
    return herons, granite


def search_store(query, index="notes"):
    return IdentifierLookup().run(index=index, query=query)


@pytest.mark.django_db
class TestIdentifierLookup:
    @pytest.mark.parametrize(
        ("query", "searched"),
        [
            ("P19-1001", HERONS),
            ("p19-1001", HERONS),
            ("2020.ACL-main.1", GRANITE),
            ("papers like P19-1001, please", f"papers like {HERONS}, please"),
            ("Is P19-1001?", f"Is {HERONS}?"),
            ("what cites https://aclanthology.org/P19-1001/ now", f"what cites {HERONS} now"),
            ("see https://aclanthology.org/P19-1001.pdf", f"see {HERONS}"),
            ("near 10.1000/Herons.1.", f"near {HERONS}."),
            ("near doi:10.1000/Herons.1", f"near {HERONS}"),
            ("near DOI 10.1000/HERONS.1", f"near DOI {HERONS}"),
            ("https://doi.org/10.1000/Herons.1", HERONS),
            ("P19-1001 or 2020.acl-main.1", f"{HERONS} or {GRANITE}"),
        ],
    )
    def test_replaces_an_identifier_by_the_text_of_its_document(self, papers, query, searched):
        answer = search_store(query)

        assert answer["query"] == searched
        assert answer["notes"] == []

    def test_returns_the_documents_it_found(self, papers):
        assert search_store("like p19-1001")["identified"] == [
            {
                "identifier": "p19-1001",
                "artifact_id": str(papers[0].pk),
                "title": "Herons of the shallows",
            }
        ]

    def test_notes_unknown_identifiers(self, papers):
        answer = search_store("papers like P99-9999")

        assert answer == {
            "query": "papers like P99-9999",
            "identified": [],
            "notes": ["No document of notes is called P99-9999."],
        }

    def test_ignores_text_that_only_resembles_an_identifier(self, papers):
        for query in ("XP19-1001", "P19-10012", "in 2020", "the 10.5/mm rule"):
            assert search_store(query) == {"query": query, "identified": [], "notes": []}

    def test_limits_the_number_of_identifiers_with_a_note(self, papers):
        answer = search_store(" ".join(f"P19-100{n}" for n in range(MAX_IDENTIFIERS + 2)))

        assert answer["notes"][0] == f"Only the first {MAX_IDENTIFIERS} identifiers were looked up."
        assert len(answer["notes"]) == MAX_IDENTIFIERS  # this and those of unknown ones

    def test_does_nothing_if_the_spec_declares_no_identifiers(self):
        make_build("plain")

        assert search_store("P19-1001", index="plain")["notes"] == []

    def test_does_nothing_without_a_live_build(self):
        Index.objects.create(name="empty")

        assert search_store("P19-1001", index="empty")["query"] == "P19-1001"


class TestFindIdentifierMatches:
    def test_ignores_an_identifier_inside_another(self):
        [name], _ = find_identifier_matches("10.18653/v1/P19-1001", SPECS)

        assert name.text == "10.18653/v1/P19-1001"
        assert name.field == "doi"

    def test_returns_offsets_in_code_points(self):
        [name], _ = find_identifier_matches("🌊 P19-1001 🌊", SPECS)

        assert (name.start, name.end) == (2, 10)
