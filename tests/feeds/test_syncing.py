"""Documents follow their source: what is new, changed, renamed and gone there."""

from itertools import islice

import pytest
from django.utils import timezone

from core.exceptions import TooLarge
from documents.models import Artifact
from documents.reading import parse_artifact
from documents.services import TextContent, add_artifact, remove_artifact, set_hold, update_artifact
from feeds import fetching, services
from feeds.exceptions import EntryGone, NothingToConfirm, SourcePaused, SourceUnavailable
from feeds.models import Feed, FeedEntry
from feeds.protocol import Listed
from indexing.models import Index
from indexing.spec import FieldSpec
from tests.clients import client_with_key
from tests.factories import PARAGRAPHS, sync
from tests.feeds.conftest import declare, make_feed, read_contents, run, states

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def index(build):
    return build


def fail(listed):
    yield from islice(listed, 2)
    raise SourceUnavailable("The connection broke.")


def half(listed):
    everything = list(listed)
    return iter(everything[: len(everything) // 2])


class TestFirstRun:
    def test_adds_each_document_once(self, notes, script):
        assert read_contents() == script.documents
        assert sorted(script.fetched) == sorted(script.documents)
        assert set(states(notes).values()) == {"current"}
        assert notes.finished_at is not None
        assert (notes.report["listed"], notes.report["stored"]) == (10, 10)

    def test_names_documents_by_their_source(self, notes):
        artifact = Artifact.objects.get(file_name="3.txt")

        assert (artifact.external_id, artifact.added_by) == ("notes:3.txt", "source notes")

    def test_whose_listing_fails_adds_nothing_yet(self, script):
        script.documents, script.lie = {"a.txt": b"A", "b.txt": b"B", "c.txt": b"C"}, fail

        feed = run(make_feed())

        assert read_contents() == {}
        assert (feed.failed_listings, feed.error_code) == (1, "source_unavailable")
        assert feed.waits_until > timezone.now()


class TestLaterRuns:
    def test_work_on_nothing_if_nothing_changed(self, notes, script):
        revision, script.fetched = Artifact.objects.latest("revision").revision, []

        with_nothing_to_do = run(notes)

        assert script.fetched == []
        assert Artifact.objects.latest("revision").revision == revision
        assert with_nothing_to_do.report["unchanged"] == 10

    def test_fetch_only_what_changed(self, notes, script):
        kept = Artifact.objects.get(file_name="4.txt").pk
        script.documents["4.txt"], script.fetched = b"Another note.", []

        feed = run(notes)

        assert script.fetched == ["4.txt"]
        assert read_contents()["4.txt"] == b"Another note."
        assert Artifact.objects.get(file_name="4.txt").pk == kept
        assert feed.report["revised"] == 1

    def test_keep_the_revision_of_what_was_only_touched(self, notes, script):
        revision = Artifact.objects.latest("revision").revision
        script.changing_versions = iter(range(1_000))

        run(notes)

        assert Artifact.objects.latest("revision").revision == revision

    def test_keep_the_document_of_a_renamed_file(self, notes, script):
        kept = Artifact.objects.get(file_name="7.txt").pk
        script.documents["seven.txt"] = script.documents.pop("7.txt")

        feed = run(notes, 2)

        assert Artifact.objects.get(file_name="seven.txt").pk == kept
        assert Artifact.objects.count() == 10
        assert feed.report["removed" if "removed" in feed.report else "missing"] == 0

    def test_keep_the_document_whose_id_stays(self, notes, script):
        kept = Artifact.objects.get(file_name="7.txt").pk
        script.names["7.txt"] = "seven.txt"

        run(notes)

        assert Artifact.objects.get(file_name="seven.txt").pk == kept
        assert states(notes)["seven.txt"] == "current"

    def test_tell_a_new_file_of_an_old_name_from_the_renamed_one(self, notes, script):
        kept = Artifact.objects.get(file_name="7.txt").pk
        script.documents["seven.txt"] = script.documents.pop("7.txt")
        run(notes, 2)
        script.documents["7.txt"] = b"Written later."

        run(notes, 2)

        assert Artifact.objects.get(file_name="seven.txt").pk == kept
        assert read_contents() == script.documents

    def test_add_a_file_again_that_has_another_suffix(self, notes, script):
        script.documents["7.md"] = script.documents.pop("7.txt")

        run(notes, 2)

        assert read_contents() == script.documents

    def test_do_not_bring_back_what_a_person_removed(self, notes, script):
        remove_artifact(Artifact.objects.get(file_name="2.txt").pk)

        run(notes)
        assert "2.txt" not in read_contents()

        script.documents["2.txt"] = b"Changed there."
        run(notes)
        assert read_contents()["2.txt"] == b"Changed there."


class TestRemovals:
    def test_follow_two_full_listings_that_agree(self, notes, script):
        del script.documents["5.txt"]

        once = run(notes)
        assert "5.txt" in read_contents()
        assert states(notes)["5.txt"] == "missing"
        assert (once.next_listing_at - timezone.now()) <= services.AGREE_AFTER

        run(notes)
        assert read_contents() == script.documents
        assert "5.txt" not in states(notes)

    def test_do_not_follow_a_listing_that_failed(self, notes, script):
        script.lie = fail

        feed = run(notes, 3)

        assert read_contents() == script.documents
        assert set(states(notes).values()) == {"current"}
        assert feed.failed_listings == 3

    def test_do_not_follow_an_empty_listing(self, notes, script):
        """A listing of a source that is not there, such as a folder whose disk is not mounted."""
        script.lie = lambda listed: iter(())

        feed = run(notes, 3)

        assert read_contents() == script.documents
        assert services.describe_health(feed) == "waiting"
        assert feed.waiting_removals == 10

        script.lie = None
        feed = run(notes)
        assert services.describe_health(feed) == "well"
        assert set(states(notes).values()) == {"current"}

    def test_do_not_follow_half_a_listing(self, script):
        script.documents = {f"{number:02}.txt": f"Note {number}.".encode() for number in range(20)}
        feed = run(make_feed())
        script.lie = half

        feed = run(feed, 3)

        assert read_contents() == script.documents
        assert feed.waiting_removals == 10

    def test_do_not_count_listings_that_are_not_believed(self, script):
        script.documents = {f"{number:02}.txt": f"Note {number}.".encode() for number in range(20)}
        feed = run(make_feed())
        script.lie = lambda listed: iter(())
        run(feed)
        script.lie = lambda listed: (each for each in listed if each.id != "03.txt")

        run(feed)

        assert states(feed)["03.txt"] == "missing"
        assert "03.txt" in read_contents()

    def test_of_very_many_follow_a_decision(self, script):
        script.documents = {f"{number:02}.txt": f"Note {number}.".encode() for number in range(20)}
        feed = run(make_feed())
        for number in range(10):
            del script.documents[f"{number:02}.txt"]
        feed = run(feed, 2)
        assert feed.waiting_removals == 10

        script.documents["00.txt"] = b"Note 0."  # it comes back before the decision is carried out
        assert services.confirm_removals(feed) == 10
        feed = run(feed)

        assert read_contents() == script.documents
        assert feed.waiting_removals == 0
        with pytest.raises(NothingToConfirm):
            services.confirm_removals(feed)

    def test_wait_for_what_is_new_so_that_a_renamed_file_is_found(self, notes, script):
        kept = Artifact.objects.get(file_name="7.txt").pk
        content = script.documents.pop("7.txt")
        run(notes)
        script.documents["seven.txt"] = content

        run(notes)

        assert Artifact.objects.get(file_name="seven.txt").pk == kept

    def test_wait_for_a_renamed_file_that_cannot_be_fetched_yet(self, notes, script):
        kept = Artifact.objects.get(file_name="7.txt").pk
        script.documents["seven.txt"] = script.documents.pop("7.txt")
        script.fetch_errors["seven.txt"] = OSError("Broken.")
        run(notes, 2)
        assert "7.txt" in read_contents()

        script.fetch_errors.clear()
        notes.entries.update(next_attempt_at=timezone.now())
        run(notes)
        assert Artifact.objects.get(file_name="seven.txt").pk == kept

    def test_leave_a_document_under_a_legal_hold(self, notes, script):
        held = Artifact.objects.filter(file_name="5.txt")
        set_hold(held, True)
        del script.documents["5.txt"]

        run(notes, 3)

        assert held.exists()
        assert "legal hold" in notes.entries.get(path="5.txt").last_error

    def test_leave_a_document_that_a_person_gave_before(self, script):
        script.documents = {f"{number}.txt": f"Note {number}.".encode() for number in range(9)}
        run(make_feed("others"))
        given = Artifact.objects.get(file_name="3.txt")
        Artifact.objects.filter(pk=given.pk).update(
            external_id=None, identity=f"file {given.sha256} .txt", metadata={"checked": True}
        )
        FeedEntry.objects.all().delete()
        feed = run(make_feed("notes"))
        assert feed.entries.get(path="3.txt").artifact == given
        given.refresh_from_db()
        assert given.metadata == {"checked": True}
        del script.documents["3.txt"]

        run(feed, 2)

        assert Artifact.objects.filter(pk=given.pk).exists()
        assert "3.txt" not in states(feed)


class TestFailures:
    def test_of_one_document_do_not_stop_the_others(self, script):
        script.documents = {"a.txt": b"A", "b.txt": b"B"}
        script.fetch_errors["a.txt"] = TooLarge("It is too large.", fix="Split it.")

        feed = run(make_feed())

        assert read_contents() == {"b.txt": b"B"}
        entry = feed.entries.get(path="a.txt")
        assert (entry.attempts, entry.error_code) == (1, "too_large")
        assert entry.last_error == "It is too large. Split it."
        assert entry.next_attempt_at > timezone.now()

    def test_of_what_is_gone_before_it_was_fetched_leave_no_row(self, script):
        script.documents = {"a.txt": b"A", "b.txt": b"B"}
        script.fetch_errors["a.txt"] = EntryGone()

        feed = run(make_feed())

        assert states(feed) == {"b.txt": "current"}

    def test_are_tried_again_and_given_up(self, script, settings):
        script.documents = {"a.txt": b"A"}
        script.fetch_errors["a.txt"] = ValueError("Nonsense.")
        feed = run(make_feed())

        for _ in range(settings.STRATA_MAX_ATTEMPTS):
            feed.entries.update(next_attempt_at=timezone.now())
            services.work_on_feed(feed.pk)

        assert states(feed) == {"a.txt": "failed"}
        assert len(script.fetched) == settings.STRATA_MAX_ATTEMPTS

        script.fetch_errors.clear()
        services.run_now(feed)
        run(feed)
        assert read_contents() == {"a.txt": b"A"}

    def test_that_say_when_to_come_again_are_obeyed(self, script):
        script.documents = {"a.txt": b"A", "b.txt": b"B"}
        busy = SourceUnavailable("Too many requests.")
        busy.retry_after = 600.0
        script.fetch_errors["a.txt"] = busy

        feed = run(make_feed())

        assert script.fetched == ["a.txt"]
        assert (feed.waits_until - timezone.now()).total_seconds() > 590
        assert feed.entries.get(path="a.txt").attempts == 0
        assert not services.work_on_feed(feed.pk)

    def test_of_a_source_that_lists_for_ever_end(self, script):
        def endless(listed):
            number = 0
            while True:
                yield Listed(f"{number}.txt", "1")
                number += 1

        script.lie = endless

        feed = run(make_feed(at_most=1_000))

        assert feed.error_code == "listing_refused"
        assert "at_most" in feed.last_error
        assert read_contents() == {}

    def test_of_a_spec_are_shown(self, script):
        feed = make_feed()
        declare(notes={"type": "vanished"})

        feed = run(feed)

        assert "there is no type 'vanished'" in feed.last_error


class TestAttributes:
    def test_come_from_the_path(self, script):
        script.documents = {"acme/2024/a.txt": b"A", "b.txt": b"B"}

        run(make_feed(path_fields="{client}/{year}/**"))

        assert Artifact.objects.get(file_name="a.txt").metadata == {
            "client": "acme",
            "year": "2024",
        }
        assert Artifact.objects.get(file_name="b.txt").metadata == {}

    @pytest.mark.parametrize(
        ("field", "written", "stored"),
        [
            ({"type": "integer"}, "2024", 2024),
            ({"type": "integer", "many": True}, "2024", [2024]),
            ({"type": "float"}, "0.5", 0.5),
            ({"type": "float"}, "nan", "nan"),
            ({"type": "bool"}, "True", True),
            ({"type": "bool"}, "maybe", "maybe"),
            ({"type": "keyword"}, "acme", "acme"),
        ],
    )
    def test_are_converted_to_what_their_field_holds(self, field, written, stored):
        assert fetching._convert(written, FieldSpec(**field)) == stored

    def test_keep_what_a_person_added(self, script):
        script.documents = {"acme/a.txt": b"A"}
        feed = run(make_feed(path_fields="{client}/*"))
        artifact = Artifact.objects.get()
        update_artifact(artifact.pk, metadata={**artifact.metadata, "checked": True})
        script.documents = {"apex/a.txt": b"A"}

        run(feed)

        assert Artifact.objects.get().metadata == {"client": "apex", "checked": True}

    def test_give_groups_by_the_path(self, script):
        script.documents = {"hr/a.txt": b"A", "all/b.txt": b"B", "else/c.txt": b"C"}

        feed = run(make_feed(groups={"hr/**": ["hr"], "all/**": []}))

        assert Artifact.objects.get(file_name="a.txt").groups == ["hr"]
        assert Artifact.objects.get(file_name="b.txt").groups == []
        assert not Artifact.objects.filter(file_name="c.txt").exists()
        assert "No pattern under groups" in feed.entries.get(path="else/c.txt").last_error

    def test_follow_the_spec_at_once(self, script):
        script.documents = {"a.txt": b"A"}
        feed = run(make_feed(every="1d"))
        services.sync_feeds()
        assert not services.work_on_feed(feed.pk)

        make_feed(every="1d", groups=["hr"])
        while services.work_on_feed(feed.pk):
            pass

        assert Artifact.objects.get().groups == ["hr"]

    def test_follow_the_groups_of_the_source_without_fetching(self, notes, script):
        script.groups["3.txt"], script.fetched = ["hr"], []

        run(notes)

        assert Artifact.objects.get(file_name="3.txt").groups == ["hr"]
        assert script.fetched == []


class TestPeople:
    def test_pause_a_source_and_resume_it(self, notes, script):
        script.documents["new.txt"] = b"New."
        services.pause(notes)
        notes.refresh_from_db()

        run(notes)
        assert "new.txt" not in read_contents()
        with pytest.raises(SourcePaused):
            services.run_now(notes)

        services.resume(notes)
        run(notes)
        assert "new.txt" in read_contents()

    def test_who_pause_it_in_a_run_stop_the_run(self, script):
        script.documents = {f"{number}.txt": b"%d" % number for number in range(10)}
        feed = make_feed()

        def pause_then_list(listed):
            yield from islice(listed, 3)
            services.pause(feed)
            yield from listed

        script.lie = pause_then_list
        run(feed)

        assert read_contents() == {}
        assert feed.lease_token is None

    def test_who_leave_it_out_of_the_spec_lose_no_document(self, notes, script):
        declare()
        notes.refresh_from_db()

        assert not notes.is_declared
        assert not services.work_on_feed(notes.pk)
        assert read_contents() == script.documents

        declare(notes={"type": "scripted"})
        script.fetched = []
        run(notes)
        assert script.fetched == []

    def test_who_look_first_see_what_a_run_would_do(self, notes, script):
        script.documents["new.txt"] = b"New."
        script.documents["1.txt"] = b"Changed."
        script.documents["two.txt"] = script.documents.pop("2.txt")
        del script.documents["3.txt"]
        before = list(notes.entries.values())

        found = services.preview(notes)

        assert found["added"] == {"count": 1, "bytes": 4, "paths": ["new.txt"]}
        assert found["changed"] == {"count": 1, "bytes": 8, "paths": ["1.txt"]}
        assert found["renamed"] == {"count": 1, "bytes": 7, "paths": ["two.txt"]}
        assert found["removed"] == {"count": 1, "bytes": 7, "paths": ["3.txt"]}
        assert found["unchanged"]["count"] == 7

        script.fetch_errors["two.txt"] = EntryGone()
        assert services.preview(notes)["renamed"]["count"] == 0
        assert list(notes.entries.values()) == before


def test_sources_of_a_removed_index_are_forgotten(notes):
    Index.objects.filter(pk="plain").delete()

    services.sync_feeds()

    assert not Feed.objects.exists()


def test_an_index_that_was_removed_and_made_again_gets_its_documents_again(notes, script):
    Artifact.objects.all().delete()
    Index.objects.filter(pk="plain").update(created_at=timezone.now())

    services.sync_feeds()
    run(Feed.objects.get())

    assert read_contents() == script.documents


def test_a_text_with_the_id_of_a_document_is_another_one(script):
    add_artifact("plain", TextContent(("Given by hand.",)), title="By hand", external_id="a.txt")
    script.documents = {"a.txt": b"A"}

    run(make_feed())

    assert Artifact.objects.count() == 2


def test_what_is_deleted_at_the_source_is_no_longer_answered(index, script):
    script.documents = {
        "herons.txt": PARAGRAPHS[0].encode(), "granite.txt": PARAGRAPHS[1].encode(),
    }  # fmt: skip
    feed = run(make_feed())
    for artifact in Artifact.objects.all():
        parse_artifact(artifact.pk)
    sync(index, *Artifact.objects.all())
    client = client_with_key()
    address = "/api/v1/search/pages?index=plain&query=heron"

    def find() -> set[str]:
        return {hit["artifact"]["file_name"] for hit in client.get(address).json()["hits"]}

    assert "herons.txt" in find()
    del script.documents["herons.txt"]

    run(feed, 2)

    assert find() == {"granite.txt"}
