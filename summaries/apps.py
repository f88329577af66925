from django.apps import AppConfig


class SummariesConfig(AppConfig):
    name = "summaries"

    def ready(self) -> None:
        from indexing.forecast import register_foresight
        from indexing.kinds import register_kind
        from summaries import checks, foresight, signals  # noqa: F401
        from summaries.kinds import ArtifactSummaryKind, PageSummaryKind, QuestionKind

        register_kind(PageSummaryKind())
        register_kind(ArtifactSummaryKind())
        register_kind(QuestionKind())
        register_foresight("page_summary", foresight.foresee_page_summaries)
        register_foresight("artifact_summary", foresight.foresee_artifact_summary)
        register_foresight("question", foresight.foresee_questions)
