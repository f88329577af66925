import json as json_module
from typing import IO, Any, cast

from django.core.management.base import CommandParser
from rich.console import Console
from rich.table import Table

from core.progress_bars import progress_bar
from indexing.estimates import BuildEstimate, estimate_build
from indexing.management.base_command import StrataCommand
from indexing.models import IndexBuild
from indexing.services import has_search_settings
from indexing.spec.loaded import get_specs


class Command(StrataCommand):
    help = "What applying a changed spec would do, before anything is spent on it."
    loads_specs = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index", nargs="?", help="By default every index whose spec changed.")
        parser.add_argument(
            "--exact",
            action="store_true",
            help="Look at every document and not at a sample; takes as long as cutting them does.",
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *, index: str | None, exact: bool, json: bool, **options: Any) -> None:
        names = [index] if index is not None else _find_changed_indexes()
        estimates = []
        for name in names:
            with progress_bar(f"Looking at {name}", None) as advance:
                estimates.append(estimate_build(name, is_exact=exact, advance=advance))
        if json:
            said = [estimate.as_json() for estimate in estimates]
            self.stdout.write(json_module.dumps(said, indent=2))
            return
        console = Console(file=cast(IO[str], self.stdout), highlight=False, soft_wrap=True)
        if not estimates:
            console.print("Every index is built and searched by its spec as it is.")
        for estimate in estimates:
            _print_estimate(console, estimate)


def _find_changed_indexes() -> list[str]:
    specs = get_specs()
    live = IndexBuild.objects.live().filter(index__in=specs)
    return sorted(
        build.index_id
        for build in live
        if not build.is_made_by(specs[build.index_id])
        or not has_search_settings(build.index, specs[build.index_id])
    )


def _print_estimate(console: Console, estimate: BuildEstimate) -> None:
    console.print(f"{estimate.index}: {', '.join(estimate.changes) or 'no new build'}")
    if estimate.search_changes:
        console.print(
            f"  Search settings, changed at once (now number {estimate.search_settings}): "
            f"{', '.join(estimate.search_changes)}"
        )
    if estimate.is_free:
        console.print("  Nothing that is stored changes: it costs nothing.")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("  kind")
    columns = ["kept", "reembedded", "rebuilt", "removed", "texts", "tokens", "calls"]
    for column in columns:
        table.add_column(column, justify="right")
    for kind, counted in estimate.kinds.items():
        table.add_row(f"  {kind}", *(f"{getattr(counted, column):,}" for column in columns))
    console.print(table)
    prompt = sum(counted.prompt_tokens for counted in estimate.kinds.values())
    completion = sum(counted.completion_tokens for counted in estimate.kinds.values())
    if prompt:
        console.print(f"  Language model: {prompt:,} tokens in, about {completion:,} out.")
    console.print(
        f"  Embedding: {_format_minutes(estimate.embedding_minutes)}; "
        f"language model: {_format_minutes(estimate.writing_minutes)}; "
        f"disk: about {estimate.disk_bytes / 2**20:,.0f} MiB."
    )
    if estimate.is_estimate:
        console.print(
            f"  Estimated from {estimate.sampled_count:,} of {estimate.artifact_count:,} "
            "documents; --exact looks at all."
        )


def _format_minutes(minutes: float | None) -> str:
    if minutes is None:
        return "minutes unknown, as nothing was measured yet"
    if 0 < minutes < 1:
        return "under a minute"
    return f"{minutes:,.0f} minutes"
