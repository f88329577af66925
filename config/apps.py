from contextlib import AbstractContextManager

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "config"
    verbose_name = "Strata"

    def ready(self) -> None:
        from config import checks  # noqa: F401
        from config.folders import create_data_folder
        from config.tracing import start_tracing
        from core.workers import register_local_workers

        create_data_folder()
        start_tracing()
        register_local_workers(_local_workers)


def _local_workers() -> AbstractContextManager[None]:
    # Imported on first use, because it imports Celery and all workers.
    from config.embedded import run_local_workers

    return run_local_workers()
