from django.apps import AppConfig


class SummariesConfig(AppConfig):
    name = "summaries"

    def ready(self) -> None:
        from indexing.estimates import register_foresight
        from indexing.kinds.registry import register_kind
        from summaries import checks, estimates, signals  # noqa: F401
        from summaries.kinds import ArtifactSummaryKind, PageSummaryKind, QuestionKind

        register_kind(PageSummaryKind())
        register_kind(ArtifactSummaryKind())
        register_kind(QuestionKind())
        register_foresight("page_summary", estimates.foresee_page_summaries)
        register_foresight("artifact_summary", estimates.foresee_artifact_summary)
        register_foresight("question", estimates.foresee_questions)
