import json
from datetime import datetime
from uuid import UUID

import pytest
from django.utils import timezone

from core.exceptions import InvalidInput, StrataError
from documents.exceptions import UnknownArtifact
from documents.models import Artifact, Page
from documents.services import TextContent, add_artifact, remove_artifact, replace_content
from indexing.exceptions import UnchunkableText
from indexing.models import IndexBuild, Node
from indexing.removal import remove_artifact_points
from indexing.services import audit_documents, plan_nodes, sync_nodes
from indexing.stores import get_store
from indexing.verification import verify_build
from summaries import services, text_nodes
from summaries.models import Annotation, BuildLanguageModelCost, Summary
from summaries.services import planning
from tests.indexed import list_unplanned, list_unwritten
from tests.summaries.conftest import due_count, nodes_of, write_all

PAGES = (
    "The heron stands in the river at dawn. It waits for fish without moving.",
    "Granite cools slowly under the mountain. Its crystals have time to grow.",
    "A ledger with two columns keeps merchants honest. Every debit has its credit.",
)


class Refusal(StrataError):
    """The model refuses the text."""


class Outage(StrataError):
    """The model does not answer."""

    is_retryable = True


def give_pages(*pages: str, **given) -> Artifact:
    given.setdefault("title", "Field notes")
    return add_artifact("wide", TextContent(pages), **given)[0]


def payloads(build: IndexBuild, kind: str) -> list[dict]:
    points = get_store().scroll(build.collection(kind))
    return [p.payload for batch in points for p in batch if p.payload["kind"] == kind]


