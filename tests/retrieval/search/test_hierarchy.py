"""The documents of ``talks`` are indexed once for all tests. A test that adds others, or that
changes what the store holds, does so in ``own``."""

import logging
from itertools import count
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from access.grants import EVERYTHING
from core.exceptions import InvalidInput, UnknownIndex
from documents.models import Artifact
from documents.services import TextContent, add_artifact
from indexing.exceptions import StoreUnavailable
from indexing.models import IndexBuild, Node
from indexing.spec import IndexSpec
from indexing.stores import get_store
from retrieval.search import Hit, Mode, SearchOptions, StaleHitPolicy, Verdict, hierarchy
from retrieval.search.hierarchy import group_by_artifact, search_hierarchical
from summaries.models import EXTRACTIVE_MODEL_NAME, Summary
from tests.factories import PARAGRAPHS, load_index, sync
from tests.written import make_build, write_all

SPEC = IndexSpec(name="deck")
KINDS = {"page_summaries": True, "artifact_summaries": True}
TOPICS = ["granite", "heron", "yeast", "ledger"]

# The points of a test stay in the store, so that no two tests may have an index of the same name.
_numbers = count()

pytestmark = pytest.mark.django_db


def ask(query="granite crystals", *, index="deck", **given):
    return search_hierarchical([index], query, SearchOptions(**given), EVERYTHING)


def shape(answer):
    """Titles with page numbers, in ranking order."""
    return [(group.title, [page.page_index for page in group.pages]) for group in answer.artifacts]


def reset(kind, **which):
    """Remove summaries from the result, as if the search had not found them."""
    for node in Node.objects.filter(kind=kind, **which):
        get_store().delete(node.build.collection(kind), [node.point_id])
        node.delete()


@pytest.fixture(scope="module")
def deck(shared_store) -> IndexBuild:
    return make_build("deck", **KINDS)


@pytest.fixture(scope="module")
def talks(deck) -> list[Artifact]:
    return write_talks(deck)


@pytest.fixture
def own(shared_store) -> IndexBuild:
    """An empty index of the test."""
    return make_build(f"own-{next(_numbers)}", **KINDS)


def write_talks(build: IndexBuild) -> list[Artifact]:
    """Four talks of five pages; the third page of each is about its topic in many chunks."""
    talks = []
    for number, topic in enumerate(TOPICS):
        pages = [f"Page {n} of talk {number} says other things briefly." for n in range(5)]
        pages[2] = " ".join(
            f"Here we say {word} {topic} again, of {topic} and no more, at some length, so "
            f"that {topic} fills more than a passage or two of this page about {topic}."
            for word in ["once", "twice", "thrice", "always", "never", "perhaps", "still", "too"]
            * 2
        )
        content = TextContent(tuple(pages))
        talks.append(add_artifact(build.index_id, content, title=f"On {topic}")[0])
    write_all(build, *talks)
    return talks


class TestSummariesThatRulesWrote:
    def test_are_shown_but_do_not_affect_the_ranking(self, own):
        talks = write_talks(own)
        by_a_person = [group.score for group in ask(index=own.index_id, mode=Mode.DENSE).artifacts]
        Summary.objects.filter(build=own).update(model_name=EXTRACTIVE_MODEL_NAME)
        sync(own, *talks)

        answer = ask(index=own.index_id, mode=Mode.DENSE)

        assert answer.artifacts[0].title == "On granite"
        assert answer.artifacts[0].summary is not None
        for group in answer.artifacts:
            assert group.score == max(hit.score for page in group.pages for hit in page.chunks)
            assert all(page.chunks for page in group.pages)
        assert [group.score for group in answer.artifacts] != by_a_person


