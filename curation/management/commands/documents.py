import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from django.core.management.base import CommandError, CommandParser

from core.api_client import ApiCommand
from core.command_options import add_json_option, format_json, parse_assignments, parse_json
from core.commands import format_error
from core.exceptions import InvalidInput
from documents.serializers import ORDERINGS, STATUSES

POLL_SECONDS = 0.2
PAGE = 100
MATCHING = ("words", "folder", "status")


class Command(ApiCommand):
    help = "List, show, edit, restrict and delete documents, and undo edits."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="List the documents of an index.")
        _add_match(listing)
        listing.add_argument("--sort", choices=ORDERINGS, default="created_at")
        listing.add_argument("--reverse", action="store_true", help="The last one first.")
        listing.add_argument("--limit", type=int, default=PAGE, help=f"By default {PAGE}.")
        add_json_option(listing)
        showing = actions.add_parser("show", help="Print what is known of a document.")
        showing.add_argument("id")
        add_json_option(showing)

        edit = _add_change(actions, "edit", "Change the title or the metadata of documents.")
        edit.add_argument("--title", help="Of one document.")
        edit.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", dest="fields",
            help="A field of the metadata. A VALUE such as 7, true or [1] is read as JSON.",
        )  # fmt: skip
        edit.add_argument(
            "--unset", action="append", default=[], metavar="NAME", help="A field to remove."
        )
        restrict = _add_change(actions, "restrict", "Say which groups may see documents.")
        for option, what in (
            ("--group", "A group that may see them; those that are not named no longer may."),
            ("--add", "A group that may see them, too."),
            ("--remove", "A group that may no longer see them."),
        ):
            restrict.add_argument(option, action="append", metavar="NAME", help=what)
        restrict.add_argument(
            "--everybody", action="store_true", help="All who may read the index may see them."
        )
        _add_change(actions, "delete", "Delete documents for good.")
        undo = actions.add_parser("undo", help="Undo an edit, or stop one that is not done.")
        undo.add_argument("id", help="As edit or restrict printed it.")
        add_json_option(undo)

    def handle(self, *, action: str, json: bool, **options: Any) -> None:
        if action == "list":
            self._list(json, options)
        elif action == "show":
            answer = self.api.get(f"artifacts/{quote(options['id'], safe='')}/")
            self._print(answer, json, _describe(answer))
        elif action == "undo":
            self._carry_out(f"edits/{quote(options['id'], safe='')}/undo", None, json)
        else:
            self._change(_read_change(action, options), json, options)

    def _list(self, as_json: bool, options: dict[str, Any]) -> None:
        path = f"indexes/{quote(options['index'], safe='')}/artifacts/"
        match = {name: options[name] for name in MATCHING}
        ordering = f"{'-' if options['reverse'] else ''}{options['sort']}"
        rows: list[dict[str, Any]] = []
        count = 1
        while len(rows) < min(count, options["limit"]):
            limit = min(PAGE, options["limit"] - len(rows))
            page = self.api.get(path, **match, ordering=ordering, limit=limit, offset=len(rows))
            rows, count = [*rows, *page["results"]], page["count"]
            if not page["results"]:
                break
        if as_json:
            self.stdout.write(format_json({"count": count if rows else 0, "results": rows}))
            return
        for row in rows:
            name = row["external_id"] or row["file_name"]
            groups = f"seen by {', '.join(row['groups'])}" if row["groups"] else ""
            parts = [row["id"], f"{row['status']:<8}", row["title"], name, groups]
            self.stdout.write("  ".join(filter(None, parts)))
        if rows and count > len(rows):
            self.stderr.write(f"{count - len(rows):,} more: give a larger --limit.")

    def _change(self, change: dict[str, Any], as_json: bool, options: dict[str, Any]) -> None:
        path = f"indexes/{quote(options['index'], safe='')}/edits/"
        body = {**_read_selection(options), **change}
        if options["dry_run"] or not as_json:
            preview = self.api.post(f"{path}preview", body)
            if options["dry_run"]:
                self._print(preview, as_json, _iter_preview(preview))
                return
            body["expected"] = preview["changed"]
        self._carry_out(path, body, as_json)

    def _carry_out(self, path: str, body: dict[str, Any] | None, as_json: bool) -> None:
        """Send what begins or undoes an edit, and wait until it is done."""
        with self.api.working():
            edit = self.api.post(path, body)
            while edit["state"] in ("waiting", "undoing"):
                time.sleep(POLL_SECONDS)
                edit = self.api.get(f"edits/{edit['id']}/")
        self._print(edit, as_json, _iter_outcome(edit))
        if edit["state"] == "failed":
            raise CommandError(f"The edit has failed: {edit['error']} [edit_failed]")

    def _print(self, answer: dict[str, Any], as_json: bool, lines: Iterator[str]) -> None:
        if as_json:
            self.stdout.write(format_json(answer))
            return
        for line in lines:
            self.stdout.write(line)


