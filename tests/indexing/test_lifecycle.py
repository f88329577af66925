from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from core.exceptions import UnknownIndex
from documents.models import Artifact
from documents.services import remove_artifact, update_artifact
from indexing import lifecycle, tasks
from indexing.contexts import embed_in_context
from indexing.exceptions import BuildUnfinished, WrongBuildState
from indexing.models import Index, IndexBuild, Node
from indexing.progress import get_index_progress
from indexing.removal import remove_artifact_points
from indexing.services import load_specs
from indexing.verification import verify_build
from tests.factories import give, sync

State = IndexBuild.State


SHORTER = "chunks: {strategies: [{name: sentence, max_chars: 60}]}\n"


LONG_TEXT = "# Herons\n\n" + "\n\n".join(f"{n} herons stand in the water." for n in range(500))


@pytest.fixture
def beside(specs, build) -> IndexBuild:
    """A complete build with shorter chunks beside the live one, which holds a document."""
    sync(build, give())
    specs(SHORTER)
    beside = lifecycle.apply_spec("plain")
    sync(beside, *Artifact.objects.all())
    return beside


def have_vectors_of_their_nodes(build, embedder, store) -> bool:
    nodes = list(build.nodes.all())
    points = store.retrieve(
        build.collection("chunk"), [node.point_id for node in nodes], with_vectors=True
    )
    found = np.stack([points[node.point_id].dense for node in nodes])
    return np.allclose(found, embed_in_context(embedder, nodes), atol=1e-5)


def state_of(build: IndexBuild) -> str:
    return IndexBuild.objects.get(pk=build.pk).state


def stored_recipes() -> list[tuple[dict, str]]:
    return list(IndexBuild.objects.order_by("pk").values_list("recipe", "fingerprint"))


def live() -> IndexBuild:
    return IndexBuild.objects.live().get(index="plain")


class TestApplySpec:
    def test_creates_a_build_beside_the_live_one(self, specs, build):
        give()
        specs(SHORTER)

        begun = lifecycle.apply_spec("plain")

        assert (begun.number, begun.state) == (build.number + 1, State.BUILDING)
        assert begun.spec.chunks.strategies[0].max_chars == 60
        assert live() == build

    def test_applies_search_settings_without_a_new_build(self, specs, build):
        specs("title: Other words\nsearch: {rrf_k: 3}\n")

        returned = lifecycle.apply_spec("plain")

        assert returned == build
        assert live().spec.search.rrf_k == 3
        assert IndexBuild.objects.filter(index="plain").count() == 1

    def test_applies_search_settings_of_a_new_recipe_to_the_live_build(self, specs, build):
        specs(SHORTER + "search: {rrf_k: 3}\n")

        begun = lifecycle.apply_spec("plain")

        assert live() == build
        assert (live().spec.search.rrf_k, begun.spec.search.rrf_k) == (3, 3)

    def test_numbers_search_settings_by_their_changes(self, specs, build):
        before = Index.objects.get(pk="plain").search_settings.number
        numbers = []
        for text in ("search: {rrf_k: 3}\n", "search: {rrf_k: 3}\n" + SHORTER, "title: Plain\n"):
            specs(text)
            lifecycle.apply_spec("plain")
            numbers.append(Index.objects.get(pk="plain").search_settings.number - before)

        assert numbers == [1, 1, 2]

    def test_continues_the_build_of_an_equal_recipe(self, specs, build):
        specs(SHORTER)
        begun = lifecycle.apply_spec("plain", max_calls=3)
        lifecycle.pause_build(begun)

        again = lifecycle.apply_spec("plain", max_calls=7)

        assert (again.pk, again.max_calls, again.paused_at) == (begun.pk, 7, None)

    def test_retires_the_build_of_a_replaced_recipe(self, specs, build):
        specs(SHORTER)
        first = lifecycle.apply_spec("plain")
        specs("chunks: {strategies: [{name: sentence, max_chars: 90}]}\n")

        second = lifecycle.apply_spec("plain")

        assert state_of(first) == State.RETIRED
        assert (second.number, second.state) == (first.number + 1, State.BUILDING)

    def test_refuses_an_index_without_a_spec(self, specs):
        with pytest.raises(UnknownIndex):
            lifecycle.apply_spec("nothing")


