from django.apps import AppConfig


class EvidenceConfig(AppConfig):
    name = "evidence"

    def ready(self) -> None:
        from evidence import signals  # noqa: F401