def _add_match(parser: CommandParser) -> None:
    parser.add_argument("--index", required=True, metavar="NAME")
    parser.add_argument("--words", help="Words of titles, file names and external ids.")
    parser.add_argument("--folder", help="How external ids or file names begin, as clients/orrin/.")
    parser.add_argument("--status", choices=STATUSES)


def _add_change(actions: Any, name: str, help: str) -> CommandParser:
    parser: CommandParser = actions.add_parser(name, help=help)
    parser.add_argument("id", nargs="*", help="Ids of documents.")
    _add_match(parser)
    parser.add_argument("--all", action="store_true", help="All documents of the index.")
    parser.add_argument("--dry-run", action="store_true", help="Only print what would change.")
    add_json_option(parser)
    return parser


def _read_selection(options: dict[str, Any]) -> dict[str, Any]:
    match = {name: options[name] for name in MATCHING if options[name] is not None}
    if sum(map(bool, (options["id"], match, options["all"]))) != 1:
        raise CommandError(
            format_error(
                InvalidInput(
                    "Say which documents: ids, or what they match, or --all.",
                    field="id",
                    allowed=["id", "--all", *(f"--{name}" for name in MATCHING)],
                )
            )
        )
    return {"ids": options["id"]} if options["id"] else {"match": match}


def _read_change(action: str, options: dict[str, Any]) -> dict[str, Any]:
    if action == "delete":
        return {"delete": True}
    if action == "restrict":
        given = {
            "groups": [] if options["everybody"] else options["group"],
            "add_groups": options["add"],
            "remove_groups": options["remove"],
        }
    else:
        fields = parse_assignments(options["fields"], "--set")
        given = {
            "title": options["title"],
            "set": {name: _read_value(text) for name, text in fields.items()} or None,
            "unset": options["unset"] or None,
        }
    return {name: value for name, value in given.items() if value is not None}


def _read_value(text: str) -> Any:
    """A number, true, false, null or a list; what is no JSON is a text."""
    try:
        return parse_json(text, "--set")
    except CommandError:
        return text


def _describe(document: dict[str, Any]) -> Iterator[str]:
    names = ("title", "id", "index", "external_id", "file_name", "url", "status", "pages")
    for name in names:
        if document[name] not in ("", None):
            yield f"{name}: {document[name]}"
    yield f"seen by: {', '.join(document['groups']) or 'everybody'}"
    for name, value in document["metadata"].items():
        yield f"metadata.{name}: {value}"


def _iter_preview(preview: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{preview['changed']:,} of {preview['count']:,} documents would change; "
        f"{preview['unchanged']:,} need not, {preview['refused']:,} cannot."
    )
    for each in preview["sample"]:
        yield f"{each['id']}  {each['title']}".rstrip()
        if each["after"] or each["before"]:
            yield f"   {_format_values(each['before'])} → {_format_values(each['after'])}"
    yield from _iter_refusals(preview["refusals"])


def _iter_outcome(edit: dict[str, Any]) -> Iterator[str]:
    is_removal = bool(edit["change"].get("delete"))
    verb, done = "deleted" if is_removal else "changed", edit["changed"]
    if edit["state"] == "undone" and not is_removal:
        verb, done = "changed back", edit["undone"]
    yield f"{done:,} of {edit['count']:,} documents {verb}."
    yield from _iter_refusals(edit["refusals"])
    if edit["undo_until"] and edit["changed"]:
        yield f"Undo it until {edit['undo_until']}: strata documents undo {edit['id']}"


def _iter_refusals(refusals: Sequence[dict[str, Any]]) -> Iterator[str]:
    for each in refusals:
        yield f"{each['id']}  {each['title'] or ''}: {each['error']['detail']}"


def _format_values(values: dict[str, Any]) -> str:
    parts = [f"title {values['title']!r}"] if "title" in values else []
    parts += [f"{name}={value}" for name, value in values.get("metadata", {}).items()]
    if "groups" in values:
        parts.append(f"seen by {', '.join(values['groups']) or 'everybody'}")
    return ", ".join(parts) or "nothing"