class TestRecipes:
    def test_are_never_changed(self, specs, beside, build, settings, tmp_path):
        before = stored_recipes()

        specs("title: Other words\nsearch: {rrf_k: 3}\n")
        lifecycle.apply_spec("plain")
        specs(SHORTER + "search: {rrf_k: 4}\n")
        lifecycle.apply_spec("plain", promotion=IndexBuild.Promotion.WHEN_COMPLETE)
        lifecycle.promote_build(beside)
        lifecycle.roll_back_index("plain")
        settings.STRATA_SPECS_DIR = tmp_path / "restarted"
        settings.STRATA_SPECS_DIR.mkdir()
        (settings.STRATA_SPECS_DIR / "plain.yaml").write_text(SHORTER + "search: {rrf_k: 5}\n")
        load_specs()
        lifecycle.prune_builds("plain")

        assert stored_recipes() == before
        assert live().spec.search.rrf_k == 5

    def test_of_another_release_are_skipped_by_work_on_all_builds(self, build, beside, store):
        recipe = beside.recipe | {"embedding": {"provider": "telepathy"}, "version": 99}
        IndexBuild.objects.filter(pk=build.pk).update(recipe=recipe)

        tasks.reconcile_indexes()
        tasks.reconcile_store()
        load_specs()

        [progress] = get_index_progress("plain")
        assert "embedding.provider" in progress["problem"]
        assert lifecycle.apply_spec("plain") == beside
        lifecycle.promote_build(beside, is_forced=True)
        assert live().spec.kinds == ("chunk",)


class TestVectorsOfAnotherBuild:
    def test_are_copied_if_model_and_text_are_the_same(self, specs, build, embedder, store):
        sync(build, give())
        embedder.embedded.clear()
        specs("sparse: {language: none}\n")
        begun = lifecycle.apply_spec("plain")

        sync(begun, *Artifact.objects.all())

        begun.refresh_from_db()
        assert embedder.embedded == []
        assert (begun.copied_count, begun.embedded_count) == (
            Node.objects.filter(build=begun).count(),
            0,
        )
        old = {p.id: p for batch in store.scroll(build.collection("chunk")) for p in batch}
        copied = store.retrieve(begun.collection("chunk"), list(old), with_vectors=True)
        made = store.retrieve(build.collection("chunk"), list(old), with_vectors=True)
        assert all((copied[key].dense == made[key].dense).all() for key in old)
        assert verify_build(begun).is_sound

    def test_are_not_copied_for_another_text(self, specs, build, embedder):
        artifact = give("One heron. Two herons.", title="Birds")
        sync(build, artifact)
        specs("chunks: {context: []}\n")
        begun = lifecycle.apply_spec("plain")

        sync(begun, artifact)

        begun.refresh_from_db()
        assert (begun.copied_count, begun.embedded_count) == (0, 1)

    def test_get_another_context_if_both_are_added_by_a_weight(self, specs, build, embedder, store):
        artifact = give(LONG_TEXT, title="Birds")
        sync(build, artifact)
        embedder.embedded.clear()
        specs("chunks: {context: [title], context_weight: 0.2}\n")
        begun = lifecycle.apply_spec("plain")

        sync(begun, artifact)

        begun.refresh_from_db()
        assert set(embedder.embedded) == {"Birds", "Herons"}
        assert begun.embedded_count == 0
        assert have_vectors_of_their_nodes(begun, embedder, store)
        assert verify_build(begun).is_sound

    def test_are_not_copied_if_only_one_context_is_added_by_a_weight(self, specs, build, embedder):
        artifact = give(LONG_TEXT, title="Birds")
        sync(build, artifact)
        specs("chunks: {context_weight: null}\n")
        begun = lifecycle.apply_spec("plain")

        sync(begun, artifact)

        begun.refresh_from_db()
        assert (begun.copied_count, begun.embedded_count) == (0, begun.nodes.count())
        assert verify_build(begun).is_sound

    def test_are_not_copied_from_a_point_that_differs_from_its_row(
        self, specs, build, embedder, store
    ):
        sync(build, give())
        for batch in store.scroll(build.collection("chunk")):
            changed = {point.id: {**point.payload, "text": "Other."} for point in batch}
            store.replace_payloads(build.collection("chunk"), changed)
        specs("sparse: {language: none}\n")
        begun = lifecycle.apply_spec("plain")

        sync(begun, *Artifact.objects.all())

        begun.refresh_from_db()
        assert begun.copied_count == 0


