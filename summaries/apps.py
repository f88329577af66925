from django.apps import AppConfig


class SummariesConfig(AppConfig):
    name = "summaries"

    def ready(self) -> None:
        from indexing.kinds import register_kind
        from summaries import checks, signals  # noqa: F401
        from summaries.kinds import ArtifactSummaryKind, PageSummaryKind, QuestionKind

        register_kind(PageSummaryKind())
        register_kind(ArtifactSummaryKind())
        register_kind(QuestionKind())