class TestWriting:
    def test_creates_every_kind_of_node(self, wide, writer):
        artifact = give_pages(*PAGES)

        write_all(wide, artifact)

        assert nodes_of(wide, "page_summary").count() == 3
        assert nodes_of(wide, "artifact_summary").count() == 1
        assert nodes_of(wide, "question").count() == 2 * Annotation.objects.count() > 0
        assert verify_build(wide).is_sound
        assert not list_unplanned(wide)
        assert not list_unwritten(wide)

    def test_asks_the_writer_once_for_each_page_chunk_and_artifact(self, wide, writer):
        artifact = give_pages(*PAGES)

        write_all(wide, artifact)
        write_all(wide, artifact)

        assert len(writer.asked) == 3 + 1 + Annotation.objects.count()
        assert BuildLanguageModelCost.objects.get().call_count == len(writer.asked)

    def test_gives_points_the_ids_of_their_pages_and_artifacts(self, wide, writer):
        artifact = give_pages(*PAGES)

        write_all(wide, artifact)

        pages = set(artifact.pages.values_list("pk", flat=True))
        assert set(nodes_of(wide, "page_summary").values_list("point_id", flat=True)) == pages
        assert nodes_of(wide, "artifact_summary").get().point_id == artifact.pk

    def test_stores_the_payload_of_a_summary(self, wide, writer):
        artifact = give_pages(*PAGES)
        before = timezone.now()

        write_all(wide, artifact)

        [payload] = payloads(wide, "artifact_summary")
        assert payload["type"] == "artifact_summary"
        assert payload["entity_id"] == payload["artifact_id"] == str(artifact.pk)
        assert payload["artifact_title"] == "Field notes"
        assert payload["summary_text"].startswith("About: About: The heron")
        assert payload["model_name"] == "counting"
        assert payload["page_count"] == 3
        assert payload["date_embedded"].endswith("Z")
        assert before <= datetime.fromisoformat(payload["date_embedded"]) <= timezone.now()
        first = next(p for p in payloads(wide, "page_summary") if p["page_index"] == 0)
        assert UUID(first["page_id"]) == artifact.pages.get(index=0).pk
        assert "page_count" not in first

    def test_stores_the_payload_of_a_question(self, wide, writer):
        give_pages(*PAGES, metadata={"habitat": ["mountain"], "mood": "grim"})
        artifact = Artifact.objects.get()

        write_all(wide, artifact)

        payload = next(p for p in payloads(wide, "question") if p["page_index"] == 0)
        annotation = Annotation.objects.get(chunk_id=payload["chunk_id"])
        assert payload["question"] in annotation.questions
        assert payload["chunk_text"] == annotation.text
        assert payload["source"] == "Field notes"
        assert payload["summary"] == annotation.summary
        assert payload["habitat"] == ["mountain", "river"]
        assert payload["mood"] == "grim"

    def test_uses_the_summary_of_a_single_page_for_the_artifact(self, wide, writer):
        artifact = give_pages(PAGES[0])

        write_all(wide, artifact)

        texts = set(Summary.objects.values_list("text", flat=True))
        assert len(texts) == 1
        assert (PAGES[0],) in writer.asked
        assert not any(asked[0].startswith("About") for asked in writer.asked)

    def test_skips_a_page_without_text(self, wide, writer):
        artifact = give_pages(PAGES[0], "  ", PAGES[1])

        write_all(wide, artifact)

        assert nodes_of(wide, "page_summary").count() == 2
        assert verify_build(wide).is_sound

    def test_writes_the_other_texts_if_one_page_is_refused(self, wide, writer):
        writer.refused["Granite"] = Refusal()
        artifact = give_pages(*PAGES)

        write_all(wide, artifact)

        assert nodes_of(wide, "page_summary").count() == 2
        assert nodes_of(wide, "artifact_summary").count() == 1
        refused = Summary.objects.get(state="failed")
        assert refused.last_error == "The model refuses the text."
        asked = len(writer.asked)
        write_all(wide, artifact)
        assert len(writer.asked) == asked

    def test_gives_up_a_text_that_kills_its_worker(self, wide, writer, settings):
        artifact = give_pages(*PAGES)
        services.plan_written_texts(artifact.pk, wide)
        deadly = Summary.objects.get(page__index=1)
        Summary.objects.filter(pk=deadly.pk).update(attempts=settings.STRATA_MAX_ATTEMPTS)

        write_all(wide, artifact)

        deadly.refresh_from_db()
        assert deadly.state == "failed"
        assert nodes_of(wide, "page_summary").count() == 2

    def test_continues_after_an_outage_without_repeating_anything(self, wide, writer):
        writer.outage, writer.outage_after = Outage(), 2
        artifact = give_pages(*PAGES)
        with pytest.raises(Outage):
            write_all(wide, artifact)
        assert set(Summary.objects.values_list("attempts", flat=True)) == {0}
        assert Summary.objects.filter(lease_token__isnull=False).count() == 0

        writer.outage = writer.outage_after = None
        write_all(wide, artifact)

        assert len(writer.asked) == len(set(writer.asked)) == 3 + 1 + Annotation.objects.count()
        assert due_count(wide) == 0
        assert verify_build(wide).is_sound

    def test_does_not_delay_the_chunks(self, wide, writer):
        writer.outage = Outage()
        artifact = give_pages(*PAGES)
        services.plan_written_texts(artifact.pk, wide)
        plan_nodes(artifact.pk, wide)

        while sync_nodes(wide):
            pass

        assert get_store().count(wide.collection("chunk")) >= 3
        assert list_unwritten(wide) == [artifact]

    def test_discards_the_result_of_a_lost_claim(self, wide, writer, monkeypatch):
        artifact = give_pages(PAGES[0])
        services.plan_written_texts(artifact.pk, wide)
        original = type(writer).summarise

        def edited_meanwhile(self, inputs, spec):
            for outcome in original(self, inputs, spec):
                replace_content(artifact.pk, TextContent((PAGES[1],)))
                services.plan_written_texts(artifact.pk, wide)
                yield outcome

        monkeypatch.setattr(type(writer), "summarise", edited_meanwhile)
        services.write_due_texts(wide, services.WriteBatchResult())

        assert Summary.objects.of_pages().get().state == "due"
        assert Summary.objects.of_pages().get().text == ""

    def test_is_not_overwritten_by_an_earlier_draft(self, wide, writer, monkeypatch):
        artifact = give_pages(*PAGES)
        services.plan_written_texts(artifact.pk, wide)
        original, held = text_nodes.measure_texts, []

        def written_meanwhile(texts, *args):
            if not held:  # delay the first draft until everything was written and synced
                held.append(texts)
                write_all(wide, artifact)
            return original(texts, *args)

        monkeypatch.setattr(text_nodes, "measure_texts", written_meanwhile)
        plan_nodes(artifact.pk, wide)

        assert held == [[]]
        assert nodes_of(wide, "page_summary").filter(state="synced").count() == 3
        assert nodes_of(wide, "question").count() == 2 * Annotation.objects.count() > 0
        assert verify_build(wide).is_sound


class TestPlanWriting:
    def test_fails_an_artifact_that_cannot_be_chunked(self, wide, writer, monkeypatch):
        def refuse(*args):
            raise UnchunkableText("A letter is longer than the window.")

        monkeypatch.setattr(planning, "draft_annotations", refuse)
        artifact = give_pages(PAGES[0])

        services.plan_written_texts(artifact.pk, wide)

        artifact.refresh_from_db()
        assert (artifact.state, artifact.error_code) == ("failed", "uncuttable")
        assert not list_unwritten(wide)


