from typing import Any

from django.core.management.base import CommandError, CommandParser

from core.api_client import ApiCommand
from indexing.exceptions import WrongBuildState
from indexing.management.builds import make_path, name_build, wait_for_build


class Command(ApiCommand):
    help = "Replace the live build by another one, unless that is significantly worse."
    prepares_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index")
        parser.add_argument("--build", type=int, metavar="N", help="Default: the newest.")
        parser.add_argument(
            "--force", action="store_true", help="Even if it is incomplete or worse."
        )

    def handle(self, *, index: str, build: int | None, force: bool, **options: Any) -> None:
        number = self._find_newest_build(index) if build is None else build
        with self.api.working():
            chosen = self.api.post(f"{make_path(index, number)}promote/", {"force": force})
            promoted = wait_for_build(self.api, chosen, self.stdout.write)
        name = name_build(promoted)
        if promoted["state"] != "live":
            raise CommandError(f"{name} was not promoted. To promote it anyway: --force")
        self.stdout.write(f"{name} is live. To go back: strata rollback {index}")

    def _find_newest_build(self, index: str) -> int:
        builds = self.api.get(make_path(index))["results"]
        live = max((each["number"] for each in builds if each["state"] == "live"), default=0)
        # After a rollback, the build that was live before is a standby with a higher number.
        newer = [
            each["number"]
            for each in builds
            if each["state"] == "building" or (each["state"] == "standby" and each["number"] > live)
        ]
        if not newer:
            raise WrongBuildState(
                f"The index {index} has no build that waits to be promoted.",
                fix=f"Run strata apply {index} to make one.",
            )
        return max(newer)
