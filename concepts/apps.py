from django.apps import AppConfig


class ConceptsConfig(AppConfig):
    name = "concepts"

    def ready(self) -> None:
        from concepts import checks, signals  # noqa: F401
        from concepts.extraction import count_unfinished_extractions
        from indexing.awaited_work import register_awaited_work

        register_awaited_work(count_unfinished_extractions)
