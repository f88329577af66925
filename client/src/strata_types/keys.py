"""API keys, people who sign in, and their groups."""

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


class Person(TypedDict):
    id: int
    name: str
    groups: list[str]
    """Of people."""
    is_active: bool
    is_superuser: bool
    """May do and see everything."""
    is_changeable: bool
    """By you: superusers and staff are changed by superusers only."""
    uses_provider: bool
    """Signs in with the OpenID provider."""
    last_sign_in_at: str | None


class PersonWithLink(Person):
    password_link: str
    """To set a password: valid once, for three days, and shown only in this answer."""


class PeopleGroup(TypedDict):
    name: str
    scope: Scope | None
    """Null: it gives its members no rights."""
    indexes: list[str] | None
    """Null: all indexes."""
    groups: list[str] | None
    """Of documents. Null: all documents."""
    is_filled_from_claim: bool | None
    """The OpenID provider decides who its members are."""


class PersonList(AnyList):
    results: list[Person]
    groups: list[PeopleGroup]
