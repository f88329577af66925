from collections import Counter

import pytest

from documents.models import Artifact, Page
from indexing import lifecycle
from indexing.estimates import estimate_build
from indexing.models import IndexBuild, Node
from indexing.verification import verify_build
from summaries import services
from summaries.models import Annotation, BuildLanguageModelCost, Summary
from tests.factories import give
from tests.summaries.conftest import SPEC, due_count, write_all


@pytest.fixture
def written(wide, settings) -> Artifact:
    """A document whose texts are all written in the live build, by rules."""
    artifact = give("The heron stands in the shallows at dawn. It waits for fish.", index="wide")
    write_all(wide, artifact)
    return artifact


def begin(settings, spec: str) -> IndexBuild:
    (settings.STRATA_SPECS_DIR / "wide.yaml").write_text(spec)
    return lifecycle.apply_spec("wide")


def said(build: IndexBuild, model) -> list[str]:
    field = "text" if model is Summary else "summary"
    return list(model.objects.filter(build=build).order_by("pk").values_list(field, flat=True))


class TestANewBuild:
    def test_is_estimated_to_keep_the_vectors_of_texts_that_stay(self, wide, written, settings):
        (settings.STRATA_SPECS_DIR / "wide.yaml").write_text(SPEC + "sparse: {language: none}\n")

        kinds = estimate_build("wide").kinds

        kept = {kind: counted.kept for kind, counted in kinds.items()}
        assert kept == dict(Counter(Node.objects.values_list("kind", flat=True)))
        assert {counted.texts for counted in kinds.values()} == {0}

    def test_reuses_texts_written_by_rules_with_the_same_recipe(
        self, wide, written, settings, store
    ):
        begun = begin(settings, SPEC + "sparse: {language: none}\n")

        services.plan_written_texts(written.pk, begun)

        assert due_count(begun) == 0
        assert said(begun, Summary) == said(wide, Summary)
        assert said(begun, Annotation) == said(wide, Annotation)
        write_all(begun, written)
        assert verify_build(begun).is_sound

    def test_writes_texts_again_whose_recipe_changed(self, wide, written, settings):
        begun = begin(settings, SPEC.replace("count: 2", "count: 3"))

        services.plan_written_texts(written.pk, begun)

        assert Annotation.objects.get(build=begun).state == "due"
        assert not Summary.objects.of_pages().filter(build=begun, state="due").exists()

    def test_reuses_edited_texts_despite_another_recipe(self, wide, written, settings):
        page = Page.objects.get()
        services.edit_summary(written.pk, page.pk, "Herons, by hand.")
        services.edit_summary(written.pk, None, "All herons, by hand.")
        begun = begin(
            settings, SPEC.replace("page_summaries: true", "page_summaries: {sentences: 2}")
        )

        services.plan_written_texts(written.pk, begun)

        assert said(begun, Summary) == ["Herons, by hand.", "All herons, by hand."]
        assert due_count(begun) == 0

    def test_writes_texts_of_another_writer_again(self, wide, writer, settings, embedder):
        artifact = give("The heron stands in the shallows at dawn.", index="wide")
        write_all(wide, artifact)  # by a language model, whose completions are stored separately
        begun = begin(settings, SPEC + "sparse: {language: none}\n")

        services.plan_written_texts(artifact.pk, begun)

        assert due_count(begun) == 3


class TestACallLimit:
    def test_pauses_the_build_once_it_is_reached(self, wide, writer, settings):
        artifact = give("One heron.", index="wide")
        other = give("Two herons.", index="wide")
        begun = begin(settings, SPEC + "sparse: {language: none}\n")
        IndexBuild.objects.filter(pk=begun.pk).update(max_calls=1)
        begun.refresh_from_db()
        for each in (artifact, other):
            services.plan_written_texts(each.pk, begun)

        services.write_due_texts(begun, services.WriteBatchResult())
        services.write_due_texts(begun, services.WriteBatchResult())

        assert len(writer.asked) == 1
        assert BuildLanguageModelCost.objects.get(build=begun).call_count == 1
        assert "1 allowed calls" in IndexBuild.objects.get(pk=begun.pk).pause_reason
