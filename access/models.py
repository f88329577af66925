"""API keys, the rights of groups of users, and what users allowed applications. Of a key or a token
only a hash is stored; its secret is shown once, when it is made."""

import hashlib
import json
import logging
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import DatabaseError, IntegrityError, connection, models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from access.exceptions import TokenUsedTwice
from access.grants import EVERYTHING, Grant, Scope, UserRights, clean_group_names
from core.exceptions import InvalidInput
from core.text import normalise

logger = logging.getLogger(__name__)

SECRET_BYTES = 32  # 256 random bits
PREFIX_CHARS = 12  # of a generated secret: enough to tell keys apart, useless to guess the rest
USE_SECONDS = 60  # the last use is stored at most once in this time

_FIND = """
    SELECT id, name, scope, indexes, "groups", last_used_at IS NULL OR last_used_at < %s
    FROM access_apikey
    WHERE digest = %s AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > %s)
"""


CODE, ACCESS, REFRESH = "strata-code-", "strata-access-", "strata-refresh-"
SCOPES = (Scope.SEARCH, Scope.WRITE)  # what applications can be allowed
CODE_SECONDS = 60  # for the application to exchange the code that the browser brings it
ACCESS_SECONDS = 3_600
# After this time the user must consent again; after a sign-in with a provider as soon as the
# session ends, so that users whom the provider removed lose access.
AUTHORIZATION_SECONDS = 30 * 86_400
_TOKEN = re.compile(rf"({CODE}|{ACCESS}|{REFRESH})([\w-]{{22}})\.[\w-]{{43}}", re.ASCII)
_RANDOM_KEY = re.compile(r"strata_[\w-]{43}", re.ASCII)


def hash_secret(secret: str) -> str:
    """SHA-256, unsalted: 256 random bits cannot be guessed, so a slow hash would protect
    nothing more, and every request would pay for it."""
    return hashlib.sha256(secret.encode()).hexdigest()


def is_random(secret: str) -> bool:
    """Whether it looks as keys and tokens do that Strata makes, which nobody can guess."""
    return bool(_RANDOM_KEY.fullmatch(secret) or _TOKEN.fullmatch(secret))


@dataclass(frozen=True, slots=True)
class KeyRights:
    """What the holder of a key is called, and may do and see."""

    id: int
    name: str
    scope: Scope
    grant: Grant


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def active(self) -> "ApiKeyQuerySet":
        """Keys that have not been revoked. Some may have expired."""
        return self.filter(revoked_at=None)

    def revoke(self) -> int:
        """Revoke these keys; return how many were still active."""
        return self.active().update(revoked_at=Now())


class LimitedRights(models.Model):
    """What someone may do, and see."""

    scope = models.CharField(
        max_length=10,
        choices=[(scope.value, scope.value) for scope in Scope],
        default=Scope.SEARCH.value,
        help_text="manage includes write, and write includes search.",
    )
    # Not foreign keys: they may name indexes that do not exist yet.
    indexes = models.JSONField(null=True, blank=True, help_text="Names of indexes; empty for all.")
    groups = models.JSONField(
        null=True, blank=True, help_text="Groups of documents; empty for all documents."
    )

    class Meta:
        abstract = True

    @property
    def grant(self) -> Grant:
        return _make_grant(self.indexes, self.groups)


