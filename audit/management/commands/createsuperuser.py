from django.contrib.auth.management.commands import createsuperuser

from audit.commands import AuditedCommand


class Command(AuditedCommand, createsuperuser.Command):
    """Django's command, with a row in the audit log."""
