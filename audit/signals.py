"""A key or a user that is deleted is erased from the audit log in the same transaction."""

from typing import Any

from django.contrib.auth.models import User
from django.db.models.signals import post_delete
from django.dispatch import receiver

from access.models import ApiKey
from audit.models import Subject
from audit.services import erase_subjects


@receiver(post_delete, sender=ApiKey, dispatch_uid="audit.key_deleted")
@receiver(post_delete, sender=User, dispatch_uid="audit.user_deleted")
def erase_subject(instance: ApiKey | User, **kwargs: Any) -> None:
    kind = Subject.Kind.USER if isinstance(instance, User) else Subject.Kind.KEY
    erase_subjects(kind=kind, number=instance.pk)