class TestSearchHierarchical:
    def test_says_how_many_passages_were_compared(self, talks, monkeypatch):
        monkeypatch.setattr(hierarchy, "COMPARED_PER_COLLECTION", 3)

        # More hits than documents are asked for, of fewer documents.
        [note] = ask(must=["granite"], limit=2).notes

        assert note.startswith("Only the 3 passages nearest")

    @pytest.mark.parametrize("mode", list(Mode))
    def test_ranks_the_matching_artifact_first(self, talks, mode):
        [best, *_] = ask(mode=mode).artifacts

        assert best.artifact_id == str(talks[0].pk)
        assert best.title == "On granite"
        assert best.pages[0].page_id == str(talks[0].pages.get(index=2).pk)

    def test_ranks_by_the_best_hit(self, talks):
        answer = ask()

        scores = [artifact.score for artifact in answer.artifacts]
        assert scores == sorted(scores, reverse=True)
        for artifact in answer.artifacts:
            pages = [page.score for page in artifact.pages]
            assert pages == sorted(pages, reverse=True)
            hits = [artifact.summary.score] if artifact.summary else []
            assert artifact.score == max([*hits, *pages])
            for page in artifact.pages:
                hits = [hit.score for hit in page.chunks]
                assert hits == sorted(hits, reverse=True)
                assert page.score == max([*hits, *([page.summary.score] if page.summary else [])])

    def test_groups_chunks_under_their_pages_and_artifacts(self, talks):
        for artifact in ask(limit=50).artifacts:
            if artifact.summary:
                assert artifact.summary.payload["entity_id"] == artifact.artifact_id
            for page in artifact.pages:
                hits = [*page.chunks, *([page.summary] if page.summary else [])]
                assert hits
                assert {hit.payload["page_id"] for hit in hits} == {page.page_id}
                assert {hit.payload["artifact_id"] for hit in hits} == {artifact.artifact_id}

    def test_returns_at_most_three_chunks_of_each_page(self, talks):
        pages = [page for artifact in ask(limit=50).artifacts for page in artifact.pages]

        assert max(len(page.chunks) for page in pages) == 3

    def test_returns_pages_and_artifacts_found_only_by_chunks(self, own):
        talks = write_talks(own)
        reset("page_summary", artifact=talks[0])
        reset("artifact_summary", artifact=talks[0])

        [best, *_] = ask(index=own.index_id).artifacts

        assert best.artifact_id == str(talks[0].pk)
        assert best.summary is None
        assert best.pages[0].page_index == 2
        assert best.pages[0].summary is None
        assert best.pages[0].summary_text == Summary.objects.get(page=best.pages[0].page_id).text
        assert len(best.pages[0].chunks) == 3

    def test_shows_no_summary_of_a_text_that_has_changed(self, own):
        talks = write_talks(own)
        reset("page_summary", artifact=talks[0])
        page = talks[0].pages.get(index=2)
        page.text += " More."
        page.save()

        [best, *_] = ask(index=own.index_id).artifacts

        assert best.pages[0].page_id == str(page.pk)
        assert best.pages[0].summary_text is None

    def test_ranks_artifacts_of_equal_score_by_their_number_of_hits(self):
        def found(number, score, artifact, page):
            payload = {"artifact_id": artifact, "artifact_title": artifact, "kind": "chunk"}
            payload |= {"page_id": page, "page_index": 0}
            return Hit(UUID(int=number), "deck", 1, score, payload, Verdict.EXACT, SPEC)

        groups = group_by_artifact(
            [
                found(1, 0.5, "a", "a1"),
                found(2, 0.5, "b", "b1"),
                found(3, 0.5, "b", "b2"),
                found(4, 0.25, "b", "b2"),
                found(5, 0.75, "c", "c1"),
            ]
        )

        assert [group.artifact_id for group in groups] == ["c", "b", "a"]
        assert [page.page_id for page in groups[1].pages] == ["b2", "b1"]

    def test_returns_pages_found_only_by_their_summary(self, own):
        talks = write_talks(own)
        reset("chunk", artifact=talks[0])

        groups = ask(index=own.index_id).artifacts
        best = next(each for each in groups if each.artifact_id == str(talks[0].pk))

        assert best.pages
        assert all(page.summary and not page.chunks for page in best.pages)

    def test_limits_the_number_of_artifacts(self, talks):
        whole = shape(ask(limit=50))

        assert len(whole) == 4
        assert shape(ask(limit=2)) == whole[:2]

    def test_takes_one_model_call_one_store_request_and_three_queries(
        self, talks, embedder, monkeypatch
    ):
        ask()
        calls = []
        embed, search_many = embedder.embed_query, get_store().search_many
        monkeypatch.setattr(
            embedder, "embed_query", lambda text: calls.append("embed") or embed(text)
        )
        monkeypatch.setattr(
            get_store(),
            "search_many",
            lambda requests: calls.append(requests) or search_many(requests),
        )

        with CaptureQueriesContext(connection) as queries:
            ask()

        [embedded, [(summaries, first), (chunks, second)]] = calls
        assert embedded == "embed"
        assert (summaries, chunks) == ("deck.summary_embeddings.1", "deck.page_embeddings.1")
        assert (first.limit, second.limit) == (50, 50)
        assert first.fusion.prefetch == 100
        assert len(queries) == 3  # index and build; chunks and sources; summaries and pages

    def test_respects_a_filter(self, talks):
        answer = ask(filter={"artifact_id": str(talks[3].pk)})

        assert [artifact.artifact_id for artifact in answer.artifacts] == [str(talks[3].pk)]

    def test_answers_the_same_twice(self, talks):
        assert shape(ask()) == shape(ask())

    def test_finds_nothing_in_an_empty_index(self, own):
        assert ask(index=own.index_id).artifacts == []

    def test_accepts_several_indexes(self, talks, own):
        other = own.index_id
        artifact, _ = add_artifact(other, TextContent((PARAGRAPHS[1],)), title="Elsewhere")
        write_all(own, artifact)

        answer = search_hierarchical(
            ["deck", other], "granite crystals", SearchOptions(), EVERYTHING
        )

        assert answer.builds == {"deck": 1, other: 1}
        assert {group.index for group in answer.artifacts} == {"deck", other}

    def test_explains_each_hit_by_its_own_collection(self, talks):
        [best, *_] = ask(explain=True).artifacts

        for hit in [best.summary, best.pages[0].summary, *best.pages[0].chunks]:
            if hit is None:
                continue
            shares = [hit.explanation.dense, hit.explanation.sparse]
            total = sum(share.contribution for share in shares if share)
            assert total == pytest.approx(hit.score, abs=1e-6)

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"query": " "}, "query"),
            ({"query": "x" * 10_001}, "query"),
            ({"limit": 0}, "limit"),
            ({"limit": 51}, "limit"),
            ({"filter": {"yaer": 1}}, "filter.yaer"),
        ],
    )
    def test_refuses_wrong_parameters(self, deck, given, field):
        with pytest.raises(InvalidInput) as refused:
            ask(**given)

        assert refused.value.field == field

    def test_requires_summaries_and_chunks(self, deck):
        load_index("plain")
        make_build("summaries-only", chunks={"embed": False}, page_summaries=True)

        for index, missing in (("plain", "summaries"), ("summaries-only", "embedded chunks")):
            with pytest.raises(InvalidInput, match=f"{index} holds no {missing}") as refused:
                ask(index=index)
            assert refused.value.field == "index"
            assert "deck" in refused.value.allowed
            assert not {"plain", "summaries-only"} & set(refused.value.allowed)

    def test_names_the_existing_indexes(self, deck):
        with pytest.raises(UnknownIndex) as refused:
            ask(index="dekc")

        assert refused.value.allowed == ["deck"]

    def test_raises_the_error_of_an_unavailable_store(self, talks, monkeypatch):
        def refuse(*args):
            raise StoreUnavailable

        monkeypatch.setattr(get_store(), "search_many", refuse)

        with pytest.raises(StoreUnavailable):
            ask()


