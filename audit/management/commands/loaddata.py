from django.core.management.commands import loaddata

from audit.commands import AuditedCommand


class Command(AuditedCommand, loaddata.Command):
    """Django's command, with a row in the audit log."""
