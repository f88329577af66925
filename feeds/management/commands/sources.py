from typing import Any
from urllib.parse import quote

from django.core.management.base import CommandParser

from core.api_client import ApiCommand
from core.command_options import add_json_option, format_json
from core.commands import make_table

HELP = {
    "list": "List the sources of an index, with how each is.",
    "show": "Print how a source is, and the documents of it that wait or failed.",
    "preview": "Print what a run would change now, without changing anything.",
    "run": "List a source now, and try again what failed.",
    "pause": "Read nothing from a source until it is resumed.",
    "resume": "Read a source again that was paused.",
    "confirm": "Confirm that the many documents that a source lacks are gone.",
}
SHOWN_STATES = ("failed", "due", "missing", "removing")
SHOWN_ENTRIES = 20  # of each state


class Command(ApiCommand):
    help = "Look after the sources from which the documents of an index come by themselves."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        for name, help in HELP.items():
            action = actions.add_parser(name, help=help)
            if name != "list":
                action.add_argument("name", metavar="NAME", help="As the spec names it.")
            action.add_argument("--index", required=True)
            add_json_option(action)

    def handle(self, *, action: str, index: str, json: bool, **options: Any) -> None:
        path = f"indexes/{quote(index, safe='')}/document-sources/"
        if action == "list":
            answer = self.api.get(path, limit=100)
        else:
            path += f"{quote(options['name'], safe='')}/"
            is_read = action == "show"
            answer = self.api.get(path) if is_read else self.api.post(f"{path}{action}/")
        if json:
            self.stdout.write(format_json(answer))
        elif action == "list":
            self._print_list(answer["results"])
        elif action == "preview":
            self._print_preview(answer)
        elif action == "confirm":
            self.stdout.write(
                f"{answer['confirmed']} documents are removed unless the next listing has them."
            )
        else:
            self._print_source(answer, index)
            if action == "show":
                self._print_entries(path)

    def _print_list(self, sources: list[dict[str, Any]]) -> None:
        if not sources:
            self.stdout.write("The spec of this index names no sources.")
            return
        table = make_table("Name", "Type", "Health", "Last listed", counts=["Current", "Failed"])
        for each in sources:
            counts = [str(each["entries"].get(state, 0)) for state in ("current", "failed")]
            listed_at = each["listed_at"] or "never"
            table.add_row(each["name"], each["type"], each["health"], listed_at, *counts)
        self.console.print(table)

    def _print_source(self, source: dict[str, Any], index: str) -> None:
        lines = [f"{source['name']}: {source['health']}"]
        if source["place"]:
            lines.append(f"{source['type']}, {source['place']}, every {source['every'] or 'run'}")
        if source["problem"]:
            lines.append(source["problem"]["detail"])
        if source["waiting_removals"]:
            lines.append(
                f"{source['waiting_removals']} documents are missing. Confirm that they are gone "
                f"with `strata sources confirm {source['name']} --index {index}`."
            )
        lines.append(f"Last listed: {source['listed_at'] or 'never'}")
        lines.append(f"Next listing: {source['next_listing_at'] or 'when somebody asks'}")
        counts = [f"{count} {state}" for state, count in sorted(source["entries"].items())]
        lines.append(f"Documents: {', '.join(counts) or 'none'}")
        self.stdout.write("\n".join(lines))

    def _print_entries(self, path: str) -> None:
        for state in SHOWN_STATES:
            answer = self.api.get(f"{path}entries/", state=state, limit=SHOWN_ENTRIES)
            for entry in answer["results"]:
                reason = f": {entry['problem']['detail']}" if entry["problem"] else ""
                self.stdout.write(f"  {state} {entry['path']}{reason}")
            if (others := answer["count"] - len(answer["results"])) > 0:
                self.stdout.write(f"  {state}: {others} others")

    def _print_preview(self, preview: dict[str, Any]) -> None:
        for kind, changes in preview.items():
            self.stdout.write(f"{kind}: {changes['count']} documents, {changes['bytes']:,} bytes")
            for path in changes["paths"]:
                self.stdout.write(f"  {path}")
