from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.api_client import ApiCommand
from indexing.management.builds import make_path, name_build, wait_for_build


class Command(ApiCommand):
    help = (
        "Build an index from its current spec, beside the live build. If the command is stopped, "
        "any worker continues the build, or the same command does."
    )
    prepares_database = True

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

    def handle(self, *, index: str, promote: bool, **options: Any) -> None:
        names = ("reread", "max_calls", "max_minutes")
        body = {name: options[name] for name in names if options[name] is not None}
        with self.api.working():
            build = self.api.post(make_path(index), {"promote": promote, **body})
            name = name_build(build)
            if build["state"] == "live":
                self.stdout.write(f"{name} is live and already matches this spec.")
                return
            is_new = build["state"] == "building"
            description = (
                "is being built beside the live build." if is_new else "is the standby build."
            )
            self.stdout.write(f"{name} {description}")
            build = wait_for_build(self.api, build, self.stdout.write)
        vector_counts = f"{build['copied']:,} vectors copied, {build['embedded']:,} made"
        if build["state"] == "live":
            self.stdout.write(
                f"{name} is live: {vector_counts}. To go back: strata rollback {index}"
            )
        elif promote:
            raise CommandError(
                f"{name} is complete ({vector_counts}), but was not promoted. To promote it "
                f"anyway: strata promote {index} --force"
            )
        else:
            self.stdout.write(f"{name} is complete: {vector_counts}. Next: strata promote {index}")
