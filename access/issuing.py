"""Keys made, listed and revoked by the holder of a key, who cannot give more than they have."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from access.exceptions import UnknownKey
from access.grants import Grant, Scope
from access.models import ApiKey
from core.exceptions import InvalidInput


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who makes a key. Their own key is None for superusers and commands."""

    grant: Grant
    key_id: int | None = None

    @property
    def expires_at(self) -> datetime | None:
        if self.key_id is None:
            return None
        keys = ApiKey.objects.filter(pk=self.key_id)
        return keys.values_list("expires_at", flat=True).first()

    def list_keys(self) -> list[ApiKey]:
        """All keys that see no more than the issuer does, newest first."""
        return [key for key in ApiKey.objects.all() if self.grant.covers(key.grant)]

    def revoke_key(self, key_id: int) -> ApiKey:
        """Revoke a key; one that is revoked already is not changed.

        Raises:
            UnknownKey: there is no such key that sees no more than the issuer does.
        """
        key = ApiKey.objects.filter(pk=key_id).first()
        if key is None or not self.grant.covers(key.grant):
            raise UnknownKey(field="id")
        ApiKey.objects.filter(pk=key_id).revoke()
        key.refresh_from_db()
        return key

    def issue_key(
        self,
        name: str,
        *,
        scope: Scope,
        indexes: Collection[str] | None = None,
        groups: Collection[str] | None = None,
        expires_at: datetime | None = None,
    ) -> tuple[ApiKey, str]:
        """Make a key; by default it sees what the issuer sees and expires with the issuer's key.
        Return it with its secret.

        Raises:
            InvalidInput: it would see more or expire later than the issuer, or as
                ``ApiKey.issue``.
        """
        chosen_indexes = self.grant.indexes if indexes is None else frozenset(indexes)
        chosen_groups = self.grant.groups if groups is None else frozenset(groups)
        for field, chosen, own in (
            ("indexes", chosen_indexes, self.grant.indexes),
            ("groups", chosen_groups, self.grant.groups),
        ):
            if chosen is not None and own is not None and not chosen <= own:
                raise InvalidInput(
                    f"A key can make keys only for its own {field}.", field=field, allowed=own
                )
        last = self.expires_at
        if last is not None and expires_at is not None and expires_at > last:
            raise InvalidInput(
                f"The new key may not expire after this key: {last:%Y-%m-%dT%H:%M:%SZ}.",
                field="expires_at",
            )
        namesakes = ApiKey.objects.active().filter(name=name)
        if any(not self.grant.covers(key.grant) for key in namesakes):
            raise InvalidInput(
                "The key cannot have this name.", field="name", fix="Choose another name."
            )
        return ApiKey.issue(
            name,
            scope=scope,
            indexes=chosen_indexes,
            groups=chosen_groups,
            expires_at=expires_at or last,
        )