class TestChanges:
    def test_write_again_only_the_edited_page_and_its_artifact(self, wide, writer):
        artifact = give_pages(*PAGES, external_id="notes")
        write_all(wide, artifact)
        asked = len(writer.asked)

        replace_content(artifact.pk, TextContent((PAGES[0], "Bread rises in town.", PAGES[2])))
        write_all(wide, artifact)

        again = writer.asked[asked:]
        assert ("Bread rises in town.",) in again
        assert sum(len(texts) > 1 for texts in again) == 1  # the artifact's summary
        assert not any(PAGES[0] in texts or PAGES[2] in texts for texts in again)
        assert verify_build(wide).is_sound

    def test_embed_one_vector_for_an_edited_page_summary(self, wide, writer, embedder):
        artifact = give_pages(*PAGES)
        write_all(wide, artifact)
        services.edit_summary(artifact.pk, None, "By hand: three notes.")
        write_all(wide, artifact)
        embedder.embedded.clear()

        services.edit_summary(artifact.pk, artifact.pages.get(index=1).pk, "On granite.")
        write_all(wide, artifact)

        assert embedder.embedded == ["Field notes\nOn granite."]

    def test_make_the_summary_of_the_artifact_due_after_a_page_summary_is_edited(
        self, wide, writer
    ):
        artifact = give_pages(*PAGES)
        write_all(wide, artifact)
        asked = len(writer.asked)

        services.edit_summary(artifact.pk, artifact.pages.get(index=1).pk, "On granite.")
        write_all(wide, artifact)

        assert [len(texts) for texts in writer.asked[asked:]] == [3]
        assert "On granite." in Summary.objects.of_artifacts().get().text

    def test_need_no_model_if_only_a_title_changes(self, wide, writer):
        artifact = give_pages(*PAGES)
        write_all(wide, artifact)
        asked = len(writer.asked)

        artifact.title = "Other notes"
        artifact.save()
        write_all(wide, artifact)

        assert len(writer.asked) == asked
        assert {p["artifact_title"] for p in payloads(wide, "question")} == {"Other notes"}
        assert verify_build(wide).is_sound

    def test_delete_texts_about_a_deleted_page(self, wide, writer):
        artifact = give_pages(*PAGES)
        write_all(wide, artifact)

        replace_content(artifact.pk, TextContent(PAGES[:2]))
        write_all(wide, artifact)

        assert nodes_of(wide, "page_summary").count() == 2
        assert "ledger" not in Summary.objects.of_artifacts().get().text
        assert verify_build(wide).is_sound

    def test_delete_all_texts_of_a_deleted_artifact(self, wide, writer):
        artifact = give_pages(*PAGES)
        write_all(wide, artifact)
        pk = artifact.pk

        remove_artifact(pk)

        assert remove_artifact_points([pk], "wide").is_complete
        assert not Summary.objects.exists()
        assert not Node.objects.exists()

    def test_include_pages_added_without_a_signal(self, wide, writer):
        artifact = give_pages(*PAGES)
        write_all(wide, artifact)

        Page.objects.filter(artifact=artifact, index=0).update(text="Rewritten.", content_hash=None)

        assert audit_documents(wide) == {artifact.pk}
        write_all(wide, artifact)
        assert not list_unwritten(wide)


class TestEditSummary:
    def test_keeps_an_edited_text_when_others_are_written(self, wide, writer):
        artifact = give_pages(*PAGES)
        write_all(wide, artifact)
        services.edit_summary(artifact.pk, artifact.pages.get(index=0).pk, "Mine.")

        replace_content(artifact.pk, TextContent(("All is new.", *PAGES[1:])))
        write_all(wide, artifact)

        assert Summary.objects.get(page__index=0).text == "Mine."

    def test_allows_an_edited_text_to_be_written_again_on_request(self, wide, writer):
        artifact = give_pages(*PAGES)
        write_all(wide, artifact)
        page = artifact.pages.get(index=0)
        services.edit_summary(artifact.pk, page.pk, "Mine.")

        services.edit_summary(artifact.pk, page.pk, None)
        write_all(wide, artifact)

        assert Summary.objects.get(page=page).text.startswith("About: The heron")

    def test_stores_by_hand_as_the_model_name(self, wide, writer):
        artifact = give_pages(*PAGES)
        write_all(wide, artifact)

        [row] = services.edit_summary(artifact.pk, None, "Mine.")
        write_all(wide, artifact)

        assert row.model_name == "by hand"
        assert payloads(wide, "artifact_summary")[0]["model_name"] == "by hand"

    def test_refuses_a_blank_text(self, wide, writer):
        artifact = give_pages(*PAGES)

        with pytest.raises(InvalidInput):
            services.edit_summary(artifact.pk, None, " \n")

    def test_refuses_an_index_without_summaries(self, build, writer):
        artifact, _ = add_artifact("plain", TextContent(PAGES), title="x")

        with pytest.raises(InvalidInput, match="has no summaries"):
            services.edit_summary(artifact.pk, None, "Mine.")

    def test_refuses_a_deleted_artifact(self, wide):
        with pytest.raises(UnknownArtifact):
            services.edit_summary(UUID(int=5), None, "Mine.")


class TestHashInputs:
    def test_distinguishes_texts_from_their_concatenation(self):
        assert services.hash_inputs(["a", "b"]) != services.hash_inputs(["ab"])
        assert services.hash_inputs([]) == services.hash_inputs(json.loads("[]"))
