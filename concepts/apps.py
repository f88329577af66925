from django.apps import AppConfig


class ConceptsConfig(AppConfig):
    name = "concepts"

    def ready(self) -> None:
        from concepts import checks, signals  # noqa: F401
