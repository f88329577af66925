from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError
from django.utils.dateparse import parse_date

from access.grants import Scope
from access.models import ApiKey
from core.exceptions import StrataError


class Command(BaseCommand):
    help = "Create, list and revoke API keys."
    requires_system_checks = ["strata"]  # Django's own import every view

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser(
            "create", help="Create a key and print its secret, which is shown only once."
        )
        create.add_argument("name", help="The key's owner or purpose; unique among active keys.")
        create.add_argument(
            "--scope",
            choices=[scope.value for scope in Scope],
            default=Scope.MANAGE.value,
            help="What it may do: manage (the default) includes write, and write includes search.",
        )
        create.add_argument(
            "--index",
            action="append",
            metavar="NAME",
            help="An index that it sees; repeat it for several. It need not exist yet. "
            "By default all.",
        )
        create.add_argument(
            "--group",
            action="append",
            metavar="NAME",
            help="A group whose documents it sees, beside documents without groups; repeat it for "
            "several. By default all documents.",
        )
        create.add_argument(
            "--expires",
            metavar="DATE",
            help="Its last day (UTC), such as 2027-01-31. By default none.",
        )
        actions.add_parser("list", help="List all keys, newest first.")
        revoke = actions.add_parser("revoke", help="Revoke a key, effective at once.")
        revoke.add_argument("prefix", help="The key's prefix, as shown by list.")

    def handle(self, *, action: str, **options: Any) -> None:
        try:
            self._run_action(action, options)
        except OperationalError as error:
            raise CommandError(
                f"The database reported an error: {error}. Run strata migrate first."
            ) from None
        except StrataError as error:
            raise CommandError(error.with_fix()) from None

    def _run_action(self, action: str, options: dict[str, Any]) -> None:
        if action == "create":
            self._create(options["name"].strip(), options)
        elif action == "revoke":
            self._revoke(options["prefix"])
        else:
            self._list()

    def _create(self, name: str, options: dict[str, Any]) -> None:
        longest = ApiKey._meta.get_field("name").max_length or 0
        if not 0 < len(name) <= longest:
            raise CommandError(f"NAME must have 1 to {longest} characters.")
        key, secret = ApiKey.issue(
            name,
            scope=Scope(options["scope"]),
            indexes=options["index"],
            groups=options["group"],
            expires_at=_parse_last_day(options["expires"]),
        )
        self.stdout.write(secret)  # alone on stdout, so that a script can take it
        self.stderr.write(f"{key} was created. Copy its secret now: it is not stored.")

    def _list(self) -> None:
        for key in ApiKey.objects.all():
            state = f"revoked {key.revoked_at:%Y-%m-%d %H:%M}" if key.revoked_at else key.state
            used = f"used {key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never used"
            self.stdout.write(
                f"{key.prefix:<16}  {key.created_at:%Y-%m-%d %H:%M}  {state:<24}  {used:<21}  "
                f"{key.name}  {_describe_rights(key)}".rstrip()
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


def _parse_last_day(text: str | None) -> datetime | None:
    """The end of the day, in UTC."""
    if text is None:
        return None
    try:
        day = parse_date(text)
    except ValueError:
        day = None
    if day is None:
        raise CommandError(f"--expires must be a date such as 2027-01-31, not {text!r}.")
    return datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)


def _describe_rights(key: ApiKey) -> str:
    """The limits of a key; empty for one that may do and see everything."""
    limits = [] if key.scope == Scope.MANAGE else [f"scope {key.scope}"]
    for word, names in (("index", key.indexes), ("group", key.groups)):
        if names is not None:
            limits.append(f"{word} {', '.join(names) or 'none'}")
    if key.expires_at is not None:
        limits.append(f"expires {key.expires_at:%Y-%m-%d %H:%M}")
    return f"({'; '.join(limits)})" if limits else ""
