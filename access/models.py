"""API keys. Only hashes are stored; a secret is shown once, when it is made."""

import hashlib
import secrets

from django.db import connection, models
from django.db.models.functions import Now

SECRET_BYTES = 32  # 256 random bits
PREFIX_CHARS = 12  # of a generated secret: enough to tell keys apart, useless to guess the rest


def hash_secret(secret: str) -> str:
    """SHA-256, unsalted: 256 random bits cannot be guessed, so a slow hash would protect
    nothing more, and every request would pay for it."""
    return hashlib.sha256(secret.encode()).hexdigest()


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def active(self) -> "ApiKeyQuerySet":
        """Keys that have not been revoked."""
        return self.filter(revoked_at=None)

    def revoke(self) -> int:
        """Revoke these keys; return how many were still active."""
        return self.active().update(revoked_at=Now())


class ApiKey(models.Model):
    """An API key. Revoked keys keep their rows, so a prefix can still be traced to its owner."""

    name = models.CharField(max_length=100, help_text="The key's owner or purpose.")
    prefix = models.CharField(
        max_length=16, editable=False, help_text="Start of the secret, to identify the key."
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        verbose_name_plural = "API keys"
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @classmethod
    def find_name_by_secret(cls, secret: str) -> str | None:
        """Return the name of the active key with this secret, or None.

        Plain SQL, because every request calls it, and the ORM takes longer to build the query and
        the object than the database to answer.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT name FROM access_apikey WHERE digest = %s AND revoked_at IS NULL",
                [hash_secret(secret)],
            )
            row = cursor.fetchone()
        return None if row is None else str(row[0])

    @classmethod
    def issue(cls, name: str, *, secret: str | None = None) -> tuple["ApiKey", str]:
        """Make a key; its secret is returned only here and is not stored.

        Args:
            name: what it is called in lists.
            secret: used instead of a random one; its length is not checked.
        """
        if secret is None:
            secret = f"strata_{secrets.token_urlsafe(SECRET_BYTES)}"
            prefix = secret[:PREFIX_CHARS]
        else:
            # A given secret may be short or guessable: show part of its hash only.
            prefix = f"given_{hash_secret(secret)[:8]}"
        return cls.objects.create(name=name, prefix=prefix, digest=hash_secret(secret)), secret
