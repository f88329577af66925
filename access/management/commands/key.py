from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError

from access.models import ApiKey


class Command(BaseCommand):
    help = "Create, list and revoke API keys."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser(
            "create", help="Create a key and print its secret, which is shown only once."
        )
        create.add_argument("name", help="The key's owner or purpose.")
        actions.add_parser("list", help="List all keys, newest first.")
        revoke = actions.add_parser("revoke", help="Revoke a key, effective at once.")
        revoke.add_argument("prefix", help="The key's prefix, as shown by list.")

    def handle(self, *, action: str, **options: Any) -> None:
        try:
            self._run_action(action, options)
        except OperationalError as error:
            raise CommandError(
                f"The database reported an error: {error}. Run manage.py migrate first."
            ) from None

    def _run_action(self, action: str, options: dict[str, Any]) -> None:
        if action == "create":
            self._create(options["name"].strip())
        elif action == "revoke":
            self._revoke(options["prefix"])
        else:
            self._list()

    def _create(self, name: str) -> None:
        longest = ApiKey._meta.get_field("name").max_length or 0
        if not 0 < len(name) <= longest:
            raise CommandError(f"NAME must have 1 to {longest} characters.")
        key, secret = ApiKey.issue(name)
        self.stdout.write(secret)  # alone on stdout, so that a script can take it
        self.stderr.write(f"{key} was created. Copy its secret now: it is not stored.")

    def _list(self) -> None:
        for key in ApiKey.objects.all():
            revoked = f"revoked {key.revoked_at:%Y-%m-%d %H:%M}" if key.revoked_at else "active"
            self.stdout.write(
                f"{key.prefix:<16}  {key.created_at:%Y-%m-%d %H:%M}  {revoked:<24}  {key.name}"
            )

    def _revoke(self, prefix: str) -> None:
        matching = ApiKey.objects.active().filter(prefix__startswith=prefix)
        names = [str(key) for key in matching]
        if len(names) != 1:
            found = ", ".join(names) or "none"
            raise CommandError(
                f"PREFIX must match exactly one active key; {prefix!r} matches: {found}."
            )
        matching.revoke()
        self.stdout.write(f"{names[0]} is revoked.")
