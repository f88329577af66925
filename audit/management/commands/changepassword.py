from django.contrib.auth.management.commands import changepassword

from audit.commands import AuditedCommand


class Command(AuditedCommand, changepassword.Command):
    """Django's command, with a row in the audit log."""
