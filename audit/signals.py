"""What the audit log does in the transaction of others:

core.events.note_changes   -> services.write_rows       a row for each document
a key or a user is deleted -> services.erase_subjects
"""

from http import HTTPStatus
from typing import Any

from django.contrib.auth.models import User
from django.db.models.signals import post_delete
from django.dispatch import receiver
from rest_framework.request import Request

from access.models import ApiKey
from audit.models import Subject
from audit.services import erase_subjects, identify, write_rows
from core.events import Target, changed
from core.routes import describe_route


@receiver(post_delete, sender=ApiKey, dispatch_uid="audit.key_deleted")
@receiver(post_delete, sender=User, dispatch_uid="audit.user_deleted")
def erase_subject(instance: ApiKey | User, **kwargs: Any) -> None:
    kind = Subject.Kind.USER if isinstance(instance, User) else Subject.Kind.KEY
    erase_subjects(kind=kind, number=instance.pk)


@receiver(changed, dispatch_uid="audit.changed")
def write_changes(request: Request, targets: list[Target], **kwargs: Any) -> None:
    write_rows(identify(request), describe_route(request), HTTPStatus.OK, targets)
