"""API keys."""

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

from strata_types.common import AnyList

Scope: TypeAlias = Literal["search", "write", "manage"]


class Key(TypedDict):
    id: int
    name: str
    prefix: str
    """Start of the secret."""
    scope: Scope
    indexes: list[str] | None
    """Null: all indexes."""
    groups: list[str] | None
    """Null: all documents."""
    state: Literal["active", "expired", "revoked"]
    created_at: str
    expires_at: str | None
    last_used_at: str | None
    """Stored at most once a minute."""
    revoked_at: str | None


class NewKey(Key):
    secret: str
    """Shown only in this answer."""


class KeyList(AnyList):
    results: list[Key]
