from collections.abc import Iterator
from contextlib import contextmanager

from core.apps import StrataApp


class ConfigConfig(StrataApp):
    name = "config"
    verbose_name = "Strata"

    def ready(self) -> None:
        super().ready()
        from config.folders import create_data_folder
        from config.tracing import start_tracing
        from core import app_checks  # noqa: F401
        from core.command_hooks import register_local_workers

        create_data_folder()
        start_tracing()
        register_local_workers(_local_workers)


@contextmanager
def _local_workers() -> Iterator[None]:
    # Imported on first use, because it imports Celery and all workers.
    from config.embedded import run_local_workers
    from indexing.stores import exclusive_store_access

    with exclusive_store_access(), run_local_workers():
        yield
