import json

import pytest
from django.conf import settings as django_settings
from django.utils import timezone

from concepts import extraction, services, tasks
from concepts.extraction import (
    count_unfinished_extractions,
    extract_concepts,
    has_pending_extractions,
    requeue_extractions,
)
from concepts.models import Concept, Extraction, Instance, Relationship, RelationshipType
from concepts.quotes import relocate_quotes
from concepts.serializers import check_quote
from core.leases import release_all_leases
from core.text import hash_text
from documents.models import Artifact, Source
from documents.services import TextContent, replace_content
from indexing.exceptions import InvalidSpec
from indexing.models import Node
from indexing.services import plan_unannounced_standalone_nodes, store_search_settings
from indexing.spec import parse_spec
from indexing.verification import verify_build
from language_models import llm
from language_models.exceptions import (
    LanguageModelCallsSpent,
    LanguageModelCost,
    LanguageModelRefused,
    LanguageModelUnavailable,
)
from language_models.pace import Pace
from summaries.models import BuildLanguageModelCost
from summaries.services import retry_failed_work
from tests.acting import act
from tests.concepts.conftest import INDEX
from tests.factories import give, sync

TEXT = (
    "Nitrogen fixation enriches poor soils over many years. Clover roots host the bacteria that "
    "make nitrogen fixation possible. Farmers rotate clover with wheat for that very reason."
)

COST = LanguageModelCost(call_count=1, prompt_tokens=100, completion_tokens=10)


class ObedientModel:
    """Answers about a passage what the test has scripted."""

    name = "obedient"
    pace = Pace()  # not measured

    def __init__(self):
        self.asked = []
        self.told = {}  # marker in a passage -> the answer about it
        self.error = None

    def complete(self, system, user, schema, **options):
        self.asked.append((system, user))
        if self.error is not None:
            raise self.error
        [said] = [said for marker, said in self.told.items() if marker in user]
        return llm.Completion(schema.model_validate(said), self.name, COST)


@pytest.fixture
def model(monkeypatch):
    fake = ObedientModel()
    monkeypatch.setattr(llm, "is_configured", lambda: True)
    monkeypatch.setattr(llm, "get_language_model", lambda name="": fake)
    return fake


def extract(build):
    while extract_concepts(build):
        pass


def passage(model, concepts, relationships=()):
    """Make a text for which the model returns these; equal arguments give an equal text."""
    said = {"concepts": concepts, "relationships": relationships}
    marker = f"Note {hash_text(json.dumps(said))[:8]}."
    model.told[marker] = said
    return f"{TEXT} {marker}"


CLOVER = {"label": "Clover", "description": "A legume", "quotes": ["clover ROOTS"]}
FIXATION = {"label": "Nitrogen fixation", "quotes": ["Nitrogen fixation enriches poor soils"]}
EDGE = {
    "source": "clover",
    "type": "ENABLES",
    "category": "structural",
    "target": FIXATION["label"],
}


