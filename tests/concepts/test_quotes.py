import uuid

import pytest

from concepts import quotes, tasks
from concepts.exceptions import QuoteNotFound
from concepts.models import Concept, Instance
from concepts.quotes import add_quote, find_artifacts_with_stale_quotes, relocate_quotes
from concepts.serializers import check_quote
from concepts.services import create_concept
from core.exceptions import InvalidInput
from documents.models import Source
from documents.services import TextContent, add_artifact, remove_artifact, replace_content
from tests.concepts.conftest import INDEX
from tests.factories import give

TEXT = "The heron stands in the shallows at dawn. Granite cools slowly under the ground."


@pytest.fixture
def document(knowledge, relocations):
    return give(TEXT, index=INDEX)


@pytest.fixture
def instance(heron, document):
    return add_quote(heron.pk, "in the  SHALLOWS", artifact_id=document.pk)[0]


def verdict(instance):
    instance.refresh_from_db()
    source = Source.objects.filter(pk=instance.source_id).first()
    return check_quote(instance, source)


class TestAddInstance:
    def test_stores_the_quote_exactly_as_it_is_in_the_source(self, instance):
        place = slice(instance.start_offset, instance.end_offset)

        assert instance.quote == "in the shallows"
        assert instance.source.text[place] == instance.quote
        assert verdict(instance) == "exact"

    def test_adds_the_same_quote_once(self, heron, document, instance):
        again, is_new = add_quote(heron.pk, "in the shallows", source_id=document.sources.get().pk)

        assert (again, is_new) == (instance, False)

    def test_refuses_a_quote_that_is_not_in_the_source(self, heron, document):
        with pytest.raises(QuoteNotFound) as caught:
            add_quote(heron.pk, "in the depths", artifact_id=document.pk)

        assert caught.value.field == "quote"
        assert not Instance.objects.exists()

    def test_refuses_a_source_of_another_index(self, heron, document):
        other = give(TEXT, index="plain")

        with pytest.raises(InvalidInput) as caught:
            add_quote(heron.pk, "The heron", artifact_id=other.pk)
        assert caught.value.field == "artifact"
        with pytest.raises(InvalidInput) as caught:
            add_quote(heron.pk, "The heron")
        assert caught.value.field == "source"
        with pytest.raises(InvalidInput):
            add_quote(heron.pk, "The heron", source_id=uuid.uuid4())


class TestRelocateInstances:
    def test_finds_a_quote_in_the_changed_document(
        self, document, instance, relocations, django_capture_on_commit_callbacks
    ):
        with django_capture_on_commit_callbacks(execute=True):
            replace_content(document.pk, TextContent((f"A new first sentence. {TEXT}",)))
        before = verdict(instance)

        relocated = relocate_quotes(document.pk)

        assert (before, relocated, verdict(instance)) == ("stale", 1, "exact")
        assert instance.start_offset == 39
        assert str(document.pk) in relocations
        assert not list(find_artifacts_with_stale_quotes())

    def test_marks_a_missing_quote_as_lost_until_it_is_in_the_text_again(
        self, heron, document, instance
    ):
        replace_content(document.pk, TextContent(("Nothing of the kind.",)))
        assert list(find_artifacts_with_stale_quotes()) == [document.pk]
        relocate_quotes(document.pk)
        lost = verdict(instance)
        is_bare = list(Concept.objects.with_quotes("none")) == [heron]

        replace_content(document.pk, TextContent((TEXT,)))
        relocate_quotes(document.pk)

        assert (lost, is_bare) == ("lost", True)
        assert verdict(instance) == "exact"
        assert not Concept.objects.with_quotes("none").exists()

    def test_touches_only_the_instances_of_the_source_that_changed(self, heron, document, instance):
        other = give("A heron again, elsewhere.", index=INDEX)
        elsewhere, _ = add_quote(heron.pk, "A heron", artifact_id=other.pk)
        source = document.sources.get()
        source.text = source.text.replace("shallows", "shallowz")
        source.save()

        assert (verdict(instance), verdict(elsewhere)) == ("stale", "exact")
        assert list(find_artifacts_with_stale_quotes()) == [document.pk]

        source.text = source.text.replace("shallowz", "shallows")
        source.save()
        assert verdict(instance) == "exact"

    def test_prefers_the_source_in_which_the_quote_was(self, heron, relocations):
        document, _ = add_artifact(INDEX, TextContent((TEXT, f"Again: {TEXT}")), title="Twice")
        second = document.sources.get(ordinal=1)
        instance, _ = add_quote(heron.pk, "in the shallows", source_id=second.pk)
        second.text = f"Once {second.text}"
        second.save()

        relocate_quotes(document.pk)

        assert verdict(instance) == "exact"
        assert instance.source == second

    def test_merges_two_instances_at_the_same_place(self, heron, document, instance):
        replace_content(document.pk, TextContent((TEXT + " More.",)))
        add_quote(heron.pk, "in the shallows", artifact_id=document.pk)

        relocate_quotes(document.pk)

        assert verdict(Instance.objects.get()) == "exact"

    def test_does_nothing_for_a_deleted_document(self, db):
        assert relocate_quotes(uuid.uuid4()) == 0

    def test_is_done_by_the_reconciliation_if_no_signal_was_sent(self, document, instance):
        Source.objects.filter(artifact=document).update(text=f"So: {TEXT}", content_hash="0" * 64)

        tasks.reconcile_concepts()

        assert verdict(instance) == "exact"


class TestRemovingADocument:
    def test_deletes_its_quotes_and_keeps_the_concept(self, heron, document, instance):
        crane = create_concept(INDEX, "Crane")
        other = give("The crane dances.", index=INDEX)
        add_quote(crane.pk, "crane", artifact_id=other.pk)

        remove_artifact(document.pk)

        assert set(Concept.objects.with_quotes("none")) == {heron}
        assert set(Concept.objects.with_quotes("some")) == {crane}


def test_a_quote_has_a_maximum_length(heron, document):
    with pytest.raises(InvalidInput, match="quote must have at most"):
        add_quote(heron.pk, "x" * (quotes.MAX_QUOTE_CHARS + 1), artifact_id=document.pk)
