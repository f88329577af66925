"""Reads requests about API keys and people, and renders these."""

from typing import Any

from django.contrib.auth.models import Group, User
from django.utils import timezone
from rest_framework import serializers

from access.grants import MAX_GROUP_CHARS, Scope
from access.models import ApiKey
from core.openapi import with_example
from core.serializers import FlagField, StrictSerializer, StringField, TitleField

MAX_INDEXES = 1_000  # of a key
MAX_GROUPS = 1_000
MAX_INDEX_CHARS = 63
MAX_PERSON_CHARS = 150  # as Django's users


@with_example({"name": "reader", "scope": "search", "indexes": ["handbook"]})
class KeyRequestSerializer(StrictSerializer):
    name = TitleField(max_length=100)
    scope = serializers.ChoiceField(
        [scope.value for scope in Scope],
        default=Scope.SEARCH.value,
        help_text="manage includes write, and write includes search.",
    )
    indexes = serializers.ListField(
        child=StringField(max_length=MAX_INDEX_CHARS),
        allow_null=True,
        default=None,
        max_length=MAX_INDEXES,
        help_text="Names of indexes, which need not exist yet. Null: those of the key that makes "
        "it.",
    )
    groups = serializers.ListField(
        child=StringField(max_length=MAX_GROUP_CHARS),
        allow_null=True,
        default=None,
        max_length=MAX_GROUPS,
        help_text="Groups whose documents it sees, beside documents without groups. Null: those of "
        "the key that makes it.",
    )
    expires_at = serializers.DateTimeField(
        allow_null=True, default=None, help_text="Null: as the key that makes it."
    )

    def validate_name(self, name: str) -> str:
        if not name:
            raise serializers.ValidationError("This field may not be blank.")
        return name


class PeopleGroupsSerializer(StrictSerializer):
    groups = serializers.ListField(
        child=StringField(max_length=MAX_PERSON_CHARS), max_length=MAX_GROUPS, required=False
    )


@with_example({"name": "ada@example.org", "groups": ["editors"]})
class NewPersonSerializer(PeopleGroupsSerializer):
    name = TitleField(max_length=MAX_PERSON_CHARS, help_text="May be an e-mail address.")


@with_example({"is_active": False})
class PersonChangeSerializer(PeopleGroupsSerializer):
    is_active = FlagField(required=False, help_text="False: cannot sign in.")


def render_key(key: ApiKey) -> dict[str, Any]:
    times = ("created_at", "expires_at", "last_used_at", "revoked_at")
    return {
        "id": key.pk,
        "name": key.name,
        "prefix": key.prefix,
        "scope": key.scope,
        "indexes": key.indexes,
        "groups": key.groups,
        "state": key.state,
        **{name: _render_time(getattr(key, name)) for name in times},
    }


def render_person(person: User, *, is_changeable: bool) -> dict[str, Any]:
    return {
        "id": person.pk,
        "name": person.username,
        "groups": sorted(group.name for group in person.groups.all()),
        "is_active": person.is_active,
        "is_superuser": person.is_superuser,
        "is_changeable": is_changeable,
        "uses_provider": bool(person.open_id_identities.all()),
        "last_sign_in_at": _render_time(person.last_login),
    }


def render_group(group: Group) -> dict[str, Any]:
    rights = getattr(group, "rights", None)
    names = ("scope", "indexes", "groups", "is_filled_from_claim")
    return {"name": group.name, **{name: getattr(rights, name, None) for name in names}}


def _render_time(time: Any) -> str | None:
    return None if time is None else time.astimezone(timezone.get_default_timezone()).isoformat()
