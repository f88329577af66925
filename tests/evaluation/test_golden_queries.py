import uuid

import pytest
from django.db.models import QuerySet

from core.exceptions import InvalidInput, UnknownIndex
from documents.exceptions import UnknownArtifact
from documents.services import TextContent, add_artifact
from evaluation.build_comparison import compare_builds
from evaluation.exceptions import UnknownJudgement
from evaluation.golden_queries import (
    golden_queries_folder,
    read_golden_queries,
    write_golden_queries,
)
from evaluation.judged_queries import read_judged_queries
from evaluation.models import Judgement
from evaluation.services import delete_judgement, save_judgement
from indexing.models import Node
from tests.evaluation.paragraphs import fill
from tests.factories import PARAGRAPHS, load_index, sync

pytestmark = pytest.mark.django_db

QUERY = "where do herons fish"


def keep(artifact, *, is_good: bool = True, query: str = QUERY, by: str = "someone"):
    return save_judgement("plain", query, is_good=is_good, judged_by=by, artifact_id=artifact.pk)[0]


@pytest.fixture(scope="module")
def build(shared_store):
    return load_index("plain")


@pytest.fixture(scope="module")
def filled(build):
    return fill(build)


@pytest.fixture(scope="module")
def book(build):
    """A document of two pages with one node each."""
    book, _ = add_artifact("plain", TextContent(tuple(PARAGRAPHS[:2])), external_id="book")
    sync(build, book)
    return book


@pytest.fixture(scope="module")
def nameless(build):
    """A document without an external id."""
    nameless, _ = add_artifact("plain", TextContent((PARAGRAPHS[3],)), title="Nameless")
    sync(build, nameless)
    return nameless


class TestSaveJudgement:
    def test_replaces_an_earlier_verdict_on_the_same_hit(self, filled):
        first = keep(filled[0], is_good=True)

        again, is_new = save_judgement(
            "plain", QUERY, is_good=False, judged_by="another", artifact_id=filled[0].pk
        )

        assert (again.pk, is_new) == (first.pk, False)
        [kept] = Judgement.objects.all()
        assert (kept.is_good, kept.judged_by) == (False, "another")

    def test_replaces_one_that_another_request_stores_meanwhile(self, filled, monkeypatch):
        get = QuerySet.get

        def get_too_early(rows, **fields):
            if rows.model is not Judgement:
                return get(rows, **fields)
            monkeypatch.setattr(QuerySet, "get", get)
            keep(filled[0], is_good=False, by="another")
            raise Judgement.DoesNotExist

        monkeypatch.setattr(QuerySet, "get", get_too_early)
        keep(filled[0])

        [kept] = Judgement.objects.all()
        assert (kept.is_good, kept.judged_by) == (True, "someone")

    def test_distinguishes_queries_and_artifacts(self, filled):
        keep(filled[0])
        keep(filled[1])
        keep(filled[0], query=f"{QUERY}?")

        assert Judgement.objects.count() == 3

    def test_stores_the_page_of_a_hit_if_the_artifact_has_several(self, book, filled):
        of_page = Node.objects.get(page__index=1, artifact=book)
        of_one = Node.objects.get(artifact=filled[0])

        kept = [
            save_judgement("plain", QUERY, is_good=True, judged_by="me", node_id=node.point_id)[0]
            for node in (of_page, of_one)
        ]

        assert [each.page_index for each in kept] == [1, None]
        assert [each.artifact_id for each in kept] == [book.pk, filled[0].pk]
        assert kept[0].node_id == of_page.point_id

    @pytest.mark.parametrize(
        ("given", "condition"),
        [
            ({"index": "plian"}, UnknownIndex),
            ({"query": " "}, InvalidInput),
            ({"artifact_id": None}, InvalidInput),
            ({"node_id": uuid.uuid4()}, InvalidInput),
            ({"node_id": uuid.uuid4(), "artifact_id": None}, InvalidInput),
            ({"artifact_id": uuid.uuid4()}, UnknownArtifact),
            ({"index": "papers"}, UnknownArtifact),
        ],
    )
    def test_refuses_unknown_or_missing_objects(self, filled, given, condition):
        asked = {"index": "plain", "query": QUERY, "artifact_id": filled[0].pk, **given}
        load_index("papers")

        with pytest.raises(condition):
            save_judgement(is_good=True, judged_by="me", **asked)

        assert not Judgement.objects.exists()


class TestDeleteJudgement:
    def test_deletes_a_verdict(self, filled):
        delete_judgement(keep(filled[0]).pk)

        assert not Judgement.objects.exists()

    def test_raises_an_error_for_an_unknown_verdict(self):
        with pytest.raises(UnknownJudgement):
            delete_judgement(uuid.uuid4())


class TestReadGoldenQueries:
    def write_folder(self, golden_dir):
        folder = golden_dir / "plain"
        (folder / "qrels").mkdir(parents=True)
        (folder / "queries.jsonl").write_text(f'{{"_id": "g1", "text": "{QUERY}"}}\n')
        (folder / "qrels" / "test.tsv").write_text("q\td\ts\ng1\td0\t3\ng1\td1\t1\n")

    def test_returns_none_without_verdicts(self, filled):
        assert read_golden_queries("plain") is None

    def test_leaves_out_a_query_without_a_good_verdict(self, filled):
        keep(filled[0], is_good=False)

        assert read_golden_queries("plain") is None

    def test_combines_the_folder_with_verdicts_of_which_the_latest_counts(self, filled, golden_dir):
        self.write_folder(golden_dir)
        keep(filled[0], is_good=True)
        keep(filled[1], is_good=False)
        keep(filled[2], is_good=True)
        other = keep(filled[3], query="yeast")

        golden = read_golden_queries("plain")

        other_id = other.query_hash[:12]
        assert golden.queries == {"g1": QUERY, other_id: "yeast"}
        assert golden.qrels == {"g1": {"d0": 3, "d1": 0, "d2": 1}, other_id: {"d3": 1}}

    def test_names_pages_and_artifacts_without_an_external_id(self, book, nameless):
        node = Node.objects.get(page__index=1, artifact=book)
        save_judgement("plain", QUERY, is_good=True, judged_by="me", node_id=node.point_id)
        keep(nameless)

        [judged] = read_golden_queries("plain").qrels.values()
        assert judged == {"book#page=2": 1, str(nameless.pk): 1}

    def test_provides_the_queries_of_the_promotion_gate(self, build, book, filled):
        node = Node.objects.get(page__index=0, artifact=book)
        save_judgement("plain", PARAGRAPHS[0], is_good=True, judged_by="me", node_id=node.point_id)

        comparison = compare_builds(build, build)

        assert comparison["source"] == "golden_queries"
        assert comparison["measures"]["R@100"]["live"] == 1.0


class TestWriteGoldenQueries:
    def test_writes_a_readable_folder_and_changes_nothing_when_run_again(self, filled):
        keep(filled[0])
        keep(filled[1], is_good=False)

        golden = write_golden_queries("plain")

        folder = golden_queries_folder("plain")
        assert read_judged_queries(folder) == golden
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        write_golden_queries("plain")
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
        assert len(before) == 2

    def test_writes_nothing_without_verdicts(self, filled):
        assert write_golden_queries("plain") is None
        assert not golden_queries_folder("plain").exists()
