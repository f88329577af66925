from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.dateparse import parse_date

from access.grants import Scope
from core.api_client import ApiCommand


class Command(ApiCommand):
    help = "Create, list and revoke API keys."

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
        if action == "create":
            self._create(options)
        elif action == "revoke":
            self._revoke(options["prefix"])
        else:
            self._list()

    def _create(self, options: dict[str, Any]) -> None:
        key = self.api.post(
            "keys/",
            {
                "name": options["name"],
                "scope": options["scope"],
                "indexes": options["index"],
                "groups": options["group"],
                "expires_at": _parse_last_day(options["expires"]),
            },
        )
        self.stdout.write(key["secret"])  # alone on stdout, so that a script can take it
        self.stderr.write(f"{_name(key)} was created. Copy its secret now: it is not stored.")

    def _list(self) -> None:
        for key in self.api.get("keys/")["results"]:
            revoked, used = _format_time(key["revoked_at"]), _format_time(key["last_used_at"])
            state = f"revoked {revoked}" if revoked else key["state"]
            used = f"used {used}" if used else "never used"
            self.stdout.write(
                f"{key['prefix']:<16}  {_format_time(key['created_at'])}  {state:<24}  {used:<21}  "
                f"{key['name']}  {_describe_rights(key)}".rstrip()
            )

    def _revoke(self, prefix: str) -> None:
        matching = [
            key
            for key in self.api.get("keys/")["results"]
            if key["revoked_at"] is None and key["prefix"].startswith(prefix)
        ]
        if len(matching) != 1:
            found = ", ".join(map(_name, matching)) or "none"
            raise CommandError(
                f"PREFIX must match exactly one active key; {prefix!r} matches: {found}."
            )
        self.api.send("DELETE", f"keys/{matching[0]['id']}/")
        self.stdout.write(f"{_name(matching[0])} is revoked.")


def _name(key: dict[str, Any]) -> str:
    return f"{key['name']} ({key['prefix']}…)"


def _format_time(time: str | None) -> str:
    return (time and f"{datetime.fromisoformat(time):%Y-%m-%d %H:%M}") or ""


def _parse_last_day(text: str | None) -> str | None:
    """The end of the day, in UTC."""
    if text is None:
        return None
    try:
        day = parse_date(text)
    except ValueError:
        day = None
    if day is None:
        raise CommandError(f"--expires must be a date such as 2027-01-31, not {text!r}.")
    return f"{day + timedelta(days=1)}T00:00:00Z"


def _describe_rights(key: dict[str, Any]) -> str:
    """The limits of a key; empty for one that may do and see everything."""
    limits = [] if key["scope"] == Scope.MANAGE else [f"scope {key['scope']}"]
    for word, names in (("index", key["indexes"]), ("group", key["groups"])):
        if names is not None:
            limits.append(f"{word} {', '.join(names) or 'none'}")
    if expires := _format_time(key["expires_at"]):
        limits.append(f"expires {expires}")
    return f"({'; '.join(limits)})" if limits else ""