class TestHitCheck:
    def test_flags_the_hits_of_an_edited_page(self, talks):
        page = talks[0].pages.get(index=2)
        page.text = "Basalt cools fast."
        page.save()
        page.sources.update(text="Basalt cools fast.")

        answer = ask()

        [best, *_] = answer.artifacts
        group = next(each for each in best.pages if each.page_index == 2)
        assert {hit.verdict for hit in group.chunks} == {Verdict.STALE}
        assert group.summary.verdict == Verdict.STALE
        assert answer.stale_ids == [talks[0].pk]

    def test_omits_stale_hits_before_it_ranks(self, talks):
        page = talks[0].pages.get(index=2)
        page.text = "Basalt cools fast."
        page.save()
        page.sources.update(text="Basalt cools fast.")

        answer = ask(stale=StaleHitPolicy.OMIT, limit=50)

        groups = {group.artifact_id: group for group in answer.artifacts}
        assert groups[str(talks[0].pk)].summary is None
        assert 2 not in [group.page_index for group in groups[str(talks[0].pk)].pages]

    def test_drops_hits_of_a_deleted_document(self, talks):
        gone = str(talks[0].pk)
        Artifact.objects.get(pk=gone).delete()

        answer = ask()

        assert gone not in [artifact.artifact_id for artifact in answer.artifacts]
        assert answer.dropped.orphans > 5

    def test_drops_counts_and_reports_hits_with_a_wrong_text(
        self, talks, deck, rewrite_payload, caplog
    ):
        node = Node.objects.get(kind="page_summary", page=talks[0].pages.get(index=2))
        rewrite_payload(deck, node, summary_text="It is all about basalt.")

        with caplog.at_level(logging.ERROR, logger="retrieval.search"):
            answer = ask()

        assert answer.dropped.integrity_errors == 1
        assert str(node.point_id) in caplog.text
        best = answer.artifacts[0].pages[0]
        assert best.page_id == str(node.page_id)
        assert best.summary is None

    def test_does_not_read_the_ledger_without_verification(self, talks):
        Summary.objects.all().delete()

        with CaptureQueriesContext(connection) as queries:
            answer = ask(verify=False)

        assert len(queries) == 1
        assert {hit.verdict for hit in answer.artifacts[0].pages[0].chunks} == {None}

    def test_returns_the_old_text_as_stale_until_the_new_one_is_synced(self, own):
        talk, *_ = write_talks(own)
        source = talk.pages.get(index=0).sources.get()
        source.text = "Herons stand."
        source.save()
        before = ask("page 0 of talk 0", index=own.index_id, limit=50)
        sync(own, talk)
        after = ask("page 0 of talk 0", index=own.index_id, limit=50)

        def texts(answer):
            [group] = [each for each in answer.artifacts if each.artifact_id == str(talk.pk)]
            return {
                (hit.payload["text"][:13], hit.verdict)
                for page in group.pages
                if page.page_index == 0
                for hit in page.chunks
            }

        assert texts(before) == {("Page 0 of tal", Verdict.STALE)}
        assert texts(after) <= {("Herons stand.", Verdict.EXACT)}