class TestExtractConcepts:
    def test_finds_nothing_without_a_language_model(self, knowledge, relocations):
        give(TEXT, index=INDEX)

        extract(knowledge)

        assert not has_pending_extractions(knowledge)
        assert not Concept.objects.exists()
        assert not Extraction.objects.exists()

    def test_reads_existing_documents_once_a_model_is_configured(
        self, knowledge, relocations, request
    ):
        document = give(TEXT, index=INDEX)
        extract(knowledge)
        model = request.getfixturevalue("model")
        model.told["Nitrogen"] = {"concepts": [CLOVER, FIXATION], "relationships": [EDGE]}

        is_due = has_pending_extractions(knowledge)
        extract(knowledge)
        plan_unannounced_standalone_nodes(knowledge)
        sync(knowledge, document)
        sync(knowledge)

        assert is_due
        for instance in Instance.objects.select_related("source"):
            assert check_quote(instance, instance.source) == "exact"
        assert verify_build(knowledge).findings == {}
        assert Node.objects.filter(build=knowledge, kind="concept", state="synced").count() == 2

    def test_counts_as_pending_work_of_its_documents(self, knowledge, relocations, model):
        document = give(passage(model, [CLOVER]), index=INDEX)
        other = give("Another text.", index=INDEX)

        def count(*artifacts):
            return count_unfinished_extractions(INDEX, [artifact.pk for artifact in artifacts])

        counts = [count(document), count(document, other)]
        other.delete()
        extract(knowledge)
        counts.append(count(document))
        sync(knowledge)

        assert counts == [1, 2, 1]
        assert count(document) == 0

    def test_stores_concepts_quotes_and_relationships(self, knowledge, relocations, model):
        give(passage(model, [CLOVER, FIXATION], [EDGE]), index=INDEX)

        extract(knowledge)

        assert set(Concept.objects.values_list("label", "description")) == {
            ("Clover", "A legume"),
            ("Nitrogen fixation", ""),
        }
        assert str(Relationship.objects.get()) == "Clover ENABLES Nitrogen fixation"
        assert RelationshipType.objects.get().category == "structural"
        assert Instance.objects.get(concept__label="Clover").quote == "Clover roots"
        assert BuildLanguageModelCost.objects.get(build=knowledge).call_count == 1
        [(system, _)] = model.asked
        assert "at most 5 concepts" in system

    def test_rejects_and_counts_quotes_that_are_not_in_the_source(
        self, knowledge, relocations, model
    ):
        invented = {"label": "Phlogiston", "quotes": ["Phlogiston burns", "it is heavy"]}
        unsaid = {"label": "Aether", "quotes": []}
        partly = {**CLOVER, "quotes": ["Clover roots", "clover is blue"]}
        dangling = {**EDGE, "target": "Phlogiston"}
        looped = {**EDGE, "target": "Clover"}
        give(passage(model, [invented, unsaid, partly], [dangling, looped]), index=INDEX)

        extract(knowledge)

        row = Extraction.objects.get()
        assert (row.concept_count, row.refused_count) == (1, 6)
        assert Concept.objects.get().label == "Clover"
        assert not Relationship.objects.exists()

    def test_keeps_the_text_of_a_concept_that_people_wrote(self, knowledge, relocations, model):
        services.create_concept(INDEX, "CLOVER", description="By hand")
        give(passage(model, [CLOVER]), index=INDEX)

        extract(knowledge)

        concept = Concept.objects.get()
        assert (concept.label, concept.description) == ("CLOVER", "By hand")
        assert concept.quotes.count() == 1

    def test_sends_one_request_for_each_text(self, knowledge, relocations, model):
        give(passage(model, [CLOVER]), index=INDEX)
        extract(knowledge)
        extract(knowledge)
        give(passage(model, [CLOVER]), index=INDEX, title="A copy")
        extract(knowledge)

        assert len(model.asked) == 1
        assert not has_pending_extractions(knowledge)
        assert BuildLanguageModelCost.objects.get(build=knowledge).reused_count == 1

    def test_processes_a_changed_source_again(self, knowledge, relocations, model):
        document = give(passage(model, [CLOVER]), index=INDEX)
        extract(knowledge)

        replace_content(document.pk, TextContent((passage(model, [FIXATION]),)))
        is_due = has_pending_extractions(knowledge)
        relocate_quotes(document.pk)
        extract(knowledge)

        assert is_due
        assert Extraction.objects.count() == 1
        labels = Concept.objects.with_quotes("some").values_list("label", flat=True)
        assert set(labels) == {"Clover", "Nitrogen fixation"}

    def test_bypasses_the_cache_on_request(self, knowledge, relocations, model):
        give(passage(model, [CLOVER]), index=INDEX)
        extract(knowledge)

        count = requeue_extractions(Extraction.objects.all())
        extract(knowledge)

        assert (count, len(model.asked)) == (1, 2)
        assert not Extraction.objects.get().is_cache_bypassed

    def test_counts_no_attempt_in_an_outage(self, knowledge, relocations, model):
        give(passage(model, [CLOVER]), index=INDEX)
        model.error = LanguageModelUnavailable()
        with pytest.raises(LanguageModelUnavailable):
            extract_concepts(knowledge)
        row = Extraction.objects.get()
        held = (row.state, row.attempts, row.lease_token)

        model.error = None
        extract(knowledge)

        assert held == ("due", 0, None)
        assert Concept.objects.get().label == "Clover"

    def test_stops_at_the_call_limit_of_its_build(self, knowledge, relocations, model):
        knowledge.max_calls = 1
        knowledge.save(update_fields=["max_calls"])
        give(passage(model, [CLOVER]), index=INDEX)
        give(f"Another text. {passage(model, [FIXATION])}", index=INDEX)

        extract_concepts(knowledge)
        with pytest.raises(LanguageModelCallsSpent, match="used its 1 allowed calls"):
            extract_concepts(knowledge)

        assert len(model.asked) == 1
        assert sorted(Extraction.objects.values_list("state", "attempts")) == [
            ("due", 0), ("written", 0)
        ]  # fmt: skip

    def test_gives_up_after_repeated_unexpected_errors(
        self, knowledge, relocations, model, settings
    ):
        give(passage(model, [CLOVER]), index=INDEX)
        model.error = ZeroDivisionError("a defect")

        for _ in range(settings.STRATA_MAX_ATTEMPTS + 2):
            extract_concepts(knowledge)

        row = Extraction.objects.get()
        assert (row.state, row.last_error) == ("failed", "ZeroDivisionError: a defect")

    def test_fails_a_refused_source_and_continues_with_the_others(
        self, knowledge, relocations, model, monkeypatch
    ):
        give(passage(model, [CLOVER]), index=INDEX)
        other = give(f"Another text. {passage(model, [FIXATION])}", index=INDEX)
        complete = model.complete

        def refuse(system, user, schema, **options):
            if "Another text" in user:
                raise LanguageModelRefused("Not this one.")
            return complete(system, user, schema)

        model.complete = refuse
        extract(knowledge)

        assert Concept.objects.get().label == "Clover"
        failed = Extraction.objects.get(state="failed")
        assert failed.source.artifact_id == other.pk
        assert failed.last_error == "Not this one."

    def test_asks_again_for_what_failed_when_the_work_of_the_index_is_retried(
        self, knowledge, relocations, model
    ):
        artifact = give(passage(model, [CLOVER]), index=INDEX)
        model.error = LanguageModelRefused("Not this one.")
        extract(knowledge)
        model.error = None

        retried = retry_failed_work(Artifact.objects.filter(pk=artifact.pk), Node.objects.none())
        extract(knowledge)

        assert retried.texts == 1
        assert Concept.objects.get().label == "Clover"

    def test_gives_up_a_source_after_its_last_attempt(
        self, knowledge, relocations, model, monkeypatch, settings
    ):
        settings.STRATA_MAX_ATTEMPTS = 3
        give(passage(model, [CLOVER]), index=INDEX)
        monkeypatch.setattr(extraction, "add_quote", lambda *given, **more: 1 / 0)

        extract(knowledge)

        row = Extraction.objects.get()
        assert (row.state, row.attempts) == ("failed", 3)
        assert not Concept.objects.exists()

    def test_skips_sources_that_another_worker_has_claimed(self, knowledge, relocations, model):
        give(passage(model, [CLOVER]), index=INDEX)
        extraction._plan_extractions(knowledge)
        Extraction.objects.update(
            lease_token="00000000-0000-0000-0000-000000000001",
            leased_until=timezone.now() + timezone.timedelta(minutes=1),
        )

        assert extract_concepts(knowledge) == 0
        release_all_leases()
        assert extract_concepts(knowledge) == 1

    def test_is_enqueued_by_the_reconciliation(self, knowledge, relocations, model):
        give(passage(model, [CLOVER]), index=INDEX)

        tasks.reconcile_concepts()

        assert Concept.objects.get().label == "Clover"

    def test_is_enqueued_by_a_new_document(
        self, knowledge, model, django_capture_on_commit_callbacks
    ):
        with django_capture_on_commit_callbacks(execute=True):
            give(passage(model, [CLOVER]), index=INDEX)

        assert Concept.objects.get().quotes.count() == 1

    def test_does_nothing_if_the_spec_does_not_request_it(self, knowledge, relocations):
        give(TEXT, index=INDEX)
        quiet = knowledge.spec.concepts.model_copy(update={"extract": False})
        store_search_settings(
            knowledge.index, knowledge.spec.model_copy(update={"concepts": quiet})
        )
        del knowledge.spec

        assert not has_pending_extractions(knowledge)
        assert extract_concepts(knowledge) == 0
        assert Source.objects.exists()


