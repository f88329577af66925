"""Seals, pruning and erasing."""

import hashlib
import json
from datetime import UTC, timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from access.authentication import ApiKeyUser, ApplicationUser
from access.grants import Scope, UserRights
from access.models import ApiKey
from audit import services, tasks
from audit.models import AuditRow, Chain, Subject
from audit.serializers import iter_csv, render_row
from audit.services import identify, iter_rows, verify_chain, write_rows

pytestmark = pytest.mark.django_db
OPERATION = ("POST", "/api/v1/indexes/<index>/artifacts")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(services, "BLOCK", 2)


def compute_earlier_seal(row: AuditRow, previous: str) -> str:
    content = [
        previous, row.pk, row.at.astimezone(UTC).isoformat(), row.subject_id, row.person,
        row.method, row.route, row.index, row.document, row.status,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def make_request(user: Any = None) -> Any:
    return SimpleNamespace(META={"REMOTE_ADDR": "192.0.2.7"}, user=user)


def test_an_application_is_the_user_who_allowed_it():
    caller = identify(make_request(ApplicationUser("ann", 7, UserRights(()))))

    assert caller == (Subject.Kind.USER, 7, "ann, by an application", "192.0.2.7")


def write(count: int, user: Any = None, **values: Any) -> list[AuditRow]:
    """Write rows of as many requests; then change them by ``values``."""
    for _ in range(count):
        write_rows(identify(make_request(user)), OPERATION, 202, [("plain", "", None)])
    rows = AuditRow.objects.filter(pk__in=AuditRow.objects.order_by("-id").values("pk")[:count])
    if values:
        rows.update(**values)
    return list(rows.order_by("id"))


class TestSeals:
    def test_are_given_in_the_order_of_ids_and_hold(self):
        rows = write(5)

        tasks.seal_and_prune()

        assert [*AuditRow.objects.order_by("position").values_list("pk", flat=True)] == [
            row.pk for row in rows
        ]
        newest = AuditRow.objects.latest("position")
        assert verify_chain() == {
            "is_intact": True, "broken_at": None, "rows": 5, "unsealed": 0, "position": 5,
            "seal": newest.seal,
        }  # fmt: skip

    def test_of_a_row_that_commits_late_come_last(self):
        late, other = write(2)
        AuditRow.objects.filter(pk=late.pk).delete()
        tasks.seal_and_prune()
        late.save(force_insert=True)

        tasks.seal_and_prune()

        other.refresh_from_db()
        late.refresh_from_db()
        assert (other.position, late.position) == (1, 2)
        assert verify_chain()["is_intact"]

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("status", 200), ("index", "other"), ("document", "7"), ("method", "GET"),
            ("route", "/"), ("person", ""), ("at", timezone.now() - timedelta(days=9)),
            ("seal", "0" * 64), ("position", 9), ("id", 99), ("revision", 7),
        ],
    )  # fmt: skip
    def test_show_a_changed_row(self, field, value):
        rows = write(5)
        tasks.seal_and_prune()

        AuditRow.objects.filter(pk=rows[2].pk).update(**{field: value})

        found = verify_chain()
        assert (found["is_intact"], found["broken_at"], found["rows"]) == (False, 3, 2)

    @pytest.mark.skipif(connection.vendor != "sqlite", reason="other databases refuse the values")
    @pytest.mark.parametrize(("field", "value"), [("at", "'garbage'"), ("person", "x'ff00'")])
    def test_show_a_value_of_another_type(self, field, value):
        write(5)
        tasks.seal_and_prune()
        with connection.cursor() as cursor:
            cursor.execute(f"UPDATE audit_auditrow SET {field} = {value} WHERE position = 3")

        found = verify_chain()
        assert (found["is_intact"], found["broken_at"], found["rows"]) == (False, 3, 2)

    def test_show_that_a_row_is_about_someone_else(self):
        rows = write(3)
        write(1, User.objects.create_user("reader"))
        tasks.seal_and_prune()

        AuditRow.objects.filter(pk=rows[1].pk).update(subject=Subject.objects.latest("id"))

        assert verify_chain()["broken_at"] == 2

    @pytest.mark.parametrize("position", [1, 3, 5])
    def test_show_a_removed_row(self, position):
        write(5)
        tasks.seal_and_prune()

        AuditRow.objects.filter(position=position).delete()

        assert verify_chain()["broken_at"] == position

    @pytest.mark.parametrize(
        "changed", [{"kind": "key"}, {"number": 9}, {"secret": Fernet.generate_key().decode()}]
    )
    def test_show_that_their_subject_is_another_one_now(self, changed):
        write(2)
        write(1, User.objects.create_user("reader"))
        tasks.seal_and_prune()

        Subject.objects.filter(kind="user").update(**changed)

        assert verify_chain()["broken_at"] == 3
        assert [render_row(row)["id"] for row in AuditRow.objects.all()]  # they can still be read

    def test_of_earlier_releases_hold(self, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr(AuditRow, "compute_seal", compute_earlier_seal)
            write(2)
            tasks.seal_and_prune()

        write(2)
        tasks.seal_and_prune()

        assert verify_chain()["is_intact"]
        AuditRow.objects.filter(position=2).update(status=200)
        assert verify_chain()["broken_at"] == 2

    def test_are_about_subjects_of_earlier_releases_by_the_migration(self):
        write(1)
        Subject.objects.update(secret_hash="")

        import_module("audit.migrations.0004_sealed_subjects").hash_secrets(apps, None)

        [subject] = Subject.objects.all()
        assert subject.secret_hash == hashlib.sha256(subject.secret.encode()).hexdigest()

    def test_show_that_the_end_of_the_chain_was_removed(self):
        write(3)
        tasks.seal_and_prune()

        Chain.objects.all().delete()

        assert verify_chain()["is_intact"] is False

    def test_show_for_good_that_the_end_was_removed_with_the_last_rows(self):
        write(5)
        tasks.seal_and_prune()
        Chain.objects.all().delete()
        AuditRow.objects.filter(position__gt=3).delete()

        write(2)
        tasks.seal_and_prune()

        found = verify_chain()
        assert (found["is_intact"], found["broken_at"], found["unsealed"]) == (False, 4, 0)

    def test_do_not_change_when_more_rows_are_sealed(self):
        write(3)
        tasks.seal_and_prune()
        before = {row.pk: row.seal for row in AuditRow.objects.all()}

        write(2)
        tasks.seal_and_prune()
        tasks.seal_and_prune()

        after = {row.pk: row.seal for row in AuditRow.objects.all()}
        assert before.items() <= after.items()
        assert verify_chain()["position"] == 5

    def test_are_not_there_before_the_task_runs(self):
        write(2)

        found = verify_chain()
        assert (found["is_intact"], found["rows"], found["unsealed"]) == (True, 0, 2)


class TestPruning:
    def test_deletes_old_rows_and_the_chain_holds(self, settings):
        settings.STRATA_AUDIT_LOG_DAYS = 30
        write(3, at=timezone.now() - timedelta(days=31))
        kept = write(2)

        tasks.seal_and_prune()

        assert [*AuditRow.objects.order_by("id")] == kept
        found = verify_chain()
        assert (found["is_intact"], found["rows"], found["position"]) == (True, 2, 5)

    def test_of_every_row_leaves_a_chain_that_goes_on(self, settings):
        settings.STRATA_AUDIT_LOG_DAYS = 30
        write(3, at=timezone.now() - timedelta(days=31))
        tasks.seal_and_prune()
        assert not AuditRow.objects.exists()

        write(1)
        tasks.seal_and_prune()

        assert AuditRow.objects.get().position == 4
        assert verify_chain()["is_intact"]

    def test_keeps_everything_if_the_setting_is_0(self, settings):
        settings.STRATA_AUDIT_LOG_DAYS = 0
        write(3, at=timezone.now() - timedelta(days=9_999))

        tasks.seal_and_prune()

        assert AuditRow.objects.count() == 3

    def test_does_not_hide_that_a_kept_row_was_changed(self, settings):
        settings.STRATA_AUDIT_LOG_DAYS = 30
        write(3, at=timezone.now() - timedelta(days=31))
        kept, _ = write(2)
        tasks.seal_and_prune()

        AuditRow.objects.filter(pk=kept.pk).update(status=200)

        assert verify_chain()["broken_at"] == 4


class TestErasing:
    def test_a_deleted_user_takes_away_their_names_and_breaks_no_chain(self):
        reader = User.objects.create_user("reader")
        write(2, reader)
        write(1, User.objects.create_user("other"))
        tasks.seal_and_prune()

        reader.delete()

        shown = [render_row(row) for row in AuditRow.objects.order_by("id")]
        assert [row["name"] for row in shown] == [None, None, "other"]
        assert [row["address"] for row in shown] == [None, None, "192.0.2.7"]
        assert [row["is_erased"] for row in shown] == [True, True, False]
        assert verify_chain()["is_intact"]

    def test_a_deleted_key_takes_away_its_name(self):
        key, _ = ApiKey.issue("reader")
        write(1, ApiKeyUser("reader", key.pk, Scope.MANAGE))

        key.delete()

        assert render_row(AuditRow.objects.get())["is_erased"]

    def test_the_name_is_nowhere_in_the_tables(self):
        write(1, User.objects.create_user("zanzibar"))

        stored = [*AuditRow.objects.values(), *Subject.objects.values()]
        assert "zanzibar" not in str(stored)
        assert "192.0.2.7" not in str(stored)

    def test_later_rows_of_the_same_caller_are_encrypted_anew(self):
        reader = User.objects.create_user("reader")
        write(1, reader)
        services.erase_subjects(kind="user", number=reader.pk)

        write(1, reader)

        first, second = AuditRow.objects.order_by("id")
        assert first.subject_id != second.subject_id
        assert [render_row(row)["name"] for row in (first, second)] == [None, "reader"]


class TestExport:
    def test_reads_one_block_at_a_time(self, django_assert_num_queries):
        write(5)
        rows = AuditRow.objects.select_related("subject")

        with django_assert_num_queries(0):
            lines = iter_csv(iter_rows(rows))
            next(lines)  # the names of the columns
        with django_assert_num_queries(1):
            next(lines), next(lines)
        with django_assert_num_queries(1):
            next(lines), next(lines)
        assert len([*lines]) == 1

    def test_shows_a_name_that_looks_like_a_formula_as_text(self):
        write(1, User.objects.create_user("=1+1"))

        _, line = iter_csv(AuditRow.objects.all())

        assert ",'=1+1," in line