class TestVectorsOfAnOldTitle:
    def test_get_the_new_title(self, build, embedder, store):
        artifact = give(LONG_TEXT, title="Birds")
        sync(build, artifact)
        embedder.embedded.clear()

        sync(build, update_artifact(artifact.pk, title="Waders"))

        assert set(embedder.embedded) == {"Birds", "Herons", "Waders"}
        assert have_vectors_of_their_nodes(build, embedder, store)
        assert verify_build(build).is_sound

    def test_are_not_used_if_the_heading_changes_too(self, build, embedder, store):
        sync(build, give(LONG_TEXT, title="Birds", external_id="birds"))
        embedder.embedded.clear()
        edited = LONG_TEXT.replace("Herons", "Egrets")

        sync(build, give(edited, title="Waders", external_id="birds"))

        assert "Birds" not in embedder.embedded
        assert have_vectors_of_their_nodes(build, embedder, store)
        assert verify_build(build).is_sound

    def test_are_not_used_if_the_payload_is_damaged(self, build, embedder, store):
        artifact = give(LONG_TEXT, title="Birds")
        sync(build, artifact)
        for batch in store.scroll(build.collection("chunk")):
            store.replace_payloads(build.collection("chunk"), {point.id: {} for point in batch})

        sync(build, update_artifact(artifact.pk, title="Waders"))

        assert have_vectors_of_their_nodes(build, embedder, store)
        assert verify_build(build).is_sound

    def test_are_not_used_if_the_point_has_the_new_title_already(self, build, embedder, store):
        """As after a process that was killed between writing the points and their rows."""
        artifact = give(LONG_TEXT, title="Birds")
        sync(build, artifact)
        before = {n.pk: n.synced_input_hash for n in build.nodes.all()}
        artifact = update_artifact(artifact.pk, title="Waders")
        sync(build, artifact)
        for pk, synced in before.items():
            Node.objects.filter(pk=pk).update(state=Node.State.PENDING, synced_input_hash=synced)
        embedder.embedded.clear()

        sync(build, artifact)

        assert "Birds" not in embedder.embedded
        assert have_vectors_of_their_nodes(build, embedder, store)


class TestPromoteBuild:
    def test_makes_the_build_live_and_keeps_the_previous_one(self, beside, build, store):
        previous = lifecycle.promote_build(beside)

        assert previous == build
        assert live() == beside
        assert (state_of(beside), state_of(build)) == (State.LIVE, State.STANDBY)

    def test_is_published_as_the_alias(self, beside, build, store):
        lifecycle.publish_aliases()
        alias = build.spec.collection_alias("chunk")
        before = store.aliases()[alias]

        lifecycle.promote_build(beside)
        lifecycle.publish_aliases()

        assert before == build.collection("chunk")
        assert store.aliases()[alias] == beside.collection("chunk")

    def test_is_refused_while_something_is_missing(self, specs, build):
        sync(build, give())
        specs(SHORTER)
        begun = lifecycle.apply_spec("plain")

        with pytest.raises(BuildUnfinished, match="1 documents"):
            lifecycle.promote_build(begun)

        assert live() == build

    def test_does_not_wait_for_documents_that_the_live_build_lacks(self, beside, build):
        give("Only just come in.", title="News")

        lifecycle.promote_build(beside)

        assert live() == beside

    @pytest.mark.parametrize("state", [Artifact.State.PARSED, Artifact.State.RECEIVED])
    def test_waits_for_an_edited_document_of_the_live_build(self, specs, build, state):
        sync(build, give(external_id="notes"))
        edited = give("Another text altogether.", external_id="notes")
        Artifact.objects.filter(pk=edited.pk).update(state=state)
        specs(SHORTER)
        begun = lifecycle.apply_spec("plain")

        with pytest.raises(BuildUnfinished, match="1 documents"):
            lifecycle.promote_build(begun)

        assert live() == build

    def test_does_not_wait_for_a_document_that_cannot_be_parsed(self, specs, build):
        sync(build, give())
        Artifact.objects.update(state=Artifact.State.FAILED)
        specs(SHORTER)
        begun = lifecycle.apply_spec("plain")

        lifecycle.promote_build(begun)

        assert live() == begun

    def test_can_be_forced(self, specs, build):
        sync(build, give())
        specs(SHORTER)
        begun = lifecycle.apply_spec("plain")

        lifecycle.promote_build(begun, is_forced=True)

        assert live() == begun

    def test_retires_the_earlier_standby(self, beside, build, specs):
        lifecycle.promote_build(beside)
        specs("chunks: {strategies: [{name: sentence, max_chars: 90}]}\n")
        third = lifecycle.apply_spec("plain")
        sync(third, *Artifact.objects.all())

        lifecycle.promote_build(third)

        assert [state_of(each) for each in (build, beside, third)] == [
            State.RETIRED, State.STANDBY, State.LIVE,
        ]  # fmt: skip

    def test_refuses_a_cancelled_build(self, beside):
        lifecycle.cancel_build(beside)

        with pytest.raises(WrongBuildState):
            lifecycle.promote_build(beside)


