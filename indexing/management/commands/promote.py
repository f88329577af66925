from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db.models import Q

from core.commands import StrataCommand, ensure_workers
from indexing.exceptions import WrongBuildState
from indexing.lifecycle import get_build, request_promotion
from indexing.management.reconciliation import trigger_reconciliation
from indexing.management.waiting import wait_for_build
from indexing.models import Index, IndexBuild


class Command(StrataCommand):
    help = "Replace the live build by another one, unless that is significantly worse."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index")
        parser.add_argument("--build", type=int, metavar="N", help="Default: the newest.")
        parser.add_argument(
            "--force", action="store_true", help="Even if it is incomplete or worse."
        )

    def handle(self, *, index: str, build: int | None, force: bool, **options: Any) -> None:
        chosen = _get_newest_build(index) if build is None else get_build(index, build)
        with ensure_workers():
            request_promotion(chosen, is_forced=force)
            trigger_reconciliation()
            promoted = wait_for_build(chosen, self.stdout.write)
        if promoted.state != IndexBuild.State.LIVE:
            raise CommandError(f"{promoted} was not promoted. To promote it anyway: --force")
        self.stdout.write(f"{promoted} is live. To go back: strata rollback {index}")


def _get_newest_build(index: str) -> IndexBuild:
    Index.objects.require(index)
    live = IndexBuild.objects.live().filter(index=index).first()
    # After a rollback, the build that was live before is a standby with a higher number.
    is_newer = Q(state=IndexBuild.State.STANDBY, number__gt=live.number if live else 0)
    builds = IndexBuild.objects.not_retired().filter(
        is_newer | Q(state=IndexBuild.State.BUILDING), index=index
    )
    build = builds.order_by("-number").first()
    if build is None:
        raise WrongBuildState(
            f"The index {index} has no build that waits to be promoted.",
            fix=f"Run strata apply {index} to make one.",
        )
    return build
