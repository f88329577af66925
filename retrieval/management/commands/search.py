from typing import Any

from django.core.management.base import CommandParser
from django.utils.module_loading import import_string

from core.command_options import add_json_option, parse_assignments, parse_json
from retrieval.all_searches import SEARCHES, describe_queries
from retrieval.management.answer_printing import AnswerCommand
from retrieval.search import Mode


class Command(AnswerCommand):
    help = "Search an index and print the best hits."

    def add_arguments(self, parser: CommandParser) -> None:
        forms = describe_queries("--kind")
        parser.add_argument("query", help=f"Query text{forms}. Write -- before one such as -word.")
        parser.add_argument(
            "--index",
            help="One index name, or several separated by commas. Default: the only index that "
            "holds something.",
        )
        parser.add_argument("--kind", choices=list(SEARCHES), default="pages")
        parser.add_argument("--mode", choices=[str(mode) for mode in Mode])
        parser.add_argument("--limit", type=int)
        parser.add_argument("--filter", help="A filter as JSON, as in the API.")
        parser.add_argument(
            "--parameter", action="append", default=[], metavar="NAME=VALUE",
            help="Any other parameter of this kind of search, as in the API, such as window=2; may "
            "be given several times.",
        )  # fmt: skip
        add_json_option(parser)

    def handle(
        self, *, query: str, kind: str, filter: str | None, json: bool, **options: Any
    ) -> None:
        parameters: dict[str, Any] = {
            SEARCHES[kind].query_parameter: query,
            **parse_assignments(options["parameter"], "--parameter"),
        }
        parameters |= {
            name: options[name] for name in ("index", "mode", "limit") if options[name] is not None
        }
        if filter is not None:
            parameters["filter"] = parse_json(filter, "--filter")
        answer = self.api.post(f"search/{kind}", parameters)
        self.printer = import_string(SEARCHES[kind].printer)
        self.print_answer(answer, as_json=json)
