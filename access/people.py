"""People who sign in: added, put into groups and deactivated by those who may manage access.

Superusers and staff are changed by superusers only: Django's permissions give them rights that no
scope includes.
"""

from collections.abc import Collection

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.contrib.auth.tokens import default_token_generator
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils.http import urlsafe_base64_encode

from access.exceptions import LastManager, SuperuserNeeded, UnknownPerson
from access.grants import EVERYTHING, Scope
from access.models import GroupRights
from core.exceptions import InvalidInput
from core.text import normalise


def is_changeable(person: User, *, by_superuser: bool) -> bool:
    return by_superuser or not (person.is_superuser or person.is_staff)


def find_person(person_id: int, *, by_superuser: bool) -> User:
    """A person whom the caller may change.

    Raises:
        UnknownPerson, SuperuserNeeded
    """
    person = User.objects.filter(pk=person_id).first()
    if person is None:
        raise UnknownPerson(field="id")
    if not is_changeable(person, by_superuser=by_superuser):
        raise SuperuserNeeded
    return person


@transaction.atomic
def add_person(name: str, groups: Collection[str] = ()) -> User:
    """Add somebody who cannot sign in before they set a password.

    Raises:
        InvalidInput: the name is taken or not allowed, or there is no such group.
    """
    name = User.normalize_username(name)
    unusable = make_password(None)
    try:
        User(username=name, password=unusable).full_clean(validate_unique=False)
    except ValidationError as error:
        raise InvalidInput(error.messages[0], field="name") from None
    person, is_new = User.objects.get_or_create(username=name, defaults={"password": unusable})
    if not is_new:
        raise InvalidInput("Somebody has this name already.", field="name")
    person.groups.set(_find_groups(groups))
    return person


@transaction.atomic
def change_person(
    person: User, *, groups: Collection[str] | None = None, is_active: bool | None = None
) -> None:
    """Put somebody into these groups and out of all others, or let them sign in or not.

    Raises:
        InvalidInput: there is no such group.
        LastManager: nobody could manage access any more.
    """
    # A lock that all changes take, so that two managers cannot deactivate each other at once.
    User.objects.select_for_update().order_by("pk").first()
    could_manage = _can_manage(person)
    if groups is not None:
        person.groups.set(_find_groups(groups))
    if is_active is not None:
        person.is_active = is_active
        person.save(update_fields=["is_active"])
    if could_manage and not any(_can_manage(each) for each in _list_candidates()):
        raise LastManager(fix="Put another person into a group that may manage everything first.")


def make_password_path(person: User) -> str:
    """The path of the page on which the person sets a password, once.

    Raises:
        InvalidInput: they sign in with the OpenID provider.
    """
    if person.open_id_identities.exists():
        raise InvalidInput("Who signs in with the OpenID provider has no password.", field="id")
    token = default_token_generator.make_token(person)
    return reverse("set-password", args=[urlsafe_base64_encode(str(person.pk).encode()), token])


def _find_groups(names: Collection[str]) -> list[Group]:
    groups = list(Group.objects.all())
    known = {normalise(group.name) for group in groups}
    if unknown := sorted(set(names) - known):
        raise InvalidInput(f"There is no group {unknown[0]!r}.", field="groups", allowed=known)
    return [group for group in groups if normalise(group.name) in names]


def _list_candidates() -> list[User]:
    may_manage = Q(is_superuser=True) | Q(groups__rights__scope=Scope.MANAGE.value)
    return list(User.objects.filter(may_manage, is_active=True).distinct())


def _can_manage(person: User) -> bool:
    """Whether they may manage everything, and have a way to sign in."""
    can_sign_in = person.has_usable_password() or person.open_id_identities.exists()
    grant = GroupRights.objects.of_user(person).grant_for(Scope.MANAGE)
    return person.is_active and can_sign_in and grant == EVERYTHING
