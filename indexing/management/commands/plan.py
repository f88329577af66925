from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from core.command_options import format_json
from core.commands import LocalCommand, make_table
from core.progress_bars import progress_bar
from indexing.estimates import BuildEstimate, estimate_build
from indexing.models import IndexBuild
from indexing.services import has_search_settings, has_store_settings
from indexing.spec.loaded import get_specs


class Command(LocalCommand):
    help = "Show what applying a changed spec would change, and estimate its cost."
    loads_specs = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index", nargs="?", help="Default: every index whose spec changed.")
        parser.add_argument(
            "--exact",
            action="store_true",
            help="Examine every document instead of a sample; takes as long as chunking them.",
        )
        parser.add_argument("--json", action="store_true")

    def handle(self, *, index: str | None, exact: bool, json: bool, **options: Any) -> None:
        names = [index] if index is not None else _find_changed_indexes()
        estimates = []
        for name in names:
            with progress_bar(f"Examining {name}", None) as advance:
                estimates.append(estimate_build(name, is_exact=exact, advance=advance))
        if json:
            content = [estimate.as_json() for estimate in estimates]
            self.stdout.write(format_json(content))
            return
        if not estimates:
            self.console.print("Every index matches its spec.")
        for estimate in estimates:
            _print_estimate(self.console, estimate)


def _find_changed_indexes() -> list[str]:
    specs = get_specs()
    live = IndexBuild.objects.live().filter(index__in=specs)
    return sorted(
        build.index_id
        for build in live
        if not build.is_made_by(specs[build.index_id])
        or not has_search_settings(build.index, specs[build.index_id])
        or not has_store_settings(build.index, specs[build.index_id])
    )


def _print_estimate(console: Console, estimate: BuildEstimate) -> None:
    console.print(f"{estimate.index}: {', '.join(estimate.changes) or 'no new build'}")
    if estimate.search_changes:
        console.print(
            f"  Search settings, changed immediately (now number {estimate.search_settings}): "
            f"{', '.join(estimate.search_changes)}"
        )
    if estimate.store_changes:
        console.print(
            f"  Store settings, applied to the collections within minutes, without a new build: "
            f"{', '.join(estimate.store_changes)}"
        )
    if estimate.outdated_count:
        how = f": strata apply {estimate.index} --reread" if estimate.is_free else ""
        console.print(
            f"  Documents read by other readers than now, which a new build reads anew{how}: "
            f"{estimate.outdated_count:,}"
        )
    if estimate.open_build:
        console.print(f"  Build {estimate.open_build} of this spec is being built.")
    if estimate.is_free:
        console.print("  No stored data changes: this costs nothing.")
        return
    columns = ["kept", "reembedded", "rebuilt", "removed", "texts", "tokens", "calls"]
    table = make_table("  kind", counts=columns)
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
            "documents; --exact examines all."
        )


def _format_minutes(minutes: float | None) -> str:
    if minutes is None:
        return "time unknown, because nothing was measured yet"
    if 0 < minutes < 1:
        return "under a minute"
    return f"{minutes:,.0f} minutes"
