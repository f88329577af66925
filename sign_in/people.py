"""Users who sign in with an OpenID provider, and their groups."""

import logging
import re
from collections.abc import Mapping
from itertools import chain, count
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from access.exceptions import SignInRefused
from access.models import OpenIdIdentity
from core.text import normalise

logger = logging.getLogger(__name__)

MAX_SUBJECT_CHARS = 255  # OpenID Connect Core 1.0, section 2
MAX_EMAIL_CHARS = 254
MAX_NAME_CHARS = 140  # leaves room for a number
NOT_IN_NAMES = re.compile(r"[^\w.@+-]+")


@transaction.atomic
def update_user(claims: Mapping[str, Any]) -> User:
    """The user of these claims, made at the first sign-in, with the groups that the claims name.

    Users are recognised by issuer and subject only: a name or an e-mail address may belong to
    another person later.

    Raises:
        SignInRefused: the user has been deactivated, the claims name nobody, or another request
            makes the user at this moment.
    """
    subject = claims.get("sub")
    if not isinstance(subject, str) or not _is_subject(subject):
        raise SignInRefused("The OpenID provider did not say who signed in.")
    identities = OpenIdIdentity.objects.select_related("user")
    identity = identities.filter(issuer=settings.STRATA_OIDC_ISSUER, subject=subject).first()
    user = _create_user(subject, claims) if identity is None else identity.user
    if not user.is_active:
        raise SignInRefused("This user has been deactivated.", user)
    set_groups(user, read_group_names(claims))
    return user


def read_group_names(claims: Mapping[str, Any]) -> set[str]:
    """The names in the claim of groups: a list of texts, or one text."""
    value = claims.get(settings.STRATA_OIDC_GROUPS_CLAIM, [])
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        logger.warning(
            "The claim %s is not a list of texts and gives no groups.",
            settings.STRATA_OIDC_GROUPS_CLAIM,
        )
        return set()
    return set(map(normalise, names))


def set_groups(user: User, names: set[str]) -> None:
    """Put the user into the named groups, and remove them from others, among the groups that are
    filled from the claim."""
    filled = list(Group.objects.filter(rights__is_filled_from_claim=True))
    user.groups.remove(*(group for group in filled if normalise(group.name) not in names))
    user.groups.add(*(group for group in filled if normalise(group.name) in names))


def _is_subject(text: str) -> bool:
    return 0 < len(text) <= MAX_SUBJECT_CHARS and text.isprintable()


def _create_user(subject: str, claims: Mapping[str, Any]) -> User:
    email = _read_text(claims, "email")[:MAX_EMAIL_CHARS]
    try:
        with transaction.atomic():
            user = User.objects.create_user(_choose_name(claims), email)
            OpenIdIdentity.objects.create(
                issuer=settings.STRATA_OIDC_ISSUER, subject=subject, user=user
            )
    except IntegrityError:
        raise SignInRefused("Two sign-ins made a user at the same moment. Sign in again.") from None
    return user


def _choose_name(claims: Mapping[str, Any]) -> str:
    """The user's name at the provider, with a number if another user has it."""
    candidates = (_read_text(claims, name) for name in ("preferred_username", "email", "sub"))
    base_name = next(
        filter(None, (NOT_IN_NAMES.sub("-", text).strip("-") for text in candidates)), "user"
    )
    base_name = User.normalize_username(base_name)[:MAX_NAME_CHARS]
    taken = set(
        User.objects.filter(username__startswith=base_name).values_list("username", flat=True)
    )
    names = chain([base_name], (f"{base_name}-{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def _read_text(claims: Mapping[str, Any], name: str) -> str:
    value = claims.get(name)
    return value if isinstance(value, str) and value.isprintable() else ""