class TestConceptSpec:
    def test_can_be_enabled_without_extraction(self):
        spec = parse_spec("some", "concepts: true")

        assert spec.concepts is not None
        assert not spec.concepts.extract
        assert spec.kinds == ("chunk", "concept", "relationship_type", "relationship")
        assert parse_spec("some", "concepts: false").concepts is None

    def test_requires_a_new_build_only_when_concepts_are_enabled(self):
        off, on, extracted = (
            parse_spec("some", text).fingerprint
            for text in ("", "concepts: true", "concepts: {extract: true, per_source: 9}")
        )

        assert on == extracted != off

    def test_lists_the_allowed_settings(self):
        with pytest.raises(InvalidSpec, match=r"concepts.count: .*extract, per_source"):
            parse_spec("some", "concepts: {count: 3}")


class TestExtractionAdmin:
    def test_shows_the_results_and_queues_a_source_again(
        self, admin_client, knowledge, relocations, model
    ):
        give(passage(model, [CLOVER]), index=INDEX)
        extract(knowledge)

        said = act(
            admin_client, "concepts_extraction", "requeue_extractions", Extraction.objects.get()
        )

        assert said == "Sources whose concepts are extracted again: 1."
        assert Extraction.objects.get().state == "due"


def test_extraction_is_enabled_in_the_preset():
    text = (django_settings.BASE_DIR / "specs" / "knowledge.yaml").read_text(encoding="utf-8")

    assert parse_spec("knowledge", text).concepts.extract
