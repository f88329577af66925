"""Write rows of the audit log, seal, verify and prune them.

Rows are written without a seal, so that writers do not wait for one another. The periodic task
gives them positions in the order of ids, and seals: a hash of the seal before and of the row. A row
that commits late gets a later position.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from http import HTTPStatus
from itertools import takewhile

from cryptography.fernet import Fernet
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import Max, QuerySet
from django.http import HttpRequest
from django.utils import timezone

import strata_types
from access.authentication import ACTING_FOR, ApiKeyUser, ApplicationUser
from access.client_address import get_client_address
from audit.models import AuditRow, Chain, Subject, hash_secret
from core.events import Target

BLOCK = 1_000  # rows read, sealed or deleted at once
_SEAL = "UPDATE audit_auditrow SET position = %s, seal = %s WHERE id = %s"  # bulk_update is slow

READING_METHODS = ("GET", "HEAD", "OPTIONS")

Caller = tuple[Subject.Kind, int, str, str | None]  # with number, name and address


def identify(request: HttpRequest) -> Caller:
    """Who sends a request, which has been authenticated."""
    user: object = request.user
    address = get_client_address(request)
    if ACTING_FOR in request.META:
        number, name = request.META[ACTING_FOR]
        return Subject.Kind.USER if number else Subject.Kind.NOBODY, number, name, address
    if isinstance(user, ApiKeyUser):
        kind = Subject.Kind.SERVER if user.key_id is None else Subject.Kind.KEY
        return kind, user.key_id or 0, user.name, address
    if isinstance(user, ApplicationUser):
        return Subject.Kind.USER, user.pk, f"{user.name}, by an application", address
    if isinstance(request.user, User):
        return Subject.Kind.USER, request.user.pk, request.user.get_username(), address
    return Subject.Kind.NOBODY, 0, "", address


def write_rows(
    caller: Caller, operation: tuple[str, str], status: int, targets: Iterable[Target]
) -> None:
    """Write a row for each target of an operation, which is a method and a route. A target without
    an index or a document has an empty text there."""
    (kind, number, name, address), (method, route) = caller, operation
    secret = Fernet.generate_key().decode()
    subject, _ = Subject.objects.exclude(secret="").get_or_create(
        kind=kind, number=number, defaults={"secret": secret, "secret_hash": hash_secret(secret)}
    )
    facts = {"subject": subject, "person": subject.encrypt(name, address), "status": status}
    AuditRow.objects.bulk_create(
        AuditRow(
            method=method, route=route, index=index, document=document, revision=revision, **facts
        )
        for index, document, revision in targets
    )


def select_changes(document: str) -> QuerySet[AuditRow]:
    """What changed a document, newest first; nothing that was refused."""
    rows = AuditRow.objects.filter(document=document, status__lt=HTTPStatus.BAD_REQUEST)
    return rows.exclude(method__in=READING_METHODS).select_related("subject")


def erase_subjects(**which: object) -> int:
    """Drop the secrets of subjects, so that no row names them; return how many were found."""
    return Subject.objects.filter(**which).update(secret="")


def iter_rows(rows: QuerySet[AuditRow], field: str = "id") -> Iterator[AuditRow]:
    """The rows in the order of a unique field, in bounded memory. Each block is a query of its own,
    because a response takes its parts in several threads, which share no cursor."""
    last = 0
    while block := list(rows.filter(**{f"{field}__gt": last}).order_by(field)[:BLOCK]):
        yield from block
        last = getattr(block[-1], field)


# --- The chain -------------------------------------------------------------------------------


def seal_and_prune() -> None:
    """Seal new rows and delete those older than ``STRATA_AUDIT_LOG_DAYS``; 0 keeps all."""
    for step in (_seal_block, _prune_block):
        while step() == BLOCK:
            pass


def _lock_chain() -> Chain:
    if not Chain.objects.filter(pk=1).exists():
        # If it was removed, a missing position shows that, and that the last rows may be missing.
        last = AuditRow.objects.exclude(position=None).order_by("position").last()
        end = {} if last is None else {"position": (last.position or 0) + 1, "seal": last.seal}
        Chain.objects.get_or_create(pk=1, defaults=end)
    return Chain.objects.select_for_update().get(pk=1)


@transaction.atomic
def _seal_block() -> int:
    chain = _lock_chain()
    unsealed = AuditRow.objects.filter(position=None).select_related("subject")
    rows = list(unsealed.order_by("id")[:BLOCK])
    for row in rows:
        chain.position, chain.seal = chain.position + 1, row.compute_seal(chain.seal)
        row.position, row.seal = chain.position, chain.seal
    with connection.cursor() as cursor:
        cursor.executemany(_SEAL, [(row.position, row.seal, row.pk) for row in rows])
    chain.save()
    return len(rows)


@transaction.atomic
def _prune_block() -> int:
    chain = _lock_chain()
    oldest = timezone.now() - timedelta(days=settings.STRATA_AUDIT_LOG_DAYS or 10**5)
    first = AuditRow.objects.exclude(position=None).order_by("position")
    old = list(takewhile(lambda row: row.at < oldest, first[:BLOCK]))
    if old:
        chain.pruned_position, chain.pruned_seal = old[-1].position or 0, old[-1].seal
        AuditRow.objects.filter(position__lte=chain.pruned_position).delete()
        chain.save()
    return len(old)


def _read_chain() -> Chain:
    return Chain.objects.filter(pk=1).first() or Chain()


def verify_chain() -> strata_types.AuditVerification:
    """Compute every seal again, in bounded memory."""
    # Before the chain, which has the end of each row that was sealed by then.
    last = AuditRow.objects.aggregate(last=Max("position"))["last"] or 0
    chain = _read_chain()
    position, seal = chain.pruned_position, chain.pruned_seal
    sealed = AuditRow.objects.filter(position__lte=chain.position).select_related("subject")
    with suppress(AttributeError, TypeError, ValueError):  # a value that Strata never writes
        for row in iter_rows(sealed, "position"):
            if row.position != position + 1 or not row.has_seal_after(seal):
                break
            position, seal = position + 1, row.seal
    is_intact = (position, seal) == (chain.position, chain.seal) and last <= chain.position
    if not is_intact and _read_chain().pruned_position != chain.pruned_position:
        return verify_chain()  # rows were pruned meanwhile
    return {
        "is_intact": is_intact,
        "broken_at": None if is_intact else position + 1,
        "rows": position - chain.pruned_position,
        "unsealed": AuditRow.objects.filter(position=None).count(),
        "position": chain.position,
        "seal": chain.seal or None,
    }
