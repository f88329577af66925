from typing import Any
from urllib.parse import quote

from django.core.management.base import CommandParser

from concepts.management.answer_printing import KnowledgePrinter
from core.command_options import add_json_option
from retrieval.management.answer_printing import AnswerCommand


class Command(AnswerCommand):
    help = "List and search the concepts of an index, and read what the documents say about one."
    printer = KnowledgePrinter

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        listing = actions.add_parser("list", help="List the concepts of an index, by label.")
        listing.add_argument("--index", required=True)
        listing.add_argument("--label", help="A part of the label, in any case.")
        listing.add_argument(
            "--evidence", choices=["none", "some"], help="Only concepts without, or with, quotes."
        )
        search = actions.add_parser("search", help="Find concepts by their meaning.")
        search.add_argument("query")
        search.add_argument("--index", required=True)
        evidence = actions.add_parser("evidence", help="Print the quotes of a concept.")
        evidence.add_argument("--query", help="Print the quotes nearest to this first.")
        context = actions.add_parser("context", help="Print the sources that quote a concept.")
        context.add_argument("--window", type=int, help="Neighbours on each side, 0 to 10.")
        paths = actions.add_parser("paths", help="Print chains of relationships from a concept.")
        paths.add_argument(
            "--like", required=True,
            help="Words that the relationship types should be similar to, separated by commas.",
        )  # fmt: skip
        paths.add_argument("--depth", type=int, help="Relationships in a chain, 1 to 3.")
        shared = actions.add_parser("shared", help="Print what several concepts share.")
        shared.add_argument("concepts", nargs="+", metavar="ID", help="Two or more concepts.")
        for action in (evidence, context, paths):
            action.add_argument("concept", metavar="ID", help="As `concepts list` prints it.")
        for action in (search, paths):
            action.add_argument("--min-similarity", metavar="COSINE", help="Cosine, from -1 to 1.")
        for action in (listing, evidence, context):
            action.add_argument("--offset", type=int)
        for action in (listing, search, evidence, context, paths, shared):
            action.add_argument("--limit", type=int)
            add_json_option(action)

    def handle(self, *, action: str, json: bool, **options: Any) -> None:
        names = {
            "list": ("label", "evidence", "limit", "offset"),
            "search": ("index", "query", "limit", "min_similarity"),
            "evidence": ("query", "limit", "offset"),
            "context": ("window", "limit", "offset"),
            "paths": ("like", "depth", "limit", "min_similarity"),
            "shared": ("ids", "limit"),
        }[action]
        if action == "search":
            path = "search/concepts"
        elif action == "list":
            path = f"indexes/{quote(options['index'], safe='')}/concepts/"
        elif action == "shared":
            path, options["ids"] = "concepts/shared", ",".join(options["concepts"])
        else:
            path = f"concepts/{quote(options['concept'], safe='')}/{action}"
        answer = self.api.get(path, **{name: options[name] for name in names})
        self.print_answer(answer, as_json=json)
