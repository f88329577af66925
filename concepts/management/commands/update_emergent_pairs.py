from contextlib import ExitStack
from typing import Any

from django.core.management.base import CommandError, CommandParser

from concepts.emergent_pairs import nodes_due_for_pairing, update_emergent_pairs
from concepts.models import EmergentPair
from concepts.spec import ConceptSpec
from core.api_client import ApiCommand
from core.commands import has_embedded_store, limit_database_cache
from core.progress_bars import progress_bar
from indexing.models import IndexBuild
from indexing.stores import exclusive_store_access, get_store

MIN_CONCEPTS_FOR_GRAPH = 5_000  # with more due concepts, building a search graph saves time


class Command(ApiCommand):
    help = (
        "Find the nearest concepts of every changed concept, and store the similar pairs. A "
        "server does this by itself within a minute. After a large import, stop the server and "
        "run this command: it is faster, because it builds the vector engine's graph first."
    )
    changes_data = True
    prepares_database = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--index", help="Only this index.")

    def handle(self, *, index: str | None, **options: Any) -> None:
        live = IndexBuild.objects.live().order_by("index").readable()
        builds = {build.index_id: build for build in live if ConceptSpec.of(build.spec)}
        if index is not None and index not in builds:
            raise CommandError(
                f"The index {index!r} holds no concepts; these indexes do: {', '.join(builds)}."
            )
        if self.api.has_server:
            self.api.wake_workers()
            self.stdout.write("The running server is updating the pairs now.")
            return
        with ExitStack() as stack:
            if has_embedded_store():
                limit_database_cache()
                stack.enter_context(exclusive_store_access())
            for build in builds.values() if index is None else [builds[index]]:
                self._update_pairs(build)

    def _update_pairs(self, build: IndexBuild) -> None:
        total = nodes_due_for_pairing(build).count()
        if total > MIN_CONCEPTS_FOR_GRAPH and has_embedded_store():
            # A Qdrant server builds its graph by itself.
            from indexing.stores.embedded import EmbeddedStore

            store = get_store()
            if isinstance(store, EmbeddedStore):
                store.optimize(build.collection("concept"))
        done = 0
        with progress_bar(f"Concepts of {build}", total) as advance:
            while count := update_emergent_pairs(build):
                done += count
                advance(count)
        pairs = EmergentPair.objects.filter(first__index=build.index_id).open().count()
        self.stdout.write(
            f"{build}: {done:,} {'concept' if done == 1 else 'concepts'} compared, "
            f"{pairs:,} open {'pair' if pairs == 1 else 'pairs'}"
        )
