from django.apps import AppConfig


class ConceptsConfig(AppConfig):
    name = "concepts"

    def ready(self) -> None:
        from concepts import signals  # noqa: F401
        from concepts.extraction import count_unfinished_extractions, find_extraction_faults
        from indexing.hooks import register_awaited_work, register_text_faults

        register_awaited_work(count_unfinished_extractions)
        register_text_faults(find_extraction_faults)
