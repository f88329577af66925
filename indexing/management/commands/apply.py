from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.commands import StrataCommand, ensure_workers
from indexing.lifecycle import apply_spec
from indexing.management.reconciliation import trigger_reconciliation
from indexing.management.waiting import wait_for_build
from indexing.models import IndexBuild


class Command(StrataCommand):
    help = (
        "Build an index from its current spec, beside the live build. If the command is stopped, "
        "any worker continues the build, or the same command does."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index")
        parser.add_argument(
            "--promote",
            action="store_true",
            help="Promote the build when it is complete, unless it is significantly worse.",
        )
        parser.add_argument(
            "--reread",
            action="store_true",
            help="Even if the spec has not changed, make a build that reads documents anew which "
            "other readers have read, such as those of an earlier release.",
        )
        parser.add_argument(
            "--max-calls", type=int, metavar="N", help="Pause after this many LLM calls."
        )
        parser.add_argument(
            "--max-minutes", type=int, metavar="N", help="Pause after this many minutes."
        )

    def handle(
        self,
        *,
        index: str,
        promote: bool,
        reread: bool,
        max_calls: int | None,
        max_minutes: int | None,
        **options: Any,
    ) -> None:
        for name, limit in (("--max-calls", max_calls), ("--max-minutes", max_minutes)):
            if limit is not None and limit < 1:
                raise CommandError(f"{name} must be a whole number of at least 1.")
        promotion = IndexBuild.Promotion.WHEN_COMPLETE if promote else IndexBuild.Promotion.MANUAL
        with ensure_workers():
            build = apply_spec(
                index,
                promotion=promotion,
                max_calls=max_calls,
                max_minutes=max_minutes,
                rereads=reread,
            )
            if build.state == IndexBuild.State.LIVE:
                self.stdout.write(f"{build} is live and already matches this spec.")
                return
            trigger_reconciliation()
            is_new = build.state == IndexBuild.State.BUILDING
            description = (
                "is being built beside the live build." if is_new else "is the standby build."
            )
            self.stdout.write(f"{build} {description}")
            build = wait_for_build(build, self.stdout.write)
        vector_counts = f"{build.copied_count:,} vectors copied, {build.embedded_count:,} made"
        if build.state == IndexBuild.State.LIVE:
            self.stdout.write(
                f"{build} is live: {vector_counts}. To go back: strata rollback {index}"
            )
        elif promote:
            raise CommandError(
                f"{build} is complete ({vector_counts}), but was not promoted. To promote it "
                f"anyway: strata promote {index} --force"
            )
        else:
            self.stdout.write(f"{build} is complete: {vector_counts}. Next: strata promote {index}")
