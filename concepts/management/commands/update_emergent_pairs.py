from contextlib import ExitStack
from typing import Any

from django.core.management.base import CommandError, CommandParser

from concepts.emergent_pairs import nodes_due_for_pairing, update_emergent_pairs
from concepts.models import EmergentPair
from core.progress_bars import progress_bar
from core.running_server import find_server
from indexing.management.base_command import StrataCommand, limit_database_cache
from indexing.models import IndexBuild
from indexing.stores import get_store
from indexing.stores.ownership import exclusive_store_access, has_embedded_store

MIN_CONCEPTS_FOR_GRAPH = 5_000  # concepts to compare, above which building the engine's graph pays


class Command(StrataCommand):
    help = (
        "Look for the neighbours of every concept that changed, and keep the pairs that are near. "
        "A server does so by itself within a minute; after a large import this is faster while "
        "none runs, for it builds the vector engine's graph first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--index", help="One index only.")

    def handle(self, *, index: str | None, **options: Any) -> None:
        live = IndexBuild.objects.live().order_by("index")
        builds = {build.index_id: build for build in live if build.spec.concepts is not None}
        if index is not None and index not in builds:
            raise CommandError(
                f"The index {index!r} holds no concepts; these indexes do: {', '.join(builds)}."
            )
        server = find_server()
        if server is not None:
            server.reconcile()
            self.stdout.write("The server that runs looks for them now.")
            return
        with ExitStack() as stack:
            if has_embedded_store():
                _limit_memory()
                stack.enter_context(exclusive_store_access())
            for build in builds.values() if index is None else [builds[index]]:
                self._update_pairs(build)

    def _update_pairs(self, build: IndexBuild) -> None:
        total = nodes_due_for_pairing(build).count()
        if total > MIN_CONCEPTS_FOR_GRAPH and has_embedded_store():
            _build_graph(build)
        done = 0
        with progress_bar(f"Concepts of {build}", total) as advance:
            while count := update_emergent_pairs(build):
                done += count
                advance(count)
        pairs = EmergentPair.objects.filter(first__index=build.index_id).open()
        self.stdout.write(f"{build}: {done:,} concepts compared, pairs open: {pairs.count():,}")


def _limit_memory() -> None:
    from indexing.stores.embedded import disable_double_mmap

    limit_database_cache()
    disable_double_mmap()


def _build_graph(build: IndexBuild) -> None:
    """A server has its graph; the engine of this process makes one when it is told to."""
    from indexing.stores.embedded import EmbeddedStore

    store = get_store()
    if isinstance(store, EmbeddedStore):
        store.optimize(build.collection("concept"))