class ApiKey(LimitedRights):
    """An API key. Revoked keys keep their rows, so a prefix can still be traced to its owner."""

    name = models.CharField(max_length=100, help_text="The key's owner or purpose.")
    prefix = models.CharField(
        max_length=16, editable=False, help_text="Start of the secret, to identify the key."
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty for never.")
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        verbose_name_plural = "API keys"
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["name"],
                condition=Q(revoked_at=None),
                name="api_key_name",
                violation_error_message="An active key has this name already.",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def state(self) -> str:
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= timezone.now():
            return "expired"
        return "active"

    @classmethod
    def find_by_secret(cls, secret: str) -> KeyRights | None:
        """The rights of the usable key with this secret, or None; also stores that it was used.

        Plain SQL, because every request calls it, and the ORM takes longer to build the query and
        the object than the database to answer.
        """
        now = timezone.now()
        adapt: Any = connection.ops.adapt_datetimefield_value
        used_before = adapt(now - timedelta(seconds=USE_SECONDS))
        with connection.cursor() as cursor:
            cursor.execute(_FIND, [used_before, hash_secret(secret), adapt(now)])
            row = cursor.fetchone()
        if row is None:
            return None
        key_id, name, scope, indexes, groups, is_use_due = row
        if is_use_due:
            _store_use(key_id, now)
        grant = _make_grant(_read_json(indexes), _read_json(groups))
        return KeyRights(key_id, str(name), Scope(scope), grant)

    @classmethod
    def issue(
        cls,
        name: str,
        *,
        secret: str | None = None,
        scope: Scope = Scope.MANAGE,
        indexes: Collection[str] | None = None,
        groups: Collection[str] | None = None,
        expires_at: datetime | None = None,
    ) -> tuple["ApiKey", str]:
        """Make a key; its secret is returned only here and is not stored.

        Args:
            name: shown in lists; no other active key may have it.
            secret: used instead of a random one; its length is not checked.
            scope: includes the smaller ones.
            indexes: names of the indexes that it sees; None for all.
            groups: groups of the documents that it sees, beside those without groups; None for all.
            expires_at: it is refused from then on.

        Raises:
            InvalidInput: an active key has this name, ``expires_at`` has passed, or a group cannot
                have its name.
        """
        cls.check_new(name, expires_at)
        if secret is None:
            secret = f"strata_{secrets.token_urlsafe(SECRET_BYTES)}"
            prefix = secret[:PREFIX_CHARS]
        else:
            # A given secret may be short or guessable: show part of its hash only.
            prefix = f"given_{hash_secret(secret)[:8]}"
        key = cls(
            name=name,
            prefix=prefix,
            digest=hash_secret(secret),
            scope=scope.value,
            indexes=None if indexes is None else sorted(set(indexes)),
            groups=None if groups is None else clean_group_names(groups),
            expires_at=expires_at,
        )
        try:
            with transaction.atomic():
                key.save(force_insert=True)
        except IntegrityError:  # another request has just taken the name
            cls.check_new(name, expires_at)
            raise
        return key, secret

    @classmethod
    def check_new(cls, name: str, expires_at: datetime | None) -> None:
        """Check the name and the expiry of a key before it is made.

        Raises:
            InvalidInput: an active key has this name, or ``expires_at`` has passed.
        """
        if expires_at is not None and expires_at <= timezone.now():
            raise InvalidInput("The time at which the key expires has passed.", field="expires_at")
        if cls.objects.active().filter(name=name).exists():
            raise InvalidInput(
                f"An active key is named {name!r} already.",
                field="name",
                fix="Choose another name, or revoke that key first.",
            )


class GroupRightsQuerySet(models.QuerySet["GroupRights"]):
    def of_user(self, user: User) -> UserRights:
        """The rights that a user has now; superusers have all."""
        if user.is_superuser:
            return UserRights(((Scope.MANAGE, EVERYTHING),))
        found = self.filter(group__user=user)
        return UserRights(tuple((Scope(rights.scope), rights.grant) for rights in found))


class GroupRights(LimitedRights):
    """What the members of a group of users may do over the API, and see. A group without this row
    gives none."""

    group = models.OneToOneField(Group, on_delete=models.CASCADE, related_name="rights")
    is_filled_from_claim = models.BooleanField(
        "filled from the claim",
        default=False,
        help_text="Members are those whose OpenID provider names this group when they sign in.",
    )

    objects = GroupRightsQuerySet.as_manager()

    class Meta:
        verbose_name = "rights over the API"
        verbose_name_plural = "rights over the API"

    def __str__(self) -> str:
        return f"rights of {self.group}"


class OpenIdIdentity(models.Model):
    """A user as an OpenID provider knows them."""

    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255, help_text="Who it is, as the issuer says.")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="open_id_identities")

    class Meta:
        verbose_name = "OpenID identity"
        verbose_name_plural = "OpenID identities"
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="open_id_identity")
        ]

    def __str__(self) -> str:
        return f"{self.subject} of {self.issuer}"


class AuthorizationQuerySet(models.QuerySet["Authorization"]):
    def valid(self) -> "AuthorizationQuerySet":
        return self.filter(expires_at__gt=timezone.now(), user__is_active=True)

    def find(self, kind: str, secret: str) -> "Authorization | None":
        """The valid authorization with this code or token of the ``kind``.

        Raises:
            TokenUsedTwice: the code or refresh token was exchanged before, so it has been stolen,
                from the user's application or by it. The authorization is deleted, and with it all
                tokens.
        """
        match = _TOKEN.fullmatch(secret)
        if match is None or match[1] != kind:
            return None
        found = self.valid().select_related("user").filter(handle=match[2]).first()
        if found is None:
            return None
        digest = found.access_digest if kind == ACCESS else found.exchange_digest
        is_current = secrets.compare_digest(hash_secret(secret), digest)
        if kind == ACCESS:
            expires_at = found.access_expires_at
            return found if is_current and expires_at and expires_at > timezone.now() else None
        if is_current:
            return found
        logger.warning("Revoked authorization %s: a code or token was used twice", found.pk)
        found.delete()
        raise TokenUsedTwice(found.user)