class TestRollBack:
    def test_makes_the_previous_build_live_with_later_changes(self, beside, build):
        lifecycle.promote_build(beside)
        late = give("Written after the promotion.", title="Late")
        sync(build, late)
        sync(beside, late)

        returned = lifecycle.roll_back_index("plain")

        assert (returned, live()) == (build, build)
        assert state_of(beside) == State.STANDBY
        assert Node.objects.filter(build=build, artifact=late, state="synced").exists()
        assert verify_build(live()).is_sound

    def test_raises_an_error_without_a_standby_build(self, build):
        with pytest.raises(WrongBuildState, match="plain has no standby build"):
            lifecycle.roll_back_index("plain")


class TestPauseBuild:
    def test_excludes_it_from_the_work(self, beside):
        lifecycle.pause_build(beside, "Lunch.")

        assert beside not in IndexBuild.objects.not_paused()
        assert beside in IndexBuild.objects.not_retired()

    def test_is_undone_by_resume_build(self, beside):
        lifecycle.pause_build(beside)

        lifecycle.resume_build(beside)

        assert beside in IndexBuild.objects.not_paused()

    def test_is_refused_for_the_live_build(self, build):
        with pytest.raises(WrongBuildState):
            lifecycle.pause_build(build)

    def test_happens_at_the_deadline(self, specs, build):
        specs(SHORTER)
        begun = lifecycle.apply_spec("plain", max_minutes=5)
        IndexBuild.objects.filter(pk=begun.pk).update(
            deadline_at=timezone.now() - timedelta(seconds=1)
        )

        lifecycle.pause_overdue_builds()

        assert begun not in IndexBuild.objects.not_paused()
        assert "minutes" in IndexBuild.objects.get(pk=begun.pk).pause_reason


class TestPruneBuilds:
    def test_retires_the_standby(self, beside, build):
        lifecycle.promote_build(beside)

        assert lifecycle.prune_builds("plain") == [build]
        assert state_of(build) == State.RETIRED
        assert state_of(beside) == State.LIVE

    def test_keeps_a_build_in_progress(self, beside, build):
        assert lifecycle.prune_builds() == []
        assert state_of(beside) == State.BUILDING


class TestRemoveRetiredBuilds:
    def test_removes_collections_and_rows(self, beside, build, store):
        lifecycle.promote_build(beside)
        lifecycle.prune_builds()

        removed = lifecycle.remove_retired_builds(grace_seconds=0)

        assert removed == 1
        assert not store.has_collection(build.collection("chunk"))
        assert not Node.objects.filter(build=build).exists()
        assert IndexBuild.objects.get(pk=build.pk).removed_at is not None
        assert verify_build(beside).is_sound

    def test_waits_for_running_searches(self, beside, build, store):
        lifecycle.promote_build(beside)
        lifecycle.prune_builds()

        assert lifecycle.remove_retired_builds(grace_seconds=60) == 0
        assert store.has_collection(build.collection("chunk"))

    def test_removes_late_writes_of_a_worker(self, beside, build, store):
        lifecycle.promote_build(beside)
        lifecycle.prune_builds()
        lifecycle.remove_retired_builds(grace_seconds=0)
        from indexing.services import ensure_collection

        ensure_collection(build, "chunk")

        lifecycle.remove_retired_builds(grace_seconds=0)

        assert not store.has_collection(build.collection("chunk"))

    def test_never_reuses_the_number(self, beside, build, specs):
        lifecycle.cancel_build(beside)
        lifecycle.remove_retired_builds(grace_seconds=0)

        assert Index.objects.get(name="plain").next_build_number() == beside.number + 1


class TestADeletion:
    def test_reaches_every_build(self, beside, build, store):
        artifact = Artifact.objects.get()
        artifact_id = artifact.pk
        remove_artifact(artifact_id)

        assert remove_artifact_points([artifact_id], "plain").collections == {
            build.collection("chunk"): 0,
            beside.collection("chunk"): 0,
        }
        assert store.count(build.collection("chunk")) == 0
        assert store.count(beside.collection("chunk")) == 0
