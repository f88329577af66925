from django.apps import AppConfig


class ConceptsConfig(AppConfig):
    name = "concepts"

    def ready(self) -> None:
        from concepts import checks, signals  # noqa: F401
        from concepts.kinds import ConceptKind, RelationshipTypeKind
        from indexing.kinds.registry import register_kind

        register_kind(ConceptKind())
        register_kind(RelationshipTypeKind())