class Authorization(models.Model):
    """What a user allowed an application over MCP (OAuth). Deleting it revokes its tokens.

    Code and tokens contain ``handle``, so that one that was used before is recognised.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="authorizations")
    client_id = models.TextField()
    name = models.CharField(max_length=100, help_text="As the application calls itself.")
    scope = models.CharField(max_length=10, choices=[(each.value, each.value) for each in SCOPES])
    resource = models.TextField(help_text="The address for which its tokens are valid.")
    redirect_uri = models.TextField()
    code_challenge = models.CharField(max_length=128)
    handle = models.CharField(max_length=22, unique=True, editable=False)
    # Of the code at first, then of the refresh token.
    exchange_digest = models.CharField(max_length=64, editable=False)
    access_digest = models.CharField(max_length=64, blank=True, editable=False)
    access_expires_at = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    objects = AuthorizationQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.name} for {self.user}"

    @property
    def rights(self) -> UserRights:
        """What the user may do now, but no more than the application was allowed."""
        return GroupRights.objects.of_user(self.user).limited_to(Scope(self.scope))

    @classmethod
    def issue_code(cls, **facts: Any) -> str:
        """Store an authorization with these ``facts``; return its code, which is not stored."""
        handle = secrets.token_urlsafe(16)
        code = _make_token(CODE, handle)
        cls.objects.create(
            **facts,
            handle=handle,
            exchange_digest=hash_secret(code),
            expires_at=timezone.now() + timedelta(seconds=CODE_SECONDS),
        )
        return code

    def issue_tokens(self) -> tuple[str, str] | None:
        """New access and refresh tokens, which replace the code or the tokens before. None if
        another request has just done so."""
        now = timezone.now()
        access, refresh = _make_token(ACCESS, self.handle), _make_token(REFRESH, self.handle)
        expires_at = self.expires_at
        if not self.access_digest:
            has_provider = self.user.open_id_identities.exists()
            seconds = (
                settings.STRATA_OIDC_SESSION_SECONDS if has_provider else AUTHORIZATION_SECONDS
            )
            expires_at = now + timedelta(seconds=seconds)
        # Compared and set in one statement: of several requests at once, one succeeds.
        unchanged = Authorization.objects.filter(pk=self.pk, exchange_digest=self.exchange_digest)
        is_ours = unchanged.update(
            exchange_digest=hash_secret(refresh),
            access_digest=hash_secret(access),
            access_expires_at=min(now + timedelta(seconds=ACCESS_SECONDS), expires_at),
            expires_at=expires_at,
        )
        return (access, refresh) if is_ours else None

    # Named by Authlib, which reads a code and a refresh token with these methods.

    def check_client(self, client: Any) -> bool:
        return bool(self.client_id == client.client_id)

    def get_redirect_uri(self) -> str:
        return self.redirect_uri

    def get_scope(self) -> str:
        return " ".join(each for each in SCOPES if Scope(self.scope).includes(each))


def _make_token(kind: str, handle: str) -> str:
    return f"{kind}{handle}.{secrets.token_urlsafe(SECRET_BYTES)}"


def _make_grant(indexes: Collection[str] | None, groups: Collection[str] | None) -> Grant:
    return Grant(
        indexes=None if indexes is None else frozenset(indexes),
        groups=None if groups is None else frozenset(map(normalise, groups)),
    )


def _read_json(stored: str | None) -> Any:
    return None if stored is None else json.loads(stored)


def _store_use(key_id: int, now: datetime) -> None:
    # Of several requests at once, one writes.
    is_due = Q(last_used_at=None) | Q(last_used_at__lt=now - timedelta(seconds=USE_SECONDS))
    try:
        with transaction.atomic():
            ApiKey.objects.filter(is_due, pk=key_id).update(last_used_at=now)
    except DatabaseError as error:  # searches go on if the database takes no writes
        logger.warning("The last use of key %s was not stored: %s", key_id, error)
