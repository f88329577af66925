"""Documents expire: the upkeep deletes those that have not changed for `keep_days`."""

import logging
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from documents.models import Artifact
from documents.services import update_artifact
from indexing import removal, tasks
from indexing.exceptions import InvalidSpec, StoreUnavailable
from indexing.models import Node
from indexing.services import load_specs, store_search_settings
from indexing.spec import parse_spec
from tests.factories import give, load_index, sync

pytestmark = pytest.mark.django_db(transaction=True)


def age(artifact: Artifact, **how_long: float) -> Artifact:
    changed_at = timezone.now() - timedelta(**how_long)
    Artifact.objects.filter(pk=artifact.pk).update(updated_at=changed_at)
    return artifact


def keep(build, days: int | None) -> None:
    store_search_settings(build.index, build.spec.model_copy(update={"keep_days": days}))


@pytest.fixture
def documents(build, store) -> dict[str, Artifact]:
    """Two that have not changed for 31 days, one of them changed lately; one of 29 days."""
    found = {name: give(f"{name} is about herons.") for name in ("old", "young", "changed")}
    sync(build, *found.values())
    age(found["old"], days=31)
    age(found["changed"], days=31)
    age(found["young"], days=29)
    return found


class TestExpiry:
    def test_deletes_old_documents_with_their_points(self, build, documents, store, caplog):
        update_artifact(documents["changed"].pk, title="Herons")
        keep(build, 30)

        with caplog.at_level(logging.INFO, "indexing.removal"):
            tasks.reconcile_store()

        assert set(Artifact.objects.all()) == {documents["young"], documents["changed"]}
        assert not Node.objects.filter(artifact=documents["old"].pk).exists()
        assert store.count(build.collection("chunk")) == 2
        [receipt] = [line for line in caplog.messages if "expired" in line]
        assert str(documents["old"].pk) in receipt
        assert "'points': 0" in receipt
        revision = int(re.search(r"revision (\d+)", receipt)[1])
        assert revision > Artifact.objects.get(pk=documents["changed"].pk).revision

    def test_keeps_all_where_the_spec_names_no_days(self, build, documents):
        load_index("library")  # another index, which has them
        keep(build, None)

        assert not removal.remove_expired_artifacts()
        assert Artifact.objects.count() == 3

    def test_concerns_only_the_index_that_names_days(self, build, documents, store):
        other = load_index("library")
        age(give(index="library"), days=31)
        keep(build, 30)

        removal.remove_expired_artifacts()

        assert Artifact.objects.filter(index="library").exists()
        keep(other, 30)
        removal.remove_expired_artifacts()
        assert not Artifact.objects.filter(index="library").exists()

    def test_keeps_documents_under_a_legal_hold_until_it_ends(self, build, documents):
        held = documents["old"]
        update_artifact(held.pk, is_held=True)
        keep(build, 30)

        removal.remove_expired_artifacts()

        assert held in Artifact.objects.all()
        update_artifact(held.pk, is_held=False)
        removal.remove_expired_artifacts()
        assert list(Artifact.objects.all()) == [documents["young"]]

    def test_deletes_the_files_of_a_zip_with_it_and_not_before(self, build, documents, store):
        whole, part = documents["young"], documents["changed"]
        Artifact.objects.filter(pk=part.pk).update(part_of=whole)
        keep(build, 30)

        removal.remove_expired_artifacts()
        assert set(Artifact.objects.all()) == {whole, part}

        age(whole, days=31)
        update_artifact(part.pk, is_held=True)
        assert not removal.remove_expired_artifacts()
        assert set(Artifact.objects.all()) == {whole, part}

        update_artifact(part.pk, is_held=False)
        removal.remove_expired_artifacts()
        assert not Artifact.objects.exists()
        assert store.count(build.collection("chunk")) == 0

    def test_keeps_a_document_that_changes_at_the_last_moment(self, build, documents, monkeypatch):
        keep(build, 30)
        remove_points = removal.remove_artifact_points

        def change_the_other(artifact_ids, index):
            [other] = Artifact.objects.filter(updated_at__lt=timezone.now() - timedelta(days=30))
            update_artifact(other.pk, title="Changed")
            return remove_points(artifact_ids, index)

        monkeypatch.setattr(removal, "remove_artifact_points", change_the_other)

        assert not removal.remove_expired_artifacts()

        assert Artifact.objects.count() == 2

    def test_says_that_some_are_left_when_its_time_is_up(self, build, documents):
        keep(build, 30)

        assert removal.remove_expired_artifacts(timeout_seconds=0)

        assert Artifact.objects.count() == 2
        tasks.remove_expired_artifacts()
        assert Artifact.objects.count() == 1

    def test_leaves_points_to_the_reconciliation_while_the_store_is_away(
        self, build, documents, monkeypatch, store, caplog
    ):
        def refuse(*given):
            raise StoreUnavailable

        keep(build, 30)
        monkeypatch.setattr(removal, "remove_artifact_points", refuse)

        with caplog.at_level(logging.INFO, "indexing.removal"):
            removal.remove_expired_artifacts()

        assert list(Artifact.objects.all()) == [documents["young"]]
        assert any("not removed yet" in line for line in caplog.messages)
        monkeypatch.undo()
        tasks.reconcile_indexes()
        assert store.count(build.collection("chunk")) == 1


class TestSpec:
    def test_takes_effect_without_a_new_build(self, build, specs):
        specs("keep_days: 7\n")

        assert load_specs() == []

        build.refresh_from_db()
        assert parse_spec("plain", "keep_days: 7").fingerprint == build.fingerprint
        assert type(build).objects.live().get(pk=build.pk).spec.keep_days == 7

    @pytest.mark.parametrize("days", ["0", "-1", "36501", "1.5", "soon"])
    def test_refuses_what_is_no_number_of_days(self, days):
        with pytest.raises(InvalidSpec, match="keep_days"):
            parse_spec("plain", f"keep_days: {days}")
